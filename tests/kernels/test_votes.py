"""Votes: caps of sites, what stands for and against an answer, and the memory as a voter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.votes import (
    Ballot,
    Remembered,
    keep_shares,
    shares,
    site_cap,
    site_members,
    strongest_rival,
    voices,
)


def ballot(claims: str, sites: str, remembered: Remembered | None = None) -> Ballot:
    """Exact relations: one letter a page for its claim, one for its site."""
    said = np.array(list(claims))
    return Ballot((said[:, None] == said).astype(float), site_members(list(sites)), remembered)


@given(st.floats(0.0, 1e3), st.floats(0.0, 1e3))
def test_no_page_adds_more_than_one_voice_and_later_ones_add_less(pages: float, more: float):
    before, after = site_cap(np.array([pages, pages + more]))
    assert before <= after <= before + more + 1e-9
    assert site_cap(np.array([more]))[0] >= after - before - 1e-9


@pytest.mark.parametrize(
    ("pages", "expected"), [(0, 0), (0.4, 0.4), (1, 1), (2, 1.693), (9, 3.197)]
)
def test_site_cap(pages: float, expected: float):
    assert site_cap(np.array(float(pages))) == pytest.approx(expected, abs=1e-3)


def test_pages_without_a_site_are_their_own():
    members = site_members(["a", "", "a", "", "b"])
    assert members.sum(axis=0).tolist() == [2, 1, 1, 1]
    assert members[:, 0].tolist() == [1, 0, 1, 0, 0]


def test_a_site_that_says_two_things_lends_each_its_own_voices():
    said = ballot("AAABB", "xxxxx")
    assert voices(said.agreement, said.sites) == pytest.approx(
        site_cap(np.array([3.0] * 3 + [2] * 2))
    )


def test_the_strongest_rival_is_another_claim():
    said = ballot("AAABBC", "uvwxyz")
    assert rivals(said)[0].tolist() == [2, 2, 2, 3, 3, 3]
    assert rivals(Ballot(np.zeros((0, 0)), np.zeros((0, 0)))).tolist() == [[], []]


def rivals(said: Ballot) -> np.ndarray:
    apart = said.apart(said.whole, said.whole).votes(said.missing)
    return strongest_rival(said.support, apart)


def test_one_wrong_relation_makes_no_rivals():
    """Two of six pages that say the same are scored as if they did not."""
    said = ballot("AAAAAA", "uvwxyz")
    said.agreement[0, 1] = said.agreement[1, 0] = 0.0
    assert rivals(said).max() == 2.0
    assert (keep_shares(said, 4.0) > 0.9).all()


def test_a_vote_may_be_worth_less():
    said = ballot("AAB", "xyz")
    half = Ballot(said.agreement, said.sites, weights=np.array([0.5, 0.25, 1.0]))
    assert half.support[0].tolist() == [0.75, 0.75, 1.0]
    assert (keep_shares(half, 2.0) > 0.5).tolist() == [False, False, True]


def test_a_tie_is_a_tie_with_a_leak_between():
    said = ballot("AABB", "uvwx")
    leaky = Ballot(np.maximum(said.agreement, 0.1), said.sites)
    assert keep_shares(leaky, 4.0) == pytest.approx(0.5)


def test_shares():
    values = shares(np.array([2.0, 1.0, 0.0, 1e200]), np.array([1.0, 1.0, 0.0, 1e190]), 2.0)
    assert values == pytest.approx([0.8, 0.5, 0.0, 1.0])


def test_an_answer_must_lead_by_both_counts():
    """Six pages of one site against four sites: neither leads by both."""
    assert (keep_shares(ballot("BBBBBBAAAA", "xxxxxxabcd"), 4.0) < 0.5).all()
    assert (keep_shares(ballot("BAAAA", "xabcd"), 4.0) > 0.5).tolist() == [False] + [True] * 4


def test_the_memory_adds_what_no_present_page_repeats():
    remembered = Remembered(np.array([1.0, 0.0, 0.0]), np.array([5.0, 4.0]), node=0.0, fade=0.5)
    said = ballot("ABB", "xyz", remembered)
    assert said.missing.tolist() == [4.0, 3.0]
    assert said.support.tolist() == [[5.0, 2.0, 2.0, 5.0], [4.0, 2.0, 2.0, 4.0]]


def test_a_faded_memory_still_weighs_its_node():
    """Among voices as much less as the pages that say the same."""
    remembered = Remembered(np.array([1.0, 1.0, 0.0]), np.zeros(2), node=0.4, fade=0.0)
    assert ballot("AAB", "xyz", remembered).missing == pytest.approx([0.4, 0.4])
    capped = 0.4 * (1 + np.log(2)) / 2
    assert ballot("AAB", "xxz", remembered).missing == pytest.approx([0.4, capped])
    silent = Remembered(np.zeros(1), np.zeros(2), node=0.0, fade=0.0)
    assert ballot("A", "x", silent).missing.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("fade", "kept"), [(0.9, True), (0.1, False)])
def test_a_memory_that_has_not_faded_decides_between_the_counts(fade: float, kept: bool):
    remembered = Remembered(np.array([0.0] * 6 + [1.0] * 4), np.zeros(2), node=0.0, fade=fade)
    share = keep_shares(ballot("BBBBBBAAAA", "xxxxxxabcd", remembered), 8.0)
    assert (share[:6] < 0.5).all()
    assert ((share[6:] > 0.5) == kept).all()
