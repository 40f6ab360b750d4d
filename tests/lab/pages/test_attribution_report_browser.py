"""The page of a study of attributors in a real headless Chromium."""

from pathlib import Path

import pytest

from radarstream.lab.pages.attribution import ATTRIBUTION
from radarstream.lab.study.harness import REPORT
from tests.lab.attribution_studies import Bench
from tests.pipelines.pages.headless_browser import check_page, show, with_each_font

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(tmp_path_factory.mktemp("pages") / "study")
    study = bench.run("injection,false-reports", "rag_origin,keyword_match,norm")
    ATTRIBUTION.report(study.out, study.record, study.store)
    return study.out / REPORT


@with_each_font
def test_the_page_is_quiet_harmless_legible_and_fits(browser, page):
    check_page(browser, page)


def test_a_link_to_a_folded_answer_unfolds_it(browser, page):
    show(browser, page)
    browser.get(f"{page.as_uri()}#event-1-2")
    opened = "const e = document.getElementById('event-1-2'); return [e.open, scrollY > 0];"
    assert browser.execute_script(opened) == [True, True]
    count_open = "return document.querySelectorAll('details.event[open]').length"
    assert browser.execute_script(count_open) == 2
