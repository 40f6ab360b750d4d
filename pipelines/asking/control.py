"""Sentinel and Strategist at work. A model that fails, hangs or replies with nonsense gives way to
the rules; where these fail too there is no plan, and everything acts that may.
"""

import logging
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Final, TypeVar

import numpy as np

from radarstream.defenses.orchestration.sentinel import Sentinel
from radarstream.defenses.orchestration.signals import Seen, Usual, retrieval_signals
from radarstream.defenses.orchestration.strategist import Strategist
from radarstream.defenses.protocol import Complete
from radarstream.pipelines.signals.fulfilment import fulfil
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import as_candidate
from radarstream.pipelines.signals.responses import checked, isolating
from radarstream.schemas.arrays import embedding_rows
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, FloatArray
from radarstream.schemas.orchestration import Plan, RetrievalSignals, RiskProfile
from radarstream.schemas.snapshot import SearchSnapshot

ResultT = TypeVar("ResultT")
HANGING: Final = 8  # calls that may hang at once; then nobody is asked
SEEN_CHARACTERS: Final = 2_000  # of a document, for signals

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ControlPlane:
    """Who judges and who plans, with their models. `usual` is what is usual of documents, None if
    not measured; models may take `limit_s` seconds for a batch.
    """

    sentinel: Sentinel
    strategist: Strategist
    models: Models
    usual: Usual | None
    limit_s: float

    def retrieval_signals(
        self, snapshots: Sequence[SearchSnapshot]
    ) -> list[RetrievalSignals | None]:
        """What is seen of documents, of the first part of each; None where the embedder fails."""
        found = attempt(lambda: isolating(self._measured, snapshots))
        if found is None:
            return [None] * len(snapshots)
        return [None if isinstance(one, ModelError) else one for one in found]

    def _measured(self, snapshots: Sequence[SearchSnapshot]) -> list[RetrievalSignals]:
        read = [[as_candidate(d).passage[:SEEN_CHARACTERS] for d in s.documents] for s in snapshots]
        texts = [t for s, own in zip(snapshots, read, strict=True) for t in (s.query.text, *own)]
        rows = checked(embedding_rows, self.models.embedder.embed(texts), len(texts))
        parts = np.split(rows, np.cumsum([len(own) + 1 for own in read])[:-1])
        return [self._signals(p[0], p[1:], own) for p, own in zip(parts, read, strict=True)]

    def _signals(
        self, question: FloatArray, rows: FloatArray, texts: Sequence[str]
    ) -> RetrievalSignals:
        similar = rows @ question
        order = sorted(range(len(texts)), key=lambda place: (-similar[place], texts[place]))
        ordered = [texts[place] for place in order]
        return retrieval_signals(rows[order], similar[order].tolist(), ordered, self.usual)

    def look(
        self, seen: Sequence[Seen], earlier: Sequence[RiskProfile | None]
    ) -> list[RiskProfile | None]:
        """The Sentinel's profiles; None where even the rules fail."""
        given = list(zip(seen, earlier, strict=True))
        return self._decided(self.sentinel.asks, self.sentinel.profile, given)

    def plan(self, given: Sequence[tuple[RiskProfile, Seen, Plan | None]]) -> list[Plan | None]:
        """A plan for each profile, what was seen and its first plan; None where even the rules
        fail.
        """
        return self._decided(self.strategist.asks, self.strategist.plan, given)

    def _decided(
        self,
        asks: Callable[..., Complete | None],
        decide: Callable[..., ResultT],
        given: Sequence[tuple[object, ...]],
    ) -> list[ResultT | None]:
        """Results within the time, without a reply where the model's leads to none."""
        asked = [attempt(partial(asks, *one)) for one in given]
        wanted = {n: request for n, request in enumerate(asked) if request is not None}
        work = partial(replies_to, list(wanted.values()), self.models)
        replies = (within(self.limit_s, work) if wanted else None) or [None] * len(wanted)
        by_place = dict(zip(wanted, replies, strict=True))
        return [decided(partial(decide, *one), by_place.get(n)) for n, one in enumerate(given)]


def decided(decide: Callable[..., ResultT], reply: str | None) -> ResultT | None:
    """What follows from a reply, else without one; None where the rules break, too."""
    by_model = None if reply is None else attempt(partial(decide, reply))
    return by_model or attempt(decide)


def replies_to(requests: Sequence[Complete], models: Models) -> list[str | None]:
    """What a model replies to each; None where it fails."""
    found = attempt(lambda: fulfil(dict(enumerate(requests)), models))
    if found is None and len(requests) > 1:
        return [replies_to([one], models)[0] for one in requests]
    return [
        one.text if isinstance(one, AtomicAnswer) and not one.abstained else None
        for one in ((found or {}).get(n) for n in range(len(requests)))
    ]


def attempt(work: Callable[[], ResultT]) -> ResultT | None:
    """What `work` returns; None where it breaks."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 whatever it is
        logger.warning("the control plane broke: %s", type(error).__name__)
        return None


_hanging: set[Thread] = set()


def within(seconds: float, work: Callable[[], ResultT]) -> ResultT | None:
    """What `work` returns within so many seconds, else None: it then goes on in a thread of its
    own. Where too many do, nothing is begun.
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
