"""Results of checks of an answer event, and the check that its parts fit each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.times import milliseconds
from radarstream.schemas.verdict import KEEPING, UNSEEN, MemoryDecision, Reason

DROPPED = frozenset({Reason.OUTRANKED, Reason.SUSPECT, Reason.NOT_DRAWN})  # by a reranker
TOLERANCE: Final = 1e-6  # between recorded and computed values


class Outcome(StrEnum):
    """The outcome of a check."""

    RIGHT = "right"
    WRONG = "wrong"
    ABSENT = "absent"  # the event lacks the values that the check needs


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its subject, its outcome, and details."""

    about: str
    outcome: Outcome
    detail: str = ""


def check_of(about: str, flaws: Iterator[str], right: str) -> Check:
    """Make a check with the first of its flaws, or with the detail `right` if there is none.

    An error while computing from invalid values counts as a flaw.
    """
    try:
        flaw = next(flaws, None)
    except (ValueError, ArithmeticError, LookupError) as error:
        flaw = str(error)
    return Check(about, Outcome.RIGHT, right) if flaw is None else Check(about, Outcome.WRONG, flaw)


def record_check(event: AnswerEvent) -> Check:
    """Check that ids, documents, sources and the previous answer fit each other."""
    return check_of("record", flaws(event), f"{len(event.verdict.documents)} documents")


def flaws(event: AnswerEvent) -> Iterator[str]:
    """Yield what does not fit, each in a few words."""
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
    """Yield impossible values about the previous answer."""
    memory = event.verdict.memory
    if memory.previous_answer is None and memory.decision is not MemoryDecision.NONE:
        yield f"no previous answer is {memory.decision}"
    if event.abstention is not None or memory.previous_answer is None:
        if event.changed is not None:
            yield "there are no two answers to compare"
    elif event.changed is None or (event.changed and memory.previous_answer == event.answer):
        yield f"the previous answer is {memory.previous_answer!r}, changed is {event.changed}"


def reranked(event: AnswerEvent) -> Iterator[str]:
    """Yield impossible values of a reranking."""
    candidates = event.reranking.candidates if event.reranking is not None else ()
    why = {c.rank: None if c.kept else c.reason or Reason.OUTRANKED for c in candidates}
    found = {document.rank: document.reason for document in event.verdict.documents}
    dropped = {rank: reason for rank, reason in found.items() if reason in DROPPED}
    if dropped != {rank: reason for rank, reason in why.items() if reason is not None}:
        yield "reranking and verdict differ in the dropped documents"
    if not why.keys() <= found.keys() or sorted(why) != sorted(c.found_rank for c in candidates):
        yield "the ranks of candidates are not those of the search results"
