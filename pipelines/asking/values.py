"""A user's question, what is known of it after each step, and the reply to it. Steps take many
questions at once: each leads to a new value, and one that fails fails alone.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import repeat
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy.exc import DBAPIError

from radarstream.connectors.models.batching import places
from radarstream.connectors.state_table.database.engine import database_code
from radarstream.defenses.orchestration.signals import Seen
from radarstream.pipelines.asking.known import KnownQuery
from radarstream.pipelines.documents import Offered, Unread
from radarstream.pipelines.round.values import Concluded, Observed
from radarstream.pipelines.searching import Finding
from radarstream.schemas.claims import CheckedClaim, Claim
from radarstream.schemas.errors import DatabaseUnavailableError, RadarstreamError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.orchestration import (
    Audited,
    Hook,
    HookRecord,
    Module,
    Orchestration,
    Plan,
    RiskProfile,
)
from radarstream.schemas.snapshot import Document, SearchSnapshot

# Where each module acts ("Adaptive Defense Orchestration for RAG", section 4): A, before the
# retrieval, noise on what is found; B, after it, TrustRAG's filter, in studies alone; C, before the
# generation, the attention filter and the guardrail; D, after it, the audit.
HOOKS: Final = {
    Module.PRIVACY: Hook.PRE_RETRIEVAL,
    Module.TRUSTRAG: Hook.POST_RETRIEVAL,
    Module.ATTENTION: Hook.PRE_GENERATION,
    Module.GUARDRAIL: Hook.PRE_GENERATION,
    Module.AUDIT: Hook.POST_GENERATION,
}
NOT_ASKED: Final = "the plan does not switch it on"


class Origin(StrEnum):
    """Where the documents of a question come from."""

    DOCUMENTS = "documents"  # the user's own, given with the question
    CORPUS = "corpus"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """One question of one user at one time. `user` names an account, "" for none; `defense` is a
    name of `DEFENSES`, None as configured. The answer rests on `wanted` documents at first (k in
    the papers) and is to withstand `withstand` lying sites, None as configured. What is
    `to_read` is read before it is asked, and then in `documents`, or `unread`. A text that
    `is_claim` is checked: the question is then that of the `claim` that it is read as. `trace` is
    the traceparent of what asked, "" for nothing.
    """

    text: str
    user: str
    asked_at: datetime
    origin: Origin
    wanted: int
    documents: tuple[Document, ...] = ()
    defense: str | None = None
    withstand: int | None = None
    to_read: tuple[Offered, ...] = ()
    unread: tuple[Unread, ...] = ()
    is_claim: bool = False
    claim: Claim | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A question as a query, with its user's `trust` and what a Sentinel may see; both None where
    the account could not be read, `seen` also where no risk decides.
    """

    question: UserQuestion
    known: KnownQuery
    trust: float | None
    seen: Seen | None


@dataclass(frozen=True, slots=True)
class Planned:
    """A question with what was decided before the retrieval; `risk` is None where nobody judged."""

    asked: Recognised
    risk: RiskProfile | None
    plan: Plan


@dataclass(frozen=True, slots=True)
class Found:
    """A question with its documents; `plan`, `seen` and `risk` are the latest. `finding` gives more
    documents, of which the answer rests on at most `wanted`. `hooks` are what modules did;
    `epsilon` is the retrieval's cost and what is left, None if free.
    """

    planned: Planned
    finding: Finding
    wanted: int
    observed: Observed
    seen: Seen | None
    risk: RiskProfile | None
    plan: Plan
    epsilon: tuple[float, float] | None
    hooks: tuple[HookRecord, ...] = ()

    @property
    def question(self) -> UserQuestion:
        """What was asked."""
        return self.planned.asked.question

    @property
    def snapshot(self) -> SearchSnapshot:
        """The documents that are left."""
        return self.observed.snapshot

    @property
    def best(self) -> Observed:
        """With as many documents as are wanted: the others are candidates in reserve."""
        wanted = self.snapshot.documents[: self.wanted]
        return replace(self.observed, snapshot=replace(self.snapshot, documents=wanted))

    def noting(
        self, module: Module, parameters: dict[str, Any], before: int, why: str, *, acted: bool
    ) -> "Found":
        """With the record of a module that was given `before` documents."""
        left = len(self.snapshot.documents)
        record = HookRecord(HOOKS[module], module, acted, parameters, before, left, why)
        return replace(self, hooks=(*self.hooks, record))


@dataclass(frozen=True, slots=True)
class Drafted:
    """A question with what the round concluded, before the audit."""

    found: Found
    concluded: Concluded[Any]

    @property
    def event(self) -> AnswerEvent:
        """The event of the answer."""
        return self.concluded.event

    @property
    def documents(self) -> tuple[Document, ...]:
        """All documents that were found, at the ranks of the event."""
        chosen = self.concluded.chosen
        everything = [*chosen.usable.documents, *(document for document, _ in chosen.left_out)]
        return tuple(sorted(everything, key=lambda document: document.rank))


@dataclass(frozen=True, slots=True)
class Replied:
    """A question with its answer and what the audit made of it."""

    draft: Drafted
    audited: Audited


@dataclass(frozen=True, slots=True)
class Reply:
    """What a user receives: `text` after the audit, which may have masked or refused the answer of
    `event`, and all `documents` at the ranks of the event; `checked` is what became of a claim.
    """

    question: UserQuestion
    text: str
    event: AnswerEvent
    documents: tuple[Document, ...]
    orchestration: Orchestration
    checked: CheckedClaim | None = None


InT = TypeVar("InT")
OutT = TypeVar("OutT")
Tried: TypeAlias = OutT | RadarstreamError  # what comes of a step, or why it failed
KeyT = TypeVar("KeyT", bound=Hashable)


def together(
    items: Sequence[Tried[InT]],
    step: Callable[[list[InT]], Sequence[Tried[OutT]]],
) -> list[Tried[OutT]]:
    """Take a step with all that have not failed at once; where it raises, they fail."""
    alive = [item for item in items if not isinstance(item, RadarstreamError)]
    try:
        taken = iter(step(alive) if alive else ())
    except (RadarstreamError, DBAPIError) as error:
        taken = repeat(as_told(error))
    return [item if isinstance(item, RadarstreamError) else next(taken) for item in items]


def each(items: Sequence[Tried[InT]], step: Callable[[InT], OutT]) -> list[Tried[OutT]]:
    """Take a step with each that has not failed."""

    def one(item: InT) -> OutT | RadarstreamError:
        try:
            return step(item)
        except (RadarstreamError, DBAPIError) as error:
            return as_told(error)

    return together(items, lambda alive: [one(item) for item in alive])


def in_groups(
    items: Sequence[InT],
    key_of: Callable[[InT], KeyT],
    step: Callable[[KeyT, list[InT]], Sequence[Tried[OutT]]],
) -> list[Tried[OutT]]:
    """Take a step with those that share a key at once; a group that fails fails alone."""
    taken: dict[int, OutT | RadarstreamError] = {}
    for key, group in places(map(key_of, items)).items():
        members = [items[place] for place in group]
        taken |= zip(group, together(members, partial(step, key)), strict=True)
    return [taken[place] for place in range(len(items))]


def as_told(error: RadarstreamError | DBAPIError) -> RadarstreamError:
    """What a user is told; a database's own words may hold data."""
    if isinstance(error, RadarstreamError):
        return error
    return DatabaseUnavailableError(f"the state database failed: {database_code(error) or 'gone'}")
