"""The page of a study of attributors in a real headless Chromium."""

from pathlib import Path

import pytest

from radarstream.pipelines.evaluation.study.harness import REPORT
from radarstream.pipelines.pages.attribution import ATTRIBUTION
from tests.pipelines.evaluation.attribution_studies import Bench
from tests.pipelines.pages.headless_browser import (
    CONTRAST,
    UNTIDY,
    WIDE,
    check_harmless,
    check_quiet,
    show,
    unfold,
    with_each_font,
)

pytestmark = pytest.mark.browser
NARROW = 400


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(tmp_path_factory.mktemp("pages") / "study")
    study = bench.run("injection,false-reports", "rag_origin,keyword_match,pfdnn")
    ATTRIBUTION.report(study.out, study.record, study.store)
    return study.out / REPORT


def test_opens_quietly_and_runs_nothing_of_others(browser, page):
    show(browser, page)
    unfold(browser)
    check_harmless(browser)
    check_quiet(browser, page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_can_be_read(browser, page, scheme):
    show(browser, page, scheme=scheme)
    unfold(browser)
    worst = browser.execute_script(CONTRAST)
    assert worst[0][0] >= 4.5, worst


@with_each_font
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_sticks_out_and_no_labels_meet(browser, page, width):
    show(browser, page, width=width)
    unfold(browser)
    overhang = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(overhang) <= 0
    assert browser.execute_script(UNTIDY) == []


def test_a_link_to_a_folded_answer_unfolds_it(browser, page):
    show(browser, page)
    browser.get(f"{page.as_uri()}#event-1-2")
    opened = "const e = document.getElementById('event-1-2'); return [e.open, scrollY > 0];"
    assert browser.execute_script(opened) == [True, True]
    count_open = "return document.querySelectorAll('details.event[open]').length"
    assert browser.execute_script(count_open) == 2
