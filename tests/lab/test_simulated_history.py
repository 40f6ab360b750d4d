"""Simulated histories: reproducible, true to their labels, and varied."""

from collections import Counter
from datetime import date, timedelta
from math import floor
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.connectors.files.reader import read_json
from radarstream.lab.simulation.facts import bundled_facts, invented_facts
from radarstream.lab.simulation.genres import Scene, Stance, genres, write_page
from radarstream.lab.simulation.history import (
    SimulationOptions,
    observation_day,
    simulate_history,
    write_history,
)
from radarstream.lab.study.datasets import answer_changes
from radarstream.schemas.answer_text import contains, normalised
from radarstream.schemas.codec import decode_snapshot
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Limits

ALL_FACTS = SimulationOptions(questions=len(bundled_facts()), seed=3)


def yearly(history):
    return [
        (entry["question"], int(year), context)
        for entry in history
        for year, context in entry["yearly_contexts"].items()
    ]


def states(page, context, *, answers=None):
    text = page["content"]
    found = [contains(text, answer, strict=True) for answer in answers or context["answer"]]
    return all(found) if context.get("all_answers_required") else any(found)


option_sets = st.builds(
    SimulationOptions,
    questions=st.integers(1, 4),
    k=st.integers(2, 25),
    off_topic=st.floats(0.2, 0.6),
    seed=st.integers(0, 10_000),
)


@settings(max_examples=40, deadline=None)
@given(option_sets)
def test_pages_keep_their_promises(options):
    fewest = 1 - 0.2 - 0.15 - options.off_topic + 1e-9
    for question, _, context in yearly(simulate_history(options)):
        pages = context["docs"]
        assert len(pages) == options.k
        assert len({page["content"] for page in pages}) == options.k
        assert sum(states(page, context) for page in pages) >= floor(options.k * fewest)
        for page in pages:
            assert not contains(" ".join(page.values()), context["incorrect_answer"], strict=True)
            assert ".example/" in page["url"]
        for wording in context["incorrect_context"]:
            assert contains(wording, context["incorrect_answer"], strict=True)
            assert normalised(question) not in normalised(wording)
            assert not any(contains(wording, answer, strict=True) for answer in context["answer"])
        assert len(set(context["incorrect_context"])) == 5
        for answer in context["answer"]:
            assert not contains(context["incorrect_answer"], answer)


def test_questions_have_different_shares_of_pages_that_say_nothing():
    history = simulate_history(SimulationOptions(questions=40, k=20, off_topic=0.6))
    said = {q: sum(states(page, c) for page in c["docs"]) for q, _, c in yearly(history)}
    assert min(said.values()) <= 4 and max(said.values()) >= 10


