"""Copied stretches and shared grams, against direct searches."""

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.kernels.copied_text import contained_share, copied_runs

words = st.lists(st.text("ab", min_size=1, max_size=3), max_size=8)


def ends_of(listed: list[str]) -> list[int]:
    return list(accumulate(map(len, listed)))


def directly(part: str, listed: list[str], least: int) -> set[int]:
    """The places of `part` in any occurrence of any `least` words in a row."""
    places: set[int] = set()
    for first in range(len(listed) - least + 1):
        window = "".join(listed[first : first + least])
        at = part.find(window)
        while at >= 0:
            places |= set(range(at, at + len(window)))
            at = part.find(window, at + 1)
    return places


@settings(deadline=None)
@given(st.text("abc", max_size=24), words, st.integers(1, 4))
def test_agrees_with_a_direct_search(part: str, listed: list[str], least: int):
    found = copied_runs(part, "".join(listed), ends_of(listed), least)
    assert {p for start, end in found for p in range(start, end)} == directly(part, listed, least)
    assert all(end < start for (_, end), (start, _) in zip(found, found[1:], strict=False))


@pytest.mark.parametrize("part", ["", "abc"])
def test_grams_of_short_texts(part: str):
    assert contained_share(part, "abcdef") == 0.0
    assert contained_share("abcdef", part) == 0.0


def test_shares_of_grams():
    # abcd, bcde, cdef and defg, of which "abcdex" has the first two.
    assert contained_share("abcdefg", "abcdex") == 0.5
    assert contained_share("abcdefg", "xxabcdefgxx") == 1.0
    # The grams of a text scattered over a long one do not make it a copy.
    part, filler = "abcdefghijklmnop", "-" * 100
    whole = filler.join(part[i : i + 4] for i in range(len(part) - 3))
    assert contained_share(part, whole) < 0.2


@settings(deadline=None)
@given(st.text("abcd", max_size=30), st.text("abcd", max_size=60))
def test_share_is_a_share_and_whole_for_a_copy(part: str, whole: str):
    assert 0.0 <= contained_share(part, whole) <= 1.0
    assert len(part) < 4 or contained_share(part, whole + part) == 1.0
