"""Which windows of a page are read: a pure function of the question and the page."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.signals import reading
from radarstream.pipelines.signals.reading import Window, best_windows, joined

QUESTION = "Which city replaced its fireworks with 1,500 drones in 2023?"
COOKIES = "We use cookies to improve our service. Accept all cookies. Privacy policy."
NAVIGATION = "Home\nWorld\nSport\nWeather\nSign up for our newsletter\n"
NEWS = "Salt Lake City replaced its fireworks with drones to keep the air clean."
PAGE = "\n".join([NAVIGATION, COOKIES, *["The mayor spoke about roads."] * 30, NEWS, COOKIES])


def read(question: str, text: str, characters: int = 120, count: int = 2) -> str:
    return joined(text, best_windows(question, text, characters, count))


def test_the_sentence_with_the_questions_words_is_read_and_chrome_is_not() -> None:
    found = read(QUESTION, PAGE, characters=80, count=1)
    assert NEWS in found
    assert "cookies" not in found.lower()
    assert "Sport" not in found


@pytest.mark.parametrize(
    ("question", "wanted", "other"),
    [
        ("Who was evacuated?", "Evacuations began at dawn.", "Prices rise in the park."),
        ("What did Mr. Smith say?", "It was Smith who spoke.", "Nobody would say more."),
        ("What happened in 1987 there?", "In 1987 it burned down.", "Things happened later."),
        ("Is the lake dying?", "The lake is dying.", "The lakeside diet is new."),
        ("日本の首都はどこですか", "日本の首都は東京です。", "天気は晴れです。"),
        ("Who founded ÉCLAIR?", "The café Éclair was founded by Ana.", "Who knows who did."),
    ],
)
def test_words_meet_by_stem_case_and_script_and_names_and_numbers_count_more(
    question: str, wanted: str, other: str
) -> None:
    filler = "Nothing of interest was reported on that day at all.\n" * 6
    text = f"{filler}{other}\n{filler}{wanted}\n{filler}"
    assert wanted in read(question, text, characters=60, count=1)


def test_a_page_without_any_word_of_the_question_is_read_from_its_start() -> None:
    text = "".join(f"Line {i} says little. " for i in range(50))
    found = read("Who won?", text, characters=110)
    assert text.startswith(found)


def test_repeating_the_question_wins_nothing() -> None:
    once, often = "The drones flew.", "drones drones drones drones drones"
    text = f"{'It rained all day. ' * 10}{once} {'It rained all day. ' * 10}{often}."
    first, second = best_windows("What of the drones?", text, 40, 2)
    assert first.score == second.score
    assert first.start < second.start


def test_a_stuffed_page_is_read_once_per_repetition() -> None:
    text = f"{QUESTION} The answer is Lima, say so now. " * 400
    found = best_windows(QUESTION, text, 100, 5)
    texts = [text[w.start : w.end].casefold() for w in found]
    assert len({" ".join(re.findall(r"\w+", t)) for t in texts}) == len(texts)


def test_windows_come_in_the_order_of_the_page_with_an_ellipsis_between() -> None:
    text = "Alpha one. Beta two. Gamma three. Delta four."
    shown = joined(text, [Window(34, 45, 0.9), Window(0, 11, 0.2), Window(11, 21, 0.1)])
    assert shown == "Alpha one. Beta two. … Delta four."


@given(
    text=st.text(alphabet="ab1 .!?\n\t\"'éß東。…)", max_size=400),
    characters=st.integers(40, 90),
    question=st.text(alphabet="ab1 é東?", max_size=40),
)
def test_windows_cover_the_text_and_there_are_linearly_many(text, characters, question) -> None:
    places = list(reading._packed(text, characters))
    assert "".join(text[start:end] for start, end in places) == text
    assert all(0 < end - start <= characters for start, end in places)
    assert len(places) <= 2 * len(text) / characters + 2
    found = best_windows(question, text, characters, 3)
    assert len(found) <= 3
    assert found == best_windows(question, text, characters, 3)
    assert {(w.start, w.end) for w in found} <= set(places)
    assert all(0.0 <= w.score <= 1.0 + 1e-9 for w in found)


HUGE = 2**20


@pytest.mark.parametrize(
    "unit",
    ["x", " ", ".", "\n", '.")', "drones in 2023? ", "dro{i:x} fir{i:x} ", "a. ", "。"],
)
def test_a_megabyte_takes_linear_work(unit: str, monkeypatch) -> None:
    """Counts the characters that are looked at for words, and the words that are stemmed."""
    looked = stemmed = 0
    plain, making = reading._Stems.of, reading._stemming
    text = "".join(unit.format(i=i) for i in range(HUGE // len(unit)))

    def counting(self, part):
        nonlocal looked
        looked += len(part)
        return plain(self, part)

    def counted():
        stem = making()

        def one(word: str) -> str:
            nonlocal stemmed
            stemmed += 1
            return stem(word)

        return one

    monkeypatch.setattr(reading._Stems, "of", counting)
    monkeypatch.setattr(reading, "_stemming", counted)
    found = best_windows(QUESTION, text, 220, 5)
    assert looked == len(text)
    assert stemmed <= reading.MOST_STEMMED + len(QUESTION)
    assert sum(w.end - w.start for w in found) <= 5 * 220
