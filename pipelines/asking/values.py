"""A user's question, what is known of it after each step, and the reply to it."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from radarstream.defenses.orchestration.signals import Seen
from radarstream.pipelines.asking.known import KnownQuery
from radarstream.pipelines.documents import Given
from radarstream.pipelines.round.values import Concluded, Observed
from radarstream.pipelines.searching import Finding
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
    the papers) and is to withstand `withstand` lying sites, None as configured. What is `unread`
    is read before it is asked, and then in `documents`.
    """

    text: str
    user: str
    asked_at: datetime
    origin: Origin
    wanted: int
    documents: tuple[Document, ...] = ()
    defense: str | None = None
    withstand: int | None = None
    unread: tuple[Document | Given, ...] = ()


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
    `event`, and all `documents` at the ranks of the event.
    """

    question: UserQuestion
    text: str
    event: AnswerEvent
    documents: tuple[Document, ...]
    orchestration: Orchestration
