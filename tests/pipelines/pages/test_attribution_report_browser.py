"""Pages on wrong answers, sources and studies in a real headless Chromium."""

from pathlib import Path

import pytest
from selenium.common.exceptions import NoAlertPresentException

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.cli.evaluate_attribution import write_report
from radarstream.pipelines.cli.incidents import report_incidents
from radarstream.pipelines.pages.incidents.incidents_view import write_stream_pages
from tests.pipelines.evaluation.attribution_studies import Bench
from tests.pipelines.pages.attribution_pages import fill
from tests.pipelines.pages.headless_browser import CONTRAST, WIDE, requested, show, with_each_font
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
    write_report(study.out, study.record, study.store)
    return out


def unfold(browser) -> None:
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true;")


@pytest.mark.parametrize("name", PAGES)
def test_opens_quietly_and_runs_nothing_of_others(browser, pages, name):
    file = pages / name
    show(browser, file)
    unfold(browser)
    browser.execute_script(
        "for (const e of document.querySelectorAll('bdi, circle, a:not([href])')) "
        "e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"
    )
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "DEBUG"] == []
    urls = requested(browser)
    assert file.as_uri() in urls
    assert [url for url in urls if url not in (file.as_uri(), "about:blank", "data:,")] == []
    assert browser.execute_script("return window.pwned") is None
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert.text


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
    found = browser.execute_script(
        """
        const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
          && a.top < b.bottom - 2.5 && b.top < a.bottom - 2.5;
        const found = [];
        for (const plot of document.querySelectorAll("svg.plot")) {
          const frame = plot.getBoundingClientRect();
          const texts = [...plot.querySelectorAll("text")];
          const boxes = texts.map((t) => t.getBoundingClientRect());
          texts.forEach((text, i) => {
            if (boxes[i].right > frame.right + 2 || boxes[i].left < frame.left - 2)
              found.push(["outside", text.textContent]);
            for (let j = 0; j < i; j++) if (meet(boxes[i], boxes[j]))
              found.push(["overlap", text.textContent, texts[j].textContent]);
          });
        }
        return found;
        """
    )
    assert found == []


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
