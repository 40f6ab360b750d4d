"""How a static defence meets a history: alone each time, with its last answer, with all documents.

Wrappers round any defence, after the paper "RADAR: Defending RAG Dynamically against Retrieval
Corruption" (section 5.1), which adapts static baselines to a changing web in two ways. At the first
snapshot every one of them is the defence itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from radarstream.defenses.protocol import (
    Asking,
    Complete,
    CompleteAll,
    Defending,
    Defense,
    Relate,
    Request,
    Signal,
    ask,
    needs_at,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.memory import LastAnswer
from radarstream.schemas.snapshot import Document

Answers = tuple[AtomicAnswer, ...]


def adapt(defense: Defense[Any], adaptation: str) -> Defense[Any]:
    """Wrap a defence by the adaptation's name: none, lightweight, cumulative, or cumulative-20 for
    at most so many documents; an empty name leaves it its own memory. Raises ConfigurationError on
    another name.
    """
    name, _, context = adaptation.partition("-")
    match name:
        case "":
            return defense
        case "none":
            return Memoryless(defense)
        case "lightweight":
            return LightweightHistory(defense)
        case "cumulative":
            return CumulativeSnapshot(defense, int(context) if context else None)
    raise ConfigurationError(
        f"no adaptation named {adaptation!r}; there are none, cumulative, lightweight"
    )


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A defence round another one, which shows it each snapshot alone."""

    defense: Defense[Any]

    @property
    def needs(self) -> frozenset[Signal]:
        """Those of the defence."""
        return self.defense.needs

    def needs_for(self, documents: int) -> frozenset[Signal]:
        """Those of the defence for a snapshot of so many documents."""
        return needs_at(self.defense, documents)


@dataclass(frozen=True, slots=True)
class Memoryless(_Wrapper):
    """Judges every snapshot as if it were the first: static RADAR in time (Table 17)."""

    def initial_state(self) -> Any:
        """That of the defence; it never changes."""
        return self.defense.initial_state()

    def defend(self, evidence: Evidence, state: Any) -> Defending[Any]:
        """Judge one snapshot, whatever the state."""
        verdict, _ = yield from self.defense.defend(evidence, self.defense.initial_state())
        return verdict, state


@dataclass(frozen=True, slots=True)
class LightweightHistory(_Wrapper):
    """Keeps the last answer and shows it, as one line after the passages, where the answer is
    made; documents are still answered one by one without it.

    An abstention leaves nothing to show at the next snapshot. Where tokens are chosen from the
    isolated prompts themselves, these carry the line; the test whether each refuses does not.
    """

    def initial_state(self) -> LastAnswer:
        """No answer yet."""
        return LastAnswer(None, self.defense.initial_state())

    def defend(self, evidence: Evidence, state: LastAnswer) -> Defending[LastAnswer]:
        """Judge one snapshot in the light of the last answer."""
        defending = self.defense.defend(evidence, state.inner)
        if state.answer is not None:
            defending = reminded(defending, state.answer)
        verdict, inner = yield from defending
        return verdict, LastAnswer(None if verdict.abstained else verdict.answer, inner)


def reminded(defending: Defending[Any], answer: str) -> Defending[Any]:
    """The same defence, its final requests showing `answer` as the previous one."""
    try:
        request = next(defending)
        while True:
            response = yield with_previous(request, answer)
            request = defending.send(response)
    except StopIteration as stop:
        verdict, state = stop.value
        return verdict, state
    finally:
        defending.close()


def with_previous(request: Request, answer: str) -> Request:
    """`request` with the previous answer, if it is to make the final one."""

    def one(request: Complete) -> Complete:
        return replace(request, previous_answer=answer) if request.final else request

    match request:
        case Complete():
            return one(request)
        case CompleteAll(requests=requests):
            return CompleteAll(tuple(map(one, requests)))
    return request


@dataclass(frozen=True, slots=True)
class Pool:
    """Every document so far, newest snapshot first, in rank order within each.

    `answers` are the documents' atomic answers, None where the defence does not need them. It
    grows with every snapshot: that is what this adaptation costs.
    """

    documents: tuple[Document, ...]
    answers: Answers | None
    inner: Any

    @property
    def bytes(self) -> int:
        """Text, titles, addresses and dates of all documents in UTF-8."""
        return sum(
            len(text.encode("utf-8", "surrogatepass"))
            for d in self.documents
            for text in (d.text, d.title, d.url, d.published_at and d.published_at.isoformat())
            if text
        )


@dataclass(frozen=True, slots=True)
class CumulativeSnapshot:
    """Judges the new documents together with all older ones, which rank behind them.

    Parameters
    ----------
    defense
        The defence of the joint list.
    context
        How many documents it is shown, the new ones first and never cut; None for all. With as
        many as a snapshot brings, nothing older is ever seen.

    The verdict names new documents by their rank; older ones follow, numbered on from the last. All
    answers are kept, since a later list may be so short that the defence reads them.
    """

    defense: Defense[Any]
    context: int | None = None

    @property
    def needs(self) -> frozenset[Signal]:
        """Those of the defence."""
        return self.defense.needs

    def initial_state(self) -> Pool:
        """No documents."""
        return Pool((), (), self.defense.initial_state())

    def defend(self, evidence: Evidence, state: Pool) -> Defending[Pool]:
        """Judge one snapshot and all before it."""
        new = len(evidence.documents)
        room = None if self.context is None else max(0, self.context - new)
        older, seen = state.documents[:room], evidence
        if older:
            seen = yield from self.joined(evidence, older, state.answers)
        verdict, inner = yield from self.defense.defend(seen, state.inner)
        answers = None
        if evidence.answers is not None and state.answers is not None:
            answers = evidence.answers + state.answers
        return verdict, Pool(evidence.documents + state.documents, answers, inner)

    def joined(
        self, evidence: Evidence, older: Sequence[Document], known: Answers | None
    ) -> Asking[Evidence]:
        """New and older documents as one piece of evidence."""
        last = max((document.rank for document in evidence.documents), default=0)
        documents = (
            *evidence.documents,
            *(replace(d, rank=last + place) for place, d in enumerate(older, start=1)),
        )
        if evidence.answers is None or known is None:
            return Evidence(evidence.query, evidence.observed_at, documents)
        answers = evidence.answers + known[: len(older)]
        relations = None
        if Signal.RELATIONS in self.needs:
            relations = yield from related(evidence.query.text, answers)
        return Evidence(evidence.query, evidence.observed_at, documents, answers, relations)


def related(question: str, answers: Answers) -> Asking[Relations]:
    """Relations between all informative answers; equal answers are asked about once."""
    texts = [answer.text for answer in answers if not answer.abstained]
    unique, places = np.unique(np.array(texts, dtype=object), return_inverse=True)
    u = len(unique)
    rows = np.zeros((0, 3))
    if u:
        premises, hypotheses = np.repeat(unique, u), np.tile(unique, u)
        rows = yield from ask(
            Relate(question, tuple(premises.tolist()), tuple(hypotheses.tolist()))
        )
    table = rows.reshape(u, u, 3)[np.ix_(places, places)]
    return Relations(table[:, :, 0].copy(), table[:, :, 2].copy())
