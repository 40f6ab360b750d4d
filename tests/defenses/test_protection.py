"""What may follow from a complaint: a table of cases, and what no complaint can do."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.attribution.protection import (
    Rules,
    indistinct,
    refusal,
    status_of,
    too_many,
)
from radarstream.defenses.kernels.responsibility import split_in_two, standard_scores
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import REMOVING, AttributedText, Decision, SenderRecord, Status
from tests.wire_samples import TAUGHT

RULES = Rules()
FRIEND, STRANGER, LIAR = SenderRecord(confirmed=3), SenderRecord(), SenderRecord(dismissed=1)
ONCE = SenderRecord(confirmed=1)


def scored(*scores: tuple[float | None, ...]) -> tuple[AttributedText, ...]:
    """Texts with similarity, semantics and generation influence; the first is flagged."""
    return tuple(
        AttributedText(f"d-{rank}", rank, rank == 1, "", "", "", None, None, *parts)
        for rank, parts in enumerate(scores, start=1)
    )


APART = scored((0.9, -0.5, -0.1), *((0.5 + n / 100, -2.0 + n / 100, -3.0) for n in range(7)))
CLEAR = replace(TAUGHT, texts=APART, gap=1.0, generation_gap=0.1, persists=False, reproduced=True)
TWO = {"ada": FRIEND, "bob": FRIEND}
REVIEW = Status.HUMAN_REVIEW


def test_trust_counts_all_complaints_that_were_not_confirmed() -> None:
    for record, after_three, after_one in [
        (STRANGER, False, False), (LIAR, False, False), (ONCE, False, True),
        (SenderRecord(2, 0), False, True), (SenderRecord(2, 1), False, False),
        (SenderRecord(3, 0), True, True), (SenderRecord(3, 1), False, True),
        (SenderRecord(3, 0, 1), False, True), (SenderRecord(4, 1), False, True),
        (SenderRecord(5, 1), True, True), (SenderRecord(5, 0, 1), True, True),
        (SenderRecord(6, 1, 1), False, True), (SenderRecord(7, 1, 1), True, True),
        (SenderRecord(3, 0, 15), False, False), (SenderRecord(9, 10), False, False),
        (SenderRecord(60, 0, 20), True, True), (SenderRecord(10_000, 5_000, 4_999), False, False),
    ]:  # fmt: skip
        assert record.trusted(3) is after_three
        assert record.trusted(1) is after_one


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 5))
def test_trust_is_the_tail_of_a_beta_distribution(right: int, others: int, after: int) -> None:
    """Checked by integrating the density: at most 1 in 2^(trusted_after + 1) below one half."""
    x = (np.arange(20_000) + 0.5) / 20_000
    density = x**right * (1.0 - x) ** others
    below = density[x < 0.5].sum() / density.sum()
    bound = 0.5 ** (after + 1)
    if abs(below - bound) > 1e-3 * bound:
        expected = below < bound
        assert SenderRecord(right, 0, others).trusted(after) is bool(expected)


def on_sites(flagged: str, others: str) -> tuple[AttributedText, ...]:
    """Texts of the snapshot on sites of these letters, "-" for none; those before are flagged."""
    return tuple(
        replace(text, flagged=rank <= len(flagged), search_rank=rank, url=address)
        for rank, (text, address) in enumerate(
            (
                (
                    AttributedText("d", 1, False, "", "", ""),
                    "" if site == "-" else f"http://{site}.test",
                )
                for site in flagged + others
            ),
            start=1,
        )
    )


def test_half_of_the_pages_or_of_the_sites_is_for_a_person() -> None:
    for flagged, others, told in [
        ("aab", "cdefg", ""),
        ("aabbcd", "efgh", "6 of 10 pages"),
        ("aaa", "bcd", "3 of 6 pages"),
        ("aaa", "bcde", ""),
        ("abc", "dededed", "3 of 5 sites"),
        ("ab", "cdcd", "2 of 4 sites"),
        ("aab", "bbbb", "2 of 2 sites"),
        ("aaa", "aaaa", ""),  # a single site says nothing of sites
        ("---", "abcd", ""),
        ("--", "--", "2 of 4 pages"),
        ("", "ab", ""),
    ]:
        texts = on_sites(flagged, others)
        assert told in too_many(texts), (flagged, others)
        assert bool(told) is bool(too_many(texts))
        # Texts of the corpus that the search did not return are no pages of the snapshot.
        archived = replace(texts[0], search_rank=None)
        assert too_many((*texts, *[replace(archived, flagged=f) for f in (True, False)] * 9)) == (
            too_many(texts)
        )


def test_a_person_decides_about_many_pages_and_chance() -> None:
    many = replace(
        CLEAR, texts=tuple(replace(t, search_rank=t.rank, flagged=t.rank < 5) for t in APART)
    )
    assert status_of(many, TWO, None, Rules(max_chance=1.0))[0] is Status.HUMAN_REVIEW
    assert status_of(many, TWO, Decision.APPROVED, Rules(max_chance=1.0))[0] is Status.APPROVED
    few = replace(CLEAR, texts=APART[:4])
    assert status_of(few, TWO, None, Rules(max_chance=1.0))[0] is Status.QUARANTINED
    assert status_of(few, TWO, None, Rules(max_chance=0.2))[0] is Status.QUARANTINED
    assert "chance" not in status_of(replace(few, gap=0.5), TWO, None, RULES)[1]


@pytest.mark.parametrize("changes", [{}, {"finding": None, "texts": ()}, {"persists": True}])
def test_where_the_model_erred_no_text_is_to_blame(changes) -> None:
    status, detail = status_of(replace(CLEAR, **changes), TWO, Decision.MODEL_ERRED, RULES)
    assert status is Status.NOTHING_FLAGGED
    assert detail == "a person said that the model erred"


def test_decisions() -> None:
    for changes, senders, decision, status in [
        ({}, TWO, None, Status.QUARANTINED),
        ({}, {"ada": FRIEND}, None, Status.PROPOSED),
        ({}, {"ada": FRIEND, "eve": STRANGER}, None, Status.PROPOSED),
        ({}, {"ada": ONCE, "bob": ONCE}, None, Status.PROPOSED),
        ({}, {"ada": FRIEND, "bob": SenderRecord(2, 0)}, None, Status.PROPOSED),
        ({}, {"ada": FRIEND, "bob": SenderRecord(3, 3)}, None, Status.PROPOSED),
        ({}, {"ada": FRIEND, "bob": SenderRecord(3, 0, 15)}, None, Status.PROPOSED),
        ({}, {"eve": STRANGER}, Decision.APPROVED, Status.APPROVED),
        ({}, TWO, Decision.DISMISSED, Status.DISMISSED),
        # a: nobody can tell that it was ever answered
        ({"finding": None, "texts": (), "reproduced": False}, TWO, None, Status.UNVERIFIED),
        ({"reproduced": False}, TWO, None, Status.HUMAN_REVIEW),
        ({"reproduced": False}, TWO, Decision.APPROVED, Status.APPROVED),
        # nothing is to blame: no decision can change that
        ({"finding": Finding.INTRINSIC_ERROR}, TWO, None, Status.NOTHING_FLAGGED),
        ({"finding": Finding.NO_SEPARATION}, TWO, Decision.APPROVED, Status.NOTHING_FLAGGED),
        ({"texts": ()}, TWO, Decision.APPROVED, Status.NOTHING_FLAGGED),
        # e: the groups are not apart
        ({"gap": 0.999}, TWO, None, Status.HUMAN_REVIEW),
        ({"gap": None}, TWO, None, Status.HUMAN_REVIEW),
        ({"generation_gap": 0.0}, TWO, None, Status.HUMAN_REVIEW),
        ({"generation_gap": None}, TWO, None, Status.HUMAN_REVIEW),
        ({"gap": 0.5}, TWO, Decision.APPROVED, Status.APPROVED),
        # or could be by chance: too few texts, one score alone, scores that do not agree
        ({"texts": APART[:4]}, TWO, None, Status.HUMAN_REVIEW),
        ({"texts": APART[:4]}, TWO, Decision.APPROVED, Status.APPROVED),
        ({"texts": scored(*((None, None, float(-n)) for n in range(8)))}, TWO, None, REVIEW),
        ({"texts": scored(*((n % 3, n % 5, -n % 7) for n in range(15)))}, TWO, None, REVIEW),
        # f: the answer persists
        ({"persists": True}, TWO, None, Status.RESTORED),
        ({"persists": True}, TWO, Decision.APPROVED, Status.APPROVED),
        ({"persists": True}, {"eve": STRANGER}, Decision.APPROVED, Status.APPROVED),
        ({"persists": True, "gap": 0.1}, {}, Decision.APPROVED, Status.APPROVED),
        ({"persists": True}, TWO, Decision.DISMISSED, Status.DISMISSED),
        # nothing would be left to answer from
        ({"answer_without": None}, TWO, None, Status.HUMAN_REVIEW),
        ({"answer_without": None}, TWO, Decision.APPROVED, Status.APPROVED),
    ]:
        found, detail = status_of(replace(CLEAR, **changes), senders, decision, RULES)
        assert found is status, (changes, senders, decision)
        assert detail


def test_refusals() -> None:
    for trust, in_a_day, waiting, own, refused in [
        (STRANGER, 0, 0, 0, False),
        (STRANGER, 19, 999, 0, False),
        (STRANGER, 20, 0, 0, True),
        (FRIEND, 20, 0, 0, True),
        (STRANGER, 0, 1_000, 0, True),
        (STRANGER, 1, 499, 1, False),
        (STRANGER, 1, 500, 1, True),  # what is left is for who has nothing waiting
        (STRANGER, 1, 500, 0, False),
        (FRIEND, 0, 1_000, 9, False),
        (ONCE, 0, 1_000, 0, True),
        (LIAR, 4, 0, 0, False),
        (LIAR, 5, 0, 0, True),
    ]:
        told = refusal(RULES, trust, in_a_day=in_a_day, waiting=waiting, own_waiting=own)
        assert bool(told) is refused, (trust, in_a_day, waiting, own)


TRUSTS = st.builds(SenderRecord, st.integers(0, 9), st.integers(0, 5), st.integers(0, 5))
EVENTS = st.builds(
    replace,
    st.just(CLEAR),
    gap=st.none() | st.floats(-3, 3),
    generation_gap=st.none() | st.floats(-3, 3),
    persists=st.sampled_from([None, False, True]),
    reproduced=st.booleans(),
    finding=st.none() | st.sampled_from(Finding),
    answer_without=st.none() | st.just("Zürich"),
)


@given(EVENTS, st.dictionaries(st.text(min_size=1), TRUSTS, max_size=30))
def test_no_removal_without_two_trusted_people_or_a_decision(event, senders):
    status, _ = status_of(event, senders, None, RULES)
    trusted = [name for name, t in senders.items() if t.trusted(RULES.trusted_after)]
    if len(trusted) < 2:
        assert status not in REMOVING
    if status in REMOVING:
        assert event.reproduced
        assert not event.persists
        assert event.answer_without is not None
        assert event.gap is not None
        assert event.gap >= RULES.min_gap


@given(st.floats(-3, 3), st.floats(-3, 3), st.integers(2, 12), st.integers(0, 99))
def test_the_rule_of_chance_only_ever_asks_a_person(gap, influence, count, seed) -> None:
    random = Random(seed)
    texts = scored(*(tuple(random.gauss(0, 1) for _ in range(3)) for _ in range(count)))
    event = replace(CLEAR, texts=texts, gap=gap, generation_gap=influence)
    old, _ = status_of(event, TWO, None, Rules(max_chance=1.0))
    new, _ = status_of(event, TWO, None, RULES)
    assert new in (old, Status.HUMAN_REVIEW)


def test_one_page_far_from_all_others_leaves_the_verdict_to_a_person() -> None:
    """Three lies, five honest pages, and a page of the attacker that is off the question: two-means
    parts that page from all others, and the flagged ones are two groups themselves.
    """
    rows = [(level - 2.0 + n / 50,) * 3 for n, level in enumerate([1.0] * 3 + [0.0] * 5 + [-3.0])]
    split = split_in_two(np.mean([standard_scores(row) for row in np.array(rows).T], axis=0))
    assert list(split.upper) == [True] * 8 + [False]
    texts = tuple(
        replace(text, flagged=bool(flag))
        for text, flag in zip(scored(*rows), split.upper, strict=True)
    )
    assert "two groups themselves" in indistinct(split.gap, 1.0, texts, RULES)
    without = split_in_two(np.array([row[0] for row in rows[:-1]]))
    assert list(without.upper) == [True] * 3 + [False] * 5
