"""A calm snapshot confirms the standing answer and nothing else; any other is judged in full."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.registry import build_defense
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.signals.first_look import FirstLook
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.memory import Belief, Memory, StandingAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision, Reason
from tests.scripted_models import scripted_models

START = datetime(2024, 1, 1, tzinfo=UTC)
ROME = Memory(3, Belief("Rome", 0.9, 0.05), StandingAnswer("Rome", START))
LOOK = FirstLook(full_share=0.0)
NOTHING = "I don't know"


def snapshot(*claims: str | None, day: int = 1, sites: int = 99) -> SearchSnapshot:
    """One document per claim; None says nothing."""
    documents = tuple(
        Document(
            rank,
            f"Page {rank} of the {rank * 7} says it: {claim or NOTHING}",
            url=f"https://site{rank % sites}.example/{rank}",
        )
        for rank, claim in enumerate(claims, start=1)
    )
    return SearchSnapshot(Query("q", "What is it?"), START + timedelta(days=day), documents)


def guard(look: FirstLook | None = LOOK, **options: object) -> Guard:
    defense = build_defense("radar", {"first_answer": "answers", "on_empty": "abstain"})
    return Guard("radar", defense, scripted_models(), min_support=2, first_look=look, **options)


def atomic_prompts(one: Guard) -> Counter[bytes]:
    log = [prompt for batch in one.models.generator.log for prompt in batch]
    return Counter(p.digest() for p in log if p.task is Task.ATOMIC_ANSWER)


def test_a_calm_snapshot_is_confirmed_from_two_documents() -> None:
    one = guard()
    event, after = one.answer(snapshot(*["Rome"] * 10), ROME)
    assert (event.answer, event.status, event.changed) == ("Rome", AnswerStatus.CORROBORATED, False)
    assert event.documents_read == 2
    assert event.calm
    assert atomic_prompts(one).total() == 2
    assert Counter(d.reason for d in event.verdict.documents) == {
        Reason.SUPPORTED: 2, Reason.NOT_READ: 8}  # fmt: skip
    assert event.verdict.memory.decision is MemoryDecision.RETAINED
    assert len(event.seen) == 2
    standing = StandingAnswer("Rome", event.observed_at)
    assert after == Memory(4, ROME.state, standing)


@pytest.mark.parametrize(
    "memory",
    [
        Memory(0, None),
        replace(ROME, standing=None),
        replace(ROME, state=Belief("Rome", 0.4, 0.6)),  # much contradicted when all was read
        replace(ROME, standing=StandingAnswer("Oslo", START)),
    ],
)
def test_without_a_settled_answer_everything_is_read(memory: Memory) -> None:
    one, other = guard(), guard(None)
    found = snapshot(*["Rome"] * 10)
    assert one.answer(found, memory) == other.answer(found, memory)
    assert atomic_prompts(one) == atomic_prompts(other)


def test_pages_of_one_owner_confirm_nothing() -> None:
    event, _ = guard().answer(snapshot(*["Rome"] * 10, sites=1), ROME)
    assert not event.calm


def test_a_source_with_a_bad_record_confirms_nothing() -> None:
    class Ledger:
        def honesty(self, snapshots):
            return [np.full(len(s.documents), 0.6) for s in snapshots]

    event, _ = guard(sources=Ledger()).answer(snapshot(*["Rome"] * 10), ROME)
    assert not event.calm


def test_a_few_other_answers_are_outweighed_look_by_look() -> None:
    first = LOOK.part_of(snapshot(*["Rome"] * 10)).documents[0].rank
    claims = ["Oslo" if rank == first else "Rome" for rank in range(1, 11)]
    event, after = guard().answer(snapshot(*claims), ROME)
    assert event.answer == "Rome"
    assert event.documents_read == 4  # one for Oslo, three for Rome
    assert event.verdict.documents[first - 1].reason is Reason.CONTRADICTED
    assert after.state == ROME.state


CLAIMS = st.lists(st.sampled_from(["Rome", "Oslo", "Lima", None]), max_size=12)


@settings(max_examples=40)
@given(CLAIMS, st.integers(2, 5), st.text(max_size=3), st.integers(0, 400))
def test_the_cheap_path_only_confirms_and_any_other_is_as_without_it(
    claims: list[str | None], documents: int, seed: str, day: int
) -> None:
    """The safety of it: no new answer, no moved belief; else the same to the bit, asked once."""
    found = snapshot(*claims, day=day)
    one, full = guard(FirstLook(documents, 2, 0.2, seed)), guard(None)
    event, after = one.answer(found, ROME)
    if event.calm:
        assert event.answer == "Rome"
        assert event.changed is False
        assert after.state == ROME.state
        kept = [d for d in event.verdict.documents if d.kept]
        read = [d for d in event.verdict.documents if d.reason is not Reason.NOT_READ]
        informative = [d for d in read if d.atomic_answer is not None]
        assert {d.atomic_answer for d in kept} == {"Rome"}
        assert 2 * len(kept) - len(informative) >= 2
        assert len(read) == event.documents_read < len(claims)
    else:
        assert (event, after) == full.answer(found, ROME)
    assert all(times == 1 for times in atomic_prompts(one).values())
    assert atomic_prompts(one).total() == (event.documents_read or len(claims))


def test_snapshots_of_several_queries_do_not_mix() -> None:
    """Calm, open and first ones in one batch, in every order."""
    one, full = guard(), guard(None)
    calm, changed = snapshot(*["Rome"] * 10), snapshot(*["Oslo"] * 10)
    items = [(calm, ROME), (changed, ROME), (calm, Memory(0, None)), (snapshot(), ROME)]
    for shift in range(4):
        turned = items[shift:] + items[:shift]
        evidence = one.gather([found for found, _ in turned])
        outcomes = one.decide([(s, e, m) for (s, m), e in zip(turned, evidence, strict=True)])
        for (found, memory), (event, after) in zip(turned, outcomes, strict=True):
            if found is calm and memory is ROME:
                assert event.calm
            else:
                assert (event, after) == full.answer(found, memory)


def test_evidence_that_is_whole_is_looked_at_alike() -> None:
    """As a study has it: everything was read, and what a calm snapshot needs is told apart."""
    one, whole = guard(), guard(None)
    for found in (snapshot(*["Rome"] * 10), snapshot("Oslo", *["Rome"] * 9)):
        (evidence,) = whole.gather([found])
        assert one.decide([(found, evidence, ROME)]) == [guard().answer(found, ROME)]


def test_what_is_drawn_depends_on_no_text_and_on_the_seed() -> None:
    found = snapshot(*["Rome"] * 10)
    other = replace(found, documents=tuple(replace(d, text="x") for d in found.documents))
    ranks = [[d.rank for d in LOOK.part_of(s).documents] for s in (found, other)]
    assert ranks[0] == ranks[1]
    drawn = {
        tuple(d.rank for d in FirstLook(3, 2, 0.0, str(seed)).part_of(found).documents)
        for seed in range(40)
    }
    assert len(drawn) > 15
    for looks in range(1, 5):
        part, more = (LOOK.part_of(found, n).documents for n in (looks, looks + 1))
        assert set(part) < set(more)


def test_a_share_of_calm_snapshots_is_read_as_a_whole() -> None:
    look = FirstLook(full_share=0.25)
    found = [snapshot(*["Rome"] * 10, day=day) for day in range(400)]
    assert 70 <= sum(look.part_of(s) is s for s in found) <= 130


def test_long_answers_and_short_lists_are_read_as_a_whole() -> None:
    short = snapshot("Rome", "Rome")
    long_form = replace(snapshot(*["Rome"] * 9), query=Query("q", "Who?", tags=("long_form",)))
    assert all(LOOK.part_of(s) is s for s in (short, long_form))


def test_a_defence_that_reads_no_document_by_itself_cannot_be_adaptive() -> None:
    with pytest.raises(ConfigurationError, match="adaptive"):
        Guard("vanilla", build_defense("vanilla"), scripted_models(), first_look=LOOK)
