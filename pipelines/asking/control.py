"""Sentinel and Strategist at work: what they ask is asked for them, and whatever fails is replaced.

A model that fails, hangs or replies with nonsense gives way to the rules. Where the rules fail too,
there is no plan, and the caller lets everything act that may.
"""

import logging
from collections.abc import Callable, Generator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from threading import Thread
from typing import Final, Protocol, TypeVar

from radarstream.defenses.orchestration.protocol import Seen, Sentinel, Strategist
from radarstream.defenses.protocol import Request
from radarstream.defenses.responses import Asking
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import as_candidate
from radarstream.pipelines.signals.responses import checked, isolating
from radarstream.schemas.arrays import embedding_rows
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.orchestration import Plan, QuestionSignals, RetrievalSignals, RiskProfile
from radarstream.schemas.snapshot import SearchSnapshot

ResultT = TypeVar("ResultT")
Maker = Callable[[], Asking[ResultT]]
HANGING: Final = 8  # calls that may hang at once; then nobody is asked
SEEN_CHARACTERS: Final = 2_000  # of a document, for signals

logger = logging.getLogger(__name__)


class QuestionMeter(Protocol):
    """Tells the signals of a question."""

    def __call__(
        self, question: str, recent: Sequence[tuple[datetime, str]], now: datetime
    ) -> QuestionSignals:
        """`recent` are the user's last questions, oldest first."""
        ...


class RetrievalMeter(Protocol):
    """Tells the signals of what was found."""

    def __call__(
        self, embeddings: FloatArray, similarities: Sequence[float], texts: Sequence[str]
    ) -> RetrievalSignals:
        """(k, d) embeddings, k similarities, k texts, best first."""
        ...


class DeltaMeter(Protocol):
    """Tells by how much one look of the Sentinel moves trust."""

    def __call__(self, profile: RiskProfile | None, *, fired: bool, intervened: bool) -> float:
        """`fired`: the risk switched a defence on; `intervened`: a defence changed something."""
        ...


@dataclass(frozen=True)
class ControlPlane:
    """Who judges and who plans, with the models that they may ask.

    `limit_s` is how many seconds models may take for a batch.
    """

    sentinel: Sentinel
    strategist: Strategist
    models: Models
    of_question: QuestionMeter
    of_retrieval: RetrievalMeter
    delta_of: DeltaMeter
    limit_s: float

    def retrieval_signals(
        self, snapshots: Sequence[SearchSnapshot]
    ) -> list[RetrievalSignals | None]:
        """What is seen of documents, of the first part of each; None where the embedder fails."""

        def measured(part: Sequence[SearchSnapshot]) -> list[RetrievalSignals | None]:
            read = [[as_candidate(d).passage[:SEEN_CHARACTERS] for d in s.documents] for s in part]
            texts = [t for s, own in zip(part, read, strict=True) for t in (s.query.text, *own)]
            rows = checked(embedding_rows, self.models.embedder.embed(texts), len(texts))
            return [
                self._measured(rows[end - len(own) : end], rows[end - len(own) - 1], own)
                for own, end in zip(read, _ends(read), strict=True)
            ]

        try:
            found = isolating(measured, snapshots)
        except Exception as error:  # noqa: BLE001 whatever it is
            logger.warning("the signals of documents are not known: %s", type(error).__name__)
            return [None] * len(snapshots)
        return [None if isinstance(one, ModelError) else one for one in found]

    def _measured(
        self, rows: FloatArray, question: FloatArray, texts: Sequence[str]
    ) -> RetrievalSignals | None:
        similar = [float(value) for value in rows @ question]
        order = sorted(range(len(texts)), key=lambda place: (-similar[place], texts[place]))
        return self.of_retrieval(
            rows[order], [similar[place] for place in order], [texts[place] for place in order]
        )

    def look(
        self, seen: Sequence[Seen], earlier: Sequence[RiskProfile | None]
    ) -> list[RiskProfile | None]:
        """The Sentinel's profiles; None where even the rules fail."""
        found = self._asked(
            [partial(self.sentinel.look, s, e) for s, e in zip(seen, earlier, strict=True)],
            RiskProfile,
        )
        return [
            profile or instead(partial(self._without_sentinel, s, e))
            for profile, s, e in zip(found, seen, earlier, strict=True)
        ]

    def _without_sentinel(self, seen: Seen, earlier: RiskProfile | None) -> RiskProfile:
        return replace(self.sentinel.without_model(seen, earlier), sentinel="fallback")

    def plan(self, given: Sequence[tuple[RiskProfile, Seen, Plan | None]]) -> list[Plan | None]:
        """The Strategist's plans, each from a profile, what was seen and the plan of the first
        stage; None where even the rules fail.
        """
        found = self._asked([partial(self.strategist.plan, *one) for one in given], Plan)
        return [
            plan or instead(partial(self.strategist.without_model, *one))
            for plan, one in zip(found, given, strict=True)
        ]

    def _asked(self, makers: Sequence[Maker[ResultT]], kind: type[ResultT]) -> list[ResultT | None]:
        """Results of that kind within the time; None for each that failed."""
        found: list[object] = [begun(make) for make in makers]
        asking = {n: one for n, one in enumerate(found) if isinstance(one, Generator)}
        if asking:  # of a model, which may hang; nothing else here can
            again = [makers[n] for n in asking]
            work = partial(driven, list(asking.values()), again, self.models)
            replies = within(self.limit_s, work) or [None] * len(asking)
            for place, reply in zip(asking, replies, strict=True):
                found[place] = reply
        return [one if isinstance(one, kind) else None for one in found]


