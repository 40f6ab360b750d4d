"""What a reader cannot see in the texts of others does not get into a page unnoticed."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.pages.safe_text import HIDDEN, quote_link, shorten, visible
from radarstream.schemas.verdict import Excerpt

IGNORABLE = [c for c in map(chr, range(0x110000)) if regex.match(r"\p{DI}", c)]


def test_every_character_that_unicode_calls_ignorable_is_hidden():
    """Also where nothing but such characters is on its sides."""
    assert len(IGNORABLE) > 4_000
    assert [c for c in IGNORABLE if not HIDDEN.fullmatch(c)] == []
    assert [c for c in IGNORABLE if c in visible(f"a{c}b") + visible(f"{c}") + visible(c * 9)] == []
    assert visible("".join(IGNORABLE)) == "‹4174 hidden characters›"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("co\u00adop", "coop"),
        ("\ufeffstart\u200b here", "start here"),
        ("I \u2764\ufe0f it, 1\ufe0f\u20e3", "I \u2764 it, 1\u20e3"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian: one word, two parts
        ("क\u094d\u200dष", "क\u094d\u200dष"),  # Hindi: a half letter
        ("pay\u200cpal, pay\u200dpal", "paypal, paypal"),
        ("می\u200c", "می"),
        ("می\u200c\u200cخ", "میخ"),
        ("한\u3164글\u115f", "한글"),
        ("a\u202eb", "a‹U+202E›b"),
        ("a\u2066b\u2069", "a‹U+2066›b‹U+2069›"),
        ("a\U000e0041b", "a‹U+E0041›b"),
        ("a" + "\ufe01\ufe02\ufe03\ufe04" + "b", "a‹4 hidden characters›b"),
        ("a\x00\u200bb", "a‹2 hidden characters›b"),
    ],
)
def test_what_is_hidden_is_left_out_or_told(text: str, shown: str):
    assert (visible(text), visible(shown)) == (shown, shown)


@given(
    st.text(st.sampled_from("a\u0645\u200c\u200d\ufe0f👩\u2764 \u202e"), max_size=40)
    | st.text(max_size=400),
    st.integers(2, 80),
)
def test_a_cut_fits_and_leaves_nothing_hidden(text: str, length: int):
    short = shorten(text, length)
    assert len(short) <= length and visible(short) == short
    assert not HIDDEN.search(short)


@given(st.text(max_size=60))
def test_no_words_of_a_page_get_out_of_the_fragment_of_a_link(words: str):
    link = quote_link("https://a.example/b", Excerpt("", words, "")) or ""
    address, _, fragment = link.partition("#")
    assert address == "https://a.example/b"
    assert regex.fullmatch(
        r"(:~:text=([A-Za-z0-9_.~]|%[0-9A-F]{2})+(,([A-Za-z0-9_.~]|%[0-9A-F]{2})+)?)?", fragment
    )
    assert quote_link("javascript:alert(1)", Excerpt("", words, "")) is None
