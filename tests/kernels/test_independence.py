"""Independent documents: sites and copies."""

from itertools import combinations
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels import independence
from radarstream.defenses.kernels.independence import alike_in, most_independent, spans_of
from radarstream.defenses.kernels.reliability import independent_set

STORY = "the mayor of the old harbour town opened the new bridge on sunday in heavy rain"
EDITED = STORY.replace("sunday", "monday")  # breaks three of fourteen spans
Page = tuple[str, str]  # those who speak in it, a letter each ("?": nobody can tell); text
sites = st.sampled_from(["", "a", "b", "c", "ab", "?"])


def story(start: int, words: int) -> str:
    return " ".join(f"w{n}" for n in range(start, start + words))


# Parts of one story: neighbouring ones are nearly the same, and longer ones hold shorter ones.
told = st.builds(story, st.integers(0, 30), st.sampled_from([14, 15, 20, 30, 60]))
texts = st.lists(st.sampled_from(["red", "green", "blue", "one", "two"]), max_size=8).map(" ".join)
documents = st.lists(st.tuples(sites, texts | told), max_size=8)


def independent(*pages: Page) -> int:
    return most_independent(alike_in([s for s, _ in pages], [t for _, t in pages]))


def alike(one: Page, other: Page) -> bool:
    first, second = spans_of(one[1]), spans_of(other[1])
    common, shorter = len(first & second), min(len(first), len(second))
    copied = (common >= 12 and common >= 0.75 * shorter) or common >= 0.6 * len(first | second)
    return copied or "?" in one[0] + other[0] or bool(set(one[0]) & set(other[0]))


def by_brute_force(pages: list[Page]) -> int:
    def unlike(chosen: tuple[Page, ...]) -> bool:
        return not any(alike(*pair) for pair in combinations(chosen, 2))

    sizes = range(len(pages), 0, -1)
    return next((n for n in sizes if any(map(unlike, combinations(pages, n)))), 0)


def test_copies_and_pages_made_of_others_are_no_voices() -> None:
    copies = (("a", STORY), ("b", STORY.upper()), ("c", EDITED))
    assert independent(*copies) == 1
    told_anew = (("a", STORY), ("b", "the bridge is open since sunday"))
    assert independent(*told_anew) == 2
    # One page of an attacker must not turn two honest voices into one.
    shared = (
        "the final of the cup was played in the old town before forty thousand people and won by"
    )
    ends = ("the guests who scored once late in may", "a team whose keeper held three hard shots")
    one, other = (("a", f"{shared} {ends[0]}"), ("b", f"{shared} {ends[1]}"))
    bridge = ("evil", f"{shared} {ends[0]} {ends[1]}")
    assert alike(one, bridge) and alike(other, bridge) and not alike(one, other)
    for pages in ((one, other, bridge), (bridge, one, other), (one, bridge, other)):
        assert independent(*pages) == 2


@pytest.mark.parametrize(("lead", "voices"), [(60, 1), (74, 1), (80, 2)])
def test_a_story_behind_a_lead_is_one_voice_with_it(lead: int, voices: int) -> None:
    """Of long texts the first 300 words are read, so a lead of a quarter of these hides a copy."""
    own = " ".join(f"lead{n}" for n in range(lead))
    assert independent(("a", story(0, 400)), ("b", f"{own} {story(0, 400)}")) == voices
    assert independent(("a", story(0, 20)), ("b", f"{own} {story(0, 20)}")) == 1


@pytest.mark.parametrize(
    ("text", "told_anew"),
    [
        ("新桥于周日在旧港口城市的大雨中由市长宣布开通", "周日上午市长在雨里为大桥剪彩庆祝"),
        ("市長は日曜日に古い港町で新しい橋を開通させた", "新たな橋が週末から通れるようになった"),
        ("นายกเทศมนตรีเปิดสะพานใหม่ของเมืองท่าเก่าในวันอาทิตย์", "สะพานข้ามแม่น้ำใช้งานได้แล้วตั้งแต่เมื่อวานนี้"),
    ],
    ids=["Chinese", "Japanese", "Thai"]
)  # fmt: skip
def test_text_without_spaces_is_compared_by_characters(text: str, told_anew: str) -> None:
    for place in range(len(text)):
        edited = f"{text[:place]}人{text[place + 1 :]}"
        assert independent(("a", text), ("b", edited)) == 1
    assert independent(("a", text), ("b", told_anew)) == 2


@pytest.mark.parametrize(("every", "voices"), [(13, 1), (12, 2)])
def test_every_twelfth_word(every: int, voices: int) -> None:
    """How cheap a disguise is: `docs/consuming.md` says so."""
    words = [f"word{n}" for n in range(300)]
    disguised = ["other" if n % every == every // 2 else word for n, word in enumerate(words)]
    assert independent(("a", " ".join(words)), ("b", " ".join(disguised))) == voices


@given(documents)
def test_is_the_largest_set_of_pages_that_are_not_alike(pages: list[Page]) -> None:
    assert independent(*pages) == by_brute_force(pages)


@given(st.integers(0, 30), st.floats(0, 1), st.integers(0, 2**32))
def test_the_search_is_exact(n: int, density: float, seed: int) -> None:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    edges = upper | upper.T
    assert most_independent(edges) == independent_set(edges).sum()


@pytest.mark.parametrize("density", [0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3, 0.7, 1.0])
def test_two_hundred_pages_take_no_time_however_they_are_alike(density: float) -> None:
    """A search to the end would take hours where one page in fifty or in twenty is alike."""
    upper = np.triu(np.random.default_rng(7).random((200, 200)) < density, 1)
    started = process_time()
    found = most_independent(upper | upper.T)
    assert process_time() - started < 2.0
    assert found >= (1 if density == 1.0 else 2)


def test_a_search_that_is_ended_still_finds_two_that_are_independent(monkeypatch) -> None:
    edges = ~np.eye(40, dtype=bool)
    edges[3, 17] = edges[17, 3] = False
    monkeypatch.setattr(independence, "MOST_STEPS", 0)
    assert most_independent(edges) == 2


@pytest.mark.parametrize("padding", [0, 10, 13, 14, 15, 100])
def test_spans_are_of_the_first_words_however_long_they_are(padding: int) -> None:
    words = [f"w{n}" + "x" * padding for n in range(400)]
    expected = {tuple(words[start : start + 3]) for start in range(298)}
    assert spans_of(" ".join(words)) == expected
