"""Independent documents: sites, copies, and weights that grow slowly within a site."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.independence import (
    NEARLY_THE_SAME,
    independent_groups,
    nearly_the_same,
    spans_of,
    voices,
)

STORY = "the mayor of the old harbour town opened the new bridge on sunday in heavy rain"
EDITED = STORY.replace("sunday", "monday")  # breaks three of fourteen spans
sites = st.sampled_from(["", "a", "b", "c"])
texts = st.lists(st.sampled_from(["red", "green", "blue", "one", "two"]), max_size=8).map(" ".join)
documents = st.lists(st.tuples(sites, texts), max_size=8)
values = st.floats(0.0, 1.0)


def groups_of(*pages: tuple[str, str]) -> list[int]:
    return independent_groups([s for s, _ in pages], [t for _, t in pages]).tolist()


def test_pages_of_one_site_are_one_voice_and_pages_without_address_are_their_own() -> None:
    assert groups_of(("a", "x"), ("b", "y"), ("a", "z"), ("", "u"), ("", "v")) == [0, 1, 0, 3, 4]


def test_a_copy_on_another_site_is_no_second_voice() -> None:
    assert groups_of(("a", STORY), ("b", STORY.upper()), ("c", EDITED)) == [0, 0, 0]
    assert groups_of(("a", STORY), ("b", "the bridge is open since sunday")) == [0, 1]


def test_texts_without_words_are_no_copies() -> None:
    assert groups_of(("a", ""), ("b", "!?")) == [0, 1]


def test_a_chain_of_copies_is_one_voice() -> None:
    third = EDITED.replace("heavy", "light")
    assert not nearly_the_same(spans_of(STORY), spans_of(third))
    assert groups_of(("a", STORY), ("b", third), ("c", EDITED)) == [0, 0, 0]


@given(texts, texts)
def test_no_page_joins_two_that_share_nothing(one: str, other: str) -> None:
    """An attacker cannot make two unlike pages one voice by publishing both texts on one page."""
    left, right = spans_of(one), spans_of(other) - spans_of(one)
    for bridge in (left | right, left, right):
        assert not (nearly_the_same(bridge, left) and nearly_the_same(bridge, right))


@given(documents)
def test_groups_do_not_depend_on_order(pages: list[tuple[str, str]]) -> None:
    forward, backward = groups_of(*pages), groups_of(*pages[::-1])[::-1]
    alike = [[one == other for one in forward] for other in forward]
    assert alike == [[one == other for one in backward] for other in backward]


@given(st.lists(st.tuples(values, st.integers(0, 3)), max_size=8), values, st.integers(0, 3))
def test_another_page_never_takes_weight_away(
    pages: list[tuple[float, int]], value: float, group: int
) -> None:
    def weight(held: list[tuple[float, int]]) -> float:
        return voices(np.array([v for v, _ in held]), np.array([g for _, g in held], dtype=int))

    assert weight([*pages, (value, group)]) >= weight(pages) - 1e-12
    assert weight([*pages, (value, 9)]) == pytest.approx(weight(pages) + value)


def test_more_pages_of_one_site_add_ever_less() -> None:
    one_site = [voices(np.ones(n), np.zeros(n, dtype=int)) for n in (1, 2, 3, 9)]
    assert one_site == pytest.approx([1.0, 1.5, 11 / 6, 7129 / 2520])
    assert voices(np.ones(2), np.arange(2)) == 2.0


def test_the_threshold_keeps_bridges_out() -> None:
    assert NEARLY_THE_SAME > 0.5
