"""The report in a real headless Chromium: no errors, no network, nothing injected ever runs."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from radarstream.lab.pages.replay.page import render_report
from tests.pipelines.pages.headless_browser import check_page, show, with_each_font, without_scripts
from tests.pipelines.pages.report_run import hostile_run, make_record, make_run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sample") / "report.html"
    file.write_text(render_report(*make_run(), make_record()), "utf-8")
    return file


@with_each_font
def test_pages_are_quiet_harmless_legible_and_fit(browser, sample):
    answers, snapshots, record = hostile_run()
    hostile = sample.with_name("hostile.html")
    hostile.write_text(render_report(answers, snapshots, record), "utf-8")
    for file in (sample, hostile):
        check_page(browser, file)
        assert browser.execute_script("return document.querySelectorAll('.query').length") > 0
    told = browser.find_element(By.TAG_NAME, "main").text
    assert "<script>window.pwned=1</script>" in told


def shown_questions(browser: webdriver.Chrome) -> int:
    return browser.execute_script(
        "return [...document.querySelectorAll('details.query')].filter((q) => !q.hidden).length"
    )


def test_filters_links_and_folds(browser, sample):
    with without_scripts(browser):
        show(browser, sample)
        assert browser.find_element(By.ID, "q1").text.startswith("Q1")
        assert not browser.find_element(By.ID, "filter-text").is_displayed()
    show(browser, sample)
    step = browser.find_element(By.ID, "q3-s2")
    assert step.get_attribute("open") is None
    browser.execute_script("document.querySelector('#overview a[href=\"#q3-s2\"]').click()")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert step.get_attribute("open") is not None
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", step)
    assert 0 <= top < 900

    button = browser.find_element(By.ID, "toggle-all")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    closed = "return document.querySelectorAll('details.step:not([open])').length"
    assert browser.execute_script(closed) > 60
    button.click()
    assert browser.execute_script(closed) == 0
    assert button.get_attribute("aria-pressed") == "true"

    assert shown_questions(browser) == 12
    browser.find_element(By.TAG_NAME, "body").send_keys("/")  # the shortcut focuses the field
    field = browser.switch_to.active_element
    assert field.get_attribute("id") == "filter-text"
    field.send_keys("quillstack 7.3")
    assert shown_questions(browser) == 1
    assert browser.find_element(By.ID, "filter-count").text == "1 of 12"
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("no such words")
    assert browser.find_element(By.ID, "nothing-left").is_displayed()
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.BACKSPACE)
    browser.find_element(By.ID, "filter-attacked").click()
    attacked = shown_questions(browser)
    assert attacked == 10
    browser.find_element(By.ID, "filter-changed").click()
    assert 0 < shown_questions(browser) < attacked
