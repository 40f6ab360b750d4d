"""Charts: static SVG that asks for nothing, runs nothing, and takes its colours from the page."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.lab.pages.charts import Axis, Place, Share, before_after, panel, tenths
from radarstream.lab.pages.drawing import DRAWN, INKS, KEPT, ink
from radarstream.pipelines.pages.frame import asset
from radarstream.pipelines.pages.safe_text import HIDDEN
from tests.lab.pages.attribution_pages import HOSTILE

OWN = KEPT | {"class", "role", "aria-label", "viewBox"}


def drawings(words: str) -> list[str]:
    """Every kind of chart with these words in every place that takes words."""
    share = Share(0.4, 0.2, 0.6)
    places = [Place(words, n, Share(at), share, words) for n in (0, 1) for at in (n, n + 1.0)]
    return [
        before_after(words, [(words, Share(0.9), share)], (words, words)),
        panel(words, places, Axis(0, 2, words, (0, 1)), tenths([(0.2, 0.6)], words), joined=True),
        panel(words, places, Axis(0, 2, words), tenths([(0.2, 0.6)])),
    ]


def check_static(drawing: str) -> ElementTree.Element:
    """Nothing but shapes and words, all colours from the stylesheet."""
    root = ElementTree.fromstring(str(drawing))
    for node in root.iter():
        assert node.tag in DRAWN | {"svg", "title", "desc"}
        assert set(node.attrib) <= OWN, node.attrib
        for name in ("fill", "stroke"):
            colour = node.get(name, "none")
            assert colour in ("none", "transparent") or colour.startswith("var(--"), colour
    assert root.get("role") == "img"
    assert root[0].tag == "title"
    assert not HIDDEN.search(str(drawing).replace("\n", ""))
    return root


@pytest.mark.parametrize("words", ["accuracy", *HOSTILE, "a\nb\t\u2028c", "]][0]", '"+alert(1)+"'])
def test_words_of_others_stay_words(words):
    for drawing in drawings(words):
        root = check_static(drawing)
        spoken = root.get("aria-label", "").split()
        assert " ".join(spoken).startswith(" ".join((root[0].text or "").split()))


def test_endless_words_are_cut():
    for drawing in drawings("endless " * 5_000):
        root = check_static(drawing)
        assert len(str(drawing)) < 250_000
        assert (root[0].text or "").endswith("…")


@given(st.text(max_size=30))
@settings(max_examples=10, deadline=None)
def test_any_words_can_be_drawn(words):
    for drawing in drawings(words):
        check_static(drawing)


def test_every_colour_is_in_the_stylesheet():
    style = asset("page.css")
    for name in INKS:
        assert style.count(f"--{name}: light-dark(") == 1, name
    assert len({ink(name) for name in INKS}) == len(INKS)


def test_a_change_shows_both_values_and_says_so():
    change = ("under attack", Share(0.9, 0.8, 1.0), Share(0.25, 0.1, 0.5))
    drawing = str(before_after("Attacks", [change], ("undefended", "defended")))
    assert "under attack, undefended: 90% (80% to 100%)" in drawing
    assert "under attack, defended: 25% (10% to 50%)" in drawing
    assert drawing.count('stroke="var(--fooled)"') == 2  # the dot and its interval


def test_points_lie_where_their_values_are():
    spots = [
        Place("a", 1, Share(x), Share(y), w) for x, y, w in ((0.2, 0.4, "low"), (0.8, 0.8, "high"))
    ]
    axes = Axis(0, 1, percent=True), Axis(0, 1, percent=True)
    root = ElementTree.fromstring(str(panel("p", spots, *axes)))
    places = {
        node[0].text: tuple(map(float, node.get("transform", "")[10:-1].split(",")))
        for node in root.iter("path")
        if len(node) and node[0].text in ("low", "high")
    }
    (low_x, low_y), (high_x, high_y) = places["low"], places["high"]
    assert high_x - low_x == pytest.approx(0.6 * 200, abs=0.1)
    assert low_y - high_y == pytest.approx(0.4 * 190, abs=0.1)


def test_who_draws_nothing_loads_no_charts_and_the_job_needs_no_lab():
    code = (
        "import sys, radarstream.pipelines.pages.wrong_answers\n"
        "loaded = [name for name in sys.modules if name.startswith(('vl_convert', "
        "'radarstream.lab', 'polars'))]\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
