"""The experiment's report in a real headless Chromium: quiet, inert, legible, and it filters."""

from dataclasses import replace
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from radarstream.pipelines.evaluation.attacks.protocol import Condition
from radarstream.pipelines.evaluation.defences.records import FILES
from radarstream.pipelines.evaluation.study.harness import REPORT
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.pages.defences.page import DEFENCES
from tests.pipelines.pages.defences_run import (
    CONDITIONS,
    IN_TIME,
    STATIC,
    SWEEP,
    hostile_experiment,
    make_experiment,
)
from tests.pipelines.pages.headless_browser import (
    CONTRAST,
    UNTIDY,
    WIDE,
    check_harmless,
    check_quiet,
    show,
    with_each_font,
)

pytestmark = pytest.mark.browser
NARROW = 400
CASES = 8 * len(CONDITIONS)


def made(out: Path, experiment) -> Path:
    record, rows, evidence = experiment
    store = RowStore(out, FILES)
    with store.appending() as append:
        append([*rows, *evidence])
    DEFENCES.report(out, record, store)
    return out / REPORT


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("static"), make_experiment(questions=8))


@pytest.fixture(scope="module")
def in_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    experiment = make_experiment(
        questions=5, steps=6, conditions=CONDITIONS[:2], contenders=(*IN_TIME, *SWEEP[:2])
    )
    return made(tmp_path_factory.mktemp("time"), experiment)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("hostile"), hostile_experiment())


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A condition and a contender with names that are wider than a telephone."""
    attack = Condition("prompt_injection_repeated", tuple(range(1, 11)), "late-3")
    long = replace(SWEEP[0], name="radar:pair_scale=0.1,and_so_on=0.5[cross_encoder:a-long-name]")
    experiment = make_experiment(
        questions=2, steps=2, conditions=(CONDITIONS[0], attack), contenders=(STATIC[0], long)
    )
    return made(tmp_path_factory.mktemp("wordy"), experiment)


def unfold(browser: webdriver.Chrome, most: int = 6) -> None:
    """Open the first cases and every fold, and wait until what they show is there."""
    browser.execute_script(
        "[...document.querySelectorAll('.case')].slice(0, arguments[0])"
        ".forEach((one) => { one.open = true; });",
        most,
    )
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 0))")
    browser.execute_script(
        "for (const d of document.querySelectorAll('details:not(.case)')) d.open = true;"
    )


@pytest.mark.parametrize("name", ["static", "in_time", "hostile"])
def test_opens_quietly(browser, request, name):
    file = request.getfixturevalue(name)
    show(browser, file)
    unfold(browser)
    assert browser.execute_script("return document.querySelectorAll('.case-body').length") > 0
    check_quiet(browser, file)


def test_injected_text_never_runs(browser, hostile):
    show(browser, hostile)
    unfold(browser)
    check_harmless(browser)
    text = browser.find_element(By.ID, "cases").text
    assert "<script>window.pwned=1</script>" in text
    assert "‹U+202E›evil" in text
    assert "javascript:window.pwned=1" in text


@with_each_font
@pytest.mark.parametrize("name", ["static", "in_time", "hostile", "wordy"])
@pytest.mark.parametrize("width", [WIDE, NARROW, 320])
def test_nothing_sticks_out(browser, request, name, width):
    show(browser, request.getfixturevalue(name), width)
    unfold(browser)
    extent = browser.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth,"
        " document.querySelectorAll('.case-body').length]"
    )
    assert extent[0] <= extent[1] == width
    assert extent[2] > 0


@with_each_font
@pytest.mark.parametrize("name", ["static", "in_time", "hostile"])
def test_labels_of_plots_do_not_overlap(browser, request, name):
    show(browser, request.getfixturevalue(name))
    assert browser.execute_script("return document.querySelectorAll('svg.plot').length") > 3
    assert browser.execute_script(UNTIDY) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["static", "in_time"])
def test_text_contrast(browser, request, name, scheme):
    show(browser, request.getfixturevalue(name), scheme=scheme)
    unfold(browser)
    worst = browser.execute_script(CONTRAST)
    assert worst[0][0] >= 4.5, worst


def choose(browser: webdriver.Chrome, field: str, words: str) -> None:
    Select(browser.find_element(By.ID, f"filter-{field}")).select_by_visible_text(words)


def count(browser: webdriver.Chrome) -> str:
    return browser.find_element(By.ID, "case-count").text


def test_filters(browser, static):
    show(browser, static)
    assert count(browser) == f"{CASES} of {CASES}"
    choose(browser, "condition", "pia@1")
    assert count(browser) == f"8 of {CASES}"
    choose(browser, "contender", "vanilla")
    choose(browser, "outcome", "✕ fooled: names the target")
    fooled = int(count(browser).split()[0])
    assert 0 < fooled <= 8
    marks = browser.execute_script(
        "return [...document.querySelectorAll('.case .marks')].map((m) => m.firstChild.className)"
    )
    assert marks == ["mark outcome-fooled"] * fooled
    choose(browser, "condition", "any")
    choose(browser, "contender", "any")
    choose(browser, "outcome", "any")
    browser.find_element(By.ID, "filter-attacked").click()
    assert count(browser) == f"{CASES * 4 // 5} of {CASES}"
    browser.find_element(By.ID, "filter-disagree").click()
    assert 0 < int(count(browser).split()[0]) < CASES * 4 // 5
    field = browser.find_element(By.ID, "filter-text")
    field.send_keys("no such words")
    assert browser.find_element(By.ID, "no-case").is_displayed()
    field.clear()
    field.send_keys("larkhaven")
    assert 0 < int(count(browser).split()[0]) <= 4


def test_a_number_of_the_table_leads_to_its_questions_and_command(browser, static):
    show(browser, static)
    browser.execute_script("document.querySelector('a[href=\"#cell-7-2\"]').click()")
    assert count(browser) == f"8 of {CASES}"
    command = browser.find_element(By.ID, "cell-command-text").text
    assert "--defenses radar --condition pia@1" in command
    top = browser.execute_script(
        "return document.getElementById('cases').getBoundingClientRect().top"
    )
    assert 0 <= top < 900


def test_a_link_unfolds_its_case(browser, static):
    show(browser, static)
    browser.execute_script("location.hash = 'case-8-3-0'")
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 50))")
    case = browser.find_element(By.ID, "case-8-3-0")
    assert case.get_attribute("open") is not None
    for heading in ("Answers", "Documents", "Cut graph of radar"):
        assert heading in case.text
    graph = "return document.querySelectorAll('#case-8-3-0 svg.cut-graph .document-node').length"
    assert browser.execute_script(graph) > 2


def test_more_cases_come_on_demand(browser, in_time):
    show(browser, in_time)
    listed = "return document.querySelectorAll('.case').length"
    assert browser.execute_script(listed) == 40
    button = browser.find_element(By.ID, "case-more")
    browser.execute_script("arguments[0].click()", button)
    assert browser.execute_script(listed) == 60
    assert not button.is_displayed()


def test_readable_without_scripts(browser, static):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, static)
        assert "radar" in browser.find_element(By.CLASS_NAME, "board").text
        assert not browser.find_element(By.ID, "filter-text").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
