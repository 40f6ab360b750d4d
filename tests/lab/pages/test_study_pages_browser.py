"""The pages of studies in a real headless Chromium: quiet, inert, and legible."""

from pathlib import Path

import pytest

from tests.lab.pages.study_pages import RUNS, page_of
from tests.pipelines.pages.headless_browser import NARROW, WIDE, check_page, show, with_each_font

pytestmark = pytest.mark.browser


@with_each_font
@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("hostile", [False, True])
def test_a_page_is_quiet_harmless_legible_and_fits(browser, kind, hostile, tmp_path: Path):
    page_of(kind, tmp_path / "out", hostile=hostile)
    check_page(browser, tmp_path / "out" / "report.html", (WIDE, NARROW, 320))


def test_a_link_to_a_folded_question_unfolds_it(browser, tmp_path: Path):
    page_of("attribution", tmp_path / "out")
    page = tmp_path / "out" / "report.html"
    show(browser, page)
    browser.get(f"{page.as_uri()}#case-2")
    opened = "const e = document.getElementById('case-2'); return [e.open, scrollY > 0];"
    assert browser.execute_script(opened) == [True, True]