def test_same_seed_same_bytes_and_another_seed_other_bytes(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        write_history(path, SimulationOptions(questions=5, seed=seed))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes() != paths[2].read_bytes()


def test_every_bundled_question_can_be_simulated_and_most_change():
    history = simulate_history(ALL_FACTS)
    assert {entry["question"] for entry in history} == {f.question for f in bundled_facts()}
    assert all(4 <= len(entry["yearly_contexts"]) <= 8 for entry in history)
    assert all(entry["provenance"] == "simulated" for entry in history)
    changes = answer_changes(
        [c["answer"] for c in entry["yearly_contexts"].values()] for entry in history
    )
    assert changes["at least once"].hits >= 40
    assert any(context.get("all_answers_required") for _, _, context in yearly(history))


def test_larger_histories_add_marked_invented_questions():
    history = simulate_history(SimulationOptions(questions=120, k=3))
    assert len({entry["question"] for entry in history}) == 120
    real = {fact.question for fact in bundled_facts()}
    assert all(
        entry.get("synthetic", False) is (entry["question"] not in real) for entry in history
    )
    assert sum(entry.get("synthetic", False) for entry in history) == 120 - len(real)


def test_stale_pages_are_most_frequent_right_after_a_change():
    options = SimulationOptions(questions=30, k=20)
    by_age = {"fresh": [], "settled": []}
    facts = {fact.question: fact for fact in bundled_facts()}
    for question, year, context in yearly(simulate_history(options)):
        fact, day = facts[question], observation_day(year)
        index = fact.index_on(day)
        current = set(fact.holdings[index].answers)
        past = {a for h in fact.holdings[:index] for a in h.answers} - current
        stale = [
            page
            for page in context["docs"]
            if not states(page, context)
            and any(contains(page["content"], name, strict=True) for name in past)
        ]
        age = day - fact.holdings[index].start
        if index and past and age <= timedelta(365):
            by_age["fresh"].append(len(stale))
        elif index and past and age > timedelta(730):
            by_age["settled"].append(len(stale))
    assert set(by_age["fresh"]) == {4}
    assert set(by_age["settled"]) == {1}


def test_unchanged_truth_leaves_pages_byte_identical_and_moves_ranks():
    carried = moved = unchanged_years = 0
    for entry in simulate_history(ALL_FACTS):
        contexts = list(entry["yearly_contexts"].values())
        for before, after in zip(contexts, contexts[1:], strict=False):
            if before["answer"] != after["answer"]:
                continue
            ranks = {tuple(page.items()): rank for rank, page in enumerate(before["docs"])}
            kept = [(r, tuple(p.items())) for r, p in enumerate(after["docs"])]
            same = [(r, ranks[page]) for r, page in kept if page in ranks]
            unchanged_years += 1
            carried += len(same)
            moved += sum(now != then for now, then in same)
    assert carried / unchanged_years >= 1.5
    assert moved > carried / 3


def test_the_file_reader_understands_a_written_history(tmp_path):
    path = tmp_path / "history.json"
    options = SimulationOptions(questions=6, k=4)
    write_history(path, options)
    records = list(read_json(path, Limits()))
    assert [record.reason for record in records] == [None] * len(records)
    snapshots = [decode_snapshot(record.payload, limits=Limits()) for record in records]
    expected = yearly(simulate_history(options))
    assert len(snapshots) == len(expected)
    for snapshot, (question, year, context) in zip(snapshots, expected, strict=True):
        assert (snapshot.query.text, snapshot.observed_at.year) == (question, year)
        assert snapshot.observed_at.date() == observation_day(year)
        assert snapshot.provenance == "simulated"
        assert [d.text for d in snapshot.documents] == [p["content"] for p in context["docs"]]
        assert snapshot.labels.false_passages == tuple(context["incorrect_context"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"questions": 0},
        {"k": 0},
        {"min_snapshots": 5, "max_snapshots": 4},
        {"min_snapshots": 14, "max_snapshots": 14},
        {"off_topic": 0.7},
    ],
)
def test_impossible_options_are_refused(wrong):
    with pytest.raises(ConfigurationError):
        SimulationOptions(**wrong)


@pytest.mark.parametrize("fact", bundled_facts(), ids=lambda fact: fact.question)
def test_facts_are_well_formed(fact):
    starts = [holding.start for holding in fact.holdings]
    assert starts == sorted(set(starts))
    assert starts[0] <= date(2012, 12, 31)
    assert starts[-1] <= date(2024, 12, 31)
    adjacent = zip(fact.holdings, fact.holdings[1:], strict=False)
    assert all(before.answers != after.answers for before, after in adjacent)
    truths = {
        name for holding in fact.holdings if holding.answers for name in fact.accepted(holding)
    }
    assert set(fact.aliases) <= {answer for h in fact.holdings for answer in h.answers}
    assert len(set(fact.false_answers)) >= 4
    for false in fact.false_answers:
        assert not any(contains(false, truth) or contains(truth, false) for truth in truths)
    assert len(set(fact.topics)) >= 3


def test_genres_are_varied_and_every_wording_is_natural_length():
    counts = Counter(genre.stance for genre in genres().values())
    assert counts[Stance.TRUTH] >= 7
    assert all(len(genre.wordings) >= 3 for genre in genres().values())
    rng = Random(0)
    for fact in [*bundled_facts(), *invented_facts(10, seed=1)]:
        index = max(i for i, holding in enumerate(fact.holdings) if holding.answers)
        scene = Scene(fact, index, date(2024, 12, 31), fact.false_answers)
        distinct = []
        for genre in genres().values():
            if genre.stance is Stance.PARTIAL and not fact.prize:
                continue  # only prizes are shared
            pages = [write_page(genre, scene, variant, rng) for variant in range(8)]
            distinct.append(len({page.content for page in pages}))
            for page in pages:
                assert 26 <= len(page.content.split()) <= 90
                assert "{" not in page.title + page.content
                assert "  " not in page.title + page.content
                assert page.snippet.removesuffix(" ...") in page.content
        assert sum(distinct) >= 3 * len(distinct)


def test_invented_facts_of_a_longer_list_begin_with_the_shorter_one():
    assert invented_facts(20, seed=5)[:7] == invented_facts(7, seed=5)
