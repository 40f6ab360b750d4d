"""Phrases of an answer: what is counted when answers are compared word by word."""

import string

from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.keywords import FUNCTION_WORDS, content_runs, phrases


def test_examples():
    for answer, expected in [
        ("Paris", {"paris"}),
        ("paris is the capital", {"paris is the capital", "paris", "capital"}),
        ("Minjee Lee", {"minjee lee", "minjee", "lee"}),
        ("the 15% of 1,250.50", {"the 15% of 1,250.50", "15%", "1,250.50"}),
        ("$15.50", {"$15.50"}), ("-0.3 %", {"-0.3 %", "-0.3"}), ("\u2212$1,250", {"-$1,250"}),
        ("2015-2017", {"2015-2017"}), ("U.S. troops", {"u.s. troops", "u.s.", "troops"}),
        ("Germany's capital", {"germany's capital", "germany", "capital"}),
        ("Germany’s capital", {"germany’s capital", "germany", "capital"}),
        ("well-known author", {"well-known author", "well-known", "author"}),
        ("Rome, Oslo", {"rome, oslo", "rome", "oslo"}),
        ("Ünal  \n Straße", {"ünal strasse", "ünal", "strasse"}), ("ＮＡＴＯ", {"nato"}),
        ("It isn’t Lyon", {"it isn’t lyon", "lyon"}),
    ]:  # fmt: skip
        assert phrases(answer) == expected


def test_what_says_nothing_has_no_phrase_and_looks_deceive():
    for answer in ("", "  ", "...", "?!", "the", "no"):
        assert phrases(answer) == frozenset()
    for answer in ("WHO", "It", "No"):  # no function words
        assert phrases(answer) == {answer.casefold()}


@given(st.text(max_size=200))
def test_any_text_gives_clean_phrases(text: str):
    found = phrases(text)
    assert all(p == " ".join(p.split()) and any(c.isalnum() or c == "_" for c in p) for p in found)


@given(st.lists(st.text(string.ascii_letters, min_size=1), max_size=8))
def test_case_does_not_matter_but_for_a_single_function_word(words: list[str]):
    text = " ".join(words)
    if text.casefold() not in FUNCTION_WORDS:
        assert phrases(text) == phrases(text.swapcase())


@given(st.text(alphabet=string.ascii_lowercase + " ,.'", max_size=80))
def test_runs_hold_content_only_and_stand_in_the_text(text: str):
    for run in content_runs(text):
        assert run
        assert not FUNCTION_WORDS.intersection(run)
        assert all(word in text for word in run)