def begun(make: Maker[ResultT]) -> "Asking[ResultT] | ResultT | None":
    """What a generator returns if it asks nothing, else the generator; None where it breaks."""
    try:
        generator = make()
        request = next(generator)
    except StopIteration as stop:
        result: ResultT = stop.value
        return result
    except Exception as error:  # noqa: BLE001 whatever it is
        logger.warning("the control plane broke: %s", type(error).__name__)
        return None
    return resumed(generator, request)


def resumed(generator: Asking[ResultT], request: Request) -> Asking[ResultT]:
    """A generator that has already made its first request."""
    while True:
        response = yield request
        try:
            request = generator.send(response)
        except StopIteration as stop:
            result: ResultT = stop.value
            return result


def driven(
    asking: Sequence[Asking[ResultT]], again: Sequence[Maker[ResultT]], models: Models
) -> list[ResultT | None]:
    """Run generators in lockstep; where one breaks, each anew and alone. None where one fails."""
    try:
        found = drive(asking, models)
    except Exception as error:  # noqa: BLE001 whatever it is
        logger.warning("the control plane broke: %s", type(error).__name__)
        if len(asking) == 1:
            return [None]
        return [driven([make()], [make], models)[0] for make in again]
    return [None if isinstance(one, ModelError) else one for one in found]


def instead(rules: Callable[[], ResultT]) -> ResultT | None:
    """What the rules say; None where they break."""
    try:
        return rules()
    except Exception as error:  # noqa: BLE001 whatever it is
        logger.warning("the rules of the control plane broke: %s", type(error).__name__)
        return None


_hanging: set[Thread] = set()


def within(seconds: float, work: Callable[[], ResultT]) -> ResultT | None:
    """What `work` returns within so many seconds; None if it takes longer.

    It then goes on in a thread of its own. Where too many do, nothing is begun.
    """
    _hanging.difference_update([thread for thread in tuple(_hanging) if not thread.is_alive()])
    if len(_hanging) >= HANGING:
        logger.warning("the control plane hangs")
        return None
    found: list[ResultT] = []
    context = copy_context()
    thread = Thread(
        target=lambda: found.append(context.run(work)), name="control plane", daemon=True
    )
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _hanging.add(thread)
        logger.warning("the control plane takes more than %g s", seconds)
        return None
    return found[0] if found else None


def _ends(parts: Sequence[Sequence[str]]) -> list[int]:
    """Where the documents of each part end among all texts, each part led by its question."""
    ends, total = [], 0
    for part in parts:
        total += len(part) + 1
        ends.append(total)
    return ends
