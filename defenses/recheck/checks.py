"""What a check of an answer event finds, and whether the parts of an event fit each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.times import milliseconds
from radarstream.schemas.verdict import KEEPING, UNSEEN, MemoryDecision, Reason

DROPPED = frozenset({Reason.OUTRANKED, Reason.SUSPECT, Reason.NOT_DRAWN})  # by a reranker
TOLERANCE: Final = 1e-6  # of what is computed again


class Outcome(StrEnum):
    """What a check found."""

    RIGHT = "right"
    WRONG = "wrong"
    ABSENT = "absent"  # the event does not hold what the check needs


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it is about, what it found, and the details."""

    about: str
    outcome: Outcome
    detail: str = ""


def check_of(about: str, flaws: Iterator[str], right: str) -> Check:
    """A check that tells the first flaw, or what was found where there is none.

    Computing from values that nobody computed may fail; that is a flaw, too.
    """
    try:
        flaw = next(flaws, None)
    except (ValueError, ArithmeticError, LookupError) as error:
        flaw = str(error)
    return Check(about, Outcome.RIGHT, right) if flaw is None else Check(about, Outcome.WRONG, flaw)


def record_check(event: AnswerEvent) -> Check:
    """Whether ids, documents, sources and what is said of the previous answer fit each other."""
    return check_of("record", flaws(event), f"{len(event.verdict.documents)} documents")


def flaws(event: AnswerEvent) -> Iterator[str]:
    """What does not fit, each in a few words."""
    verdict = event.verdict
    if event.snapshot_id != f"{event.query_id}@{milliseconds(event.observed_at)}":
        yield "the snapshot's id is not of this query and time"
    if (event.answer, event.abstention) != (verdict.answer, verdict.abstention):
        yield "the answer is not the verdict's"
    if event.abstention is not None and event.answer:
        yield "an abstention has an answer"
    ranks = [document.rank for document in verdict.documents]
    if ranks != sorted(set(ranks)) or ranks != [source.rank for source in event.sources]:
        yield "documents and sources are not the same"
    for document in verdict.documents:
        if document.kept != (document.reason in KEEPING):
            yield f"document {document.rank} is {document.reason} and kept is {document.kept}"
        if document.reason in UNSEEN and document.atomic_answer is not None:
            yield f"document {document.rank} is {document.reason} and answers"
    yield from changed(event)
    yield from reranked(event)


def changed(event: AnswerEvent) -> Iterator[str]:
    """What cannot be of the previous answer."""
    memory = event.verdict.memory
    if memory.previous_answer is None and memory.decision is not MemoryDecision.NONE:
        yield f"no previous answer is {memory.decision}"
    if event.abstention is not None or memory.previous_answer is None:
        if event.changed is not None:
            yield "there are no two answers to compare"
    elif event.changed is None or (event.changed and memory.previous_answer == event.answer):
        yield f"the previous answer is {memory.previous_answer!r}, changed is {event.changed}"


def reranked(event: AnswerEvent) -> Iterator[str]:
    """What cannot be of a reranking."""
    candidates = event.reranking.candidates if event.reranking is not None else ()
    why = {c.rank: None if c.kept else c.reason or Reason.OUTRANKED for c in candidates}
    found = {document.rank: document.reason for document in event.verdict.documents}
    dropped = {rank: reason for rank, reason in found.items() if reason in DROPPED}
    if dropped != {rank: reason for rank, reason in why.items() if reason is not None}:
        yield "what the reranker dropped is not what the verdict says"
    if not why.keys() <= found.keys() or sorted(why) != sorted(c.found_rank for c in candidates):
        yield "the ranks of candidates are not those that they were found at"
