"""Texts folded: what a reader takes for the same is the same, and places lead back."""

from unicodedata import normalize

from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.orchestration.folding import (
    Words,
    as_letters,
    as_written,
    folded,
    origins,
)

texts = st.text(max_size=30)


def test_words():
    for text, words in [
        ("The CAFÉ's door", ["the", "cafe", "s", "door"]), ("z​e‍r­o", ["zero"]),
        ("Ｗｉｄｅ ﬁrst", ["wide", "first"]), ("Мoscow, рaris", ["moscow", "paris"]),
        ("a\u2009b\u3000c\nd", ["a", "b", "c", "d"]), ("東京 tower", ["東", "京", "tower"]),
        ("Z̶a̷l̴g̸o", ["zalgo"]), ("\ud800 \x00", []),
    ]:  # fmt: skip
        assert Words(text).listed == words


@settings(deadline=None)
@given(texts)
def test_characters_lead_back_to_their_places_in_order(text: str):
    for fold in (as_letters, as_written):
        line, places = folded(text, fold), origins(text, fold)
        assert len(line) == len(places)
        assert all(c in fold(text[place]) for c, place in zip(line, places, strict=True))
    words = Words(text)
    assert len(words.places) == len(words.letters)
    assert words.places == sorted(words.places)
    assert words.ends[-1:] == [len(words.letters)][: len(words.ends)]
    assert Words(normalize("NFD", text)).listed == Words(normalize("NFC", text)).listed
    assert Words(text.casefold()).letters == Words(Words(text.casefold()).text).letters


@settings(deadline=None)
@given(st.text("abcXYZ é", max_size=20), st.sampled_from("​‌­⁠\ufe0f\u0301"))
def test_what_is_not_seen_changes_nothing(text: str, unseen: str):
    assert Words(unseen.join([*text, ""])).listed == Words(text).listed
