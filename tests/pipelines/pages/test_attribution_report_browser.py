"""Pages on wrong answers, sources and studies in a real headless Chromium."""

from pathlib import Path

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.cli.incidents import report_incidents
from radarstream.pipelines.pages.attribution import ATTRIBUTION
from radarstream.pipelines.pages.incidents.incidents_view import write_stream_pages
from tests.pipelines.evaluation.attribution_studies import Bench
from tests.pipelines.pages.attribution_pages import fill
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
from tests.pipelines.pages.test_attribution_report import hostile_views

pytestmark = pytest.mark.browser
NARROW = 400
PAGES = ("attributions.html", "sources.html", "hostile/attributions.html", "hostile/sources.html",
         "study/report.html")  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pages")
    url = f"sqlite:///{out / 'state.sqlite'}"
    fill(open_engine(url))
    report_incidents(database=url, query=None, limit=200, out=out, config=None)
    (out / "hostile").mkdir()
    write_stream_pages(out / "hostile", *hostile_views(), heads=[], most=5)
    bench = Bench(out / "study")
    study = bench.run("injection,false-reports", "rag_origin,keyword_match,norm")
    ATTRIBUTION.report(study.out, study.record, study.store)
    return out


@pytest.mark.parametrize("name", PAGES)
def test_opens_quietly_and_runs_nothing_of_others(browser, pages, name):
    file = pages / name
    show(browser, file)
    unfold(browser)
    check_harmless(browser)
    check_quiet(browser, file)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [PAGES[0], PAGES[1], PAGES[4]])
def test_every_word_can_be_read(browser, pages, name, scheme):
    show(browser, pages / name, scheme=scheme)
    unfold(browser)
    worst = browser.execute_script(CONTRAST)
    assert worst[0][0] >= 4.5, worst


@with_each_font
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_sticks_out_at_any_width(browser, pages, name, width):
    show(browser, pages / name, width=width)
    unfold(browser)
    overhang = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(overhang) <= 0


@with_each_font
@pytest.mark.parametrize("name", [PAGES[0], PAGES[1], PAGES[4]])
def test_labels_of_drawings_do_not_meet(browser, pages, name):
    show(browser, pages / name)
    unfold(browser)
    assert browser.execute_script(UNTIDY) == []


def test_a_link_to_a_folded_answer_unfolds_it(browser, pages):
    show(browser, pages / "sources.html")
    unfold(browser)
    links = "return [...document.links].map((a) => a.href).filter((h) => h.includes('#event'))"
    link = next(h for h in browser.execute_script(links) if not h.endswith("#event-1"))
    browser.get(link)
    anchor = link.split("#")[1]
    opened = "const e = document.getElementById(arguments[0]); return [e.open, scrollY > 0];"
    assert browser.execute_script(opened, anchor) == [True, True]
    count_open = "return document.querySelectorAll('details.event[open]').length"
    assert browser.execute_script(count_open) == 2
