"""What is compared on what: the questions of a run as each of its conditions leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from radarstream.pipelines.evaluation.attacks.conditions import Attacked, Skipped, attacked
from radarstream.pipelines.evaluation.attacks.places import surface_of
from radarstream.pipelines.evaluation.attacks.protocol import BENIGN, Condition, Surface
from radarstream.pipelines.evaluation.datasets import History
from radarstream.pipelines.evaluation.defences.records import Contender
from radarstream.pipelines.evaluation.exposure import Exposure, ExposureScores, score_exposure
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.study.plugin import Request
from radarstream.pipelines.signals.ports import Embedder


@dataclass(frozen=True, kw_only=True)
class DefencesRequest(Request):
    """Which contenders meet which conditions. `reference` is whom the others are compared with,
    None for RADAR if it takes part.
    """

    conditions: tuple[Condition, ...]
    contenders: tuple[Contender, ...]
    reference: str | None = None
    surface: str = Surface.LIST.value
    definition: Definition = Definition.WHOLE_WORDS

    @cached_property
    def histories(self) -> tuple[History, ...]:
        """The histories of the questions that are asked, each snapshot cut to k documents."""
        return self.truncated(self.dataset.histories[: self.limit])

    @cached_property
    def searched(self) -> tuple[History, ...]:
        """The histories whose documents make the corpus that is searched, uncut: the first `limit`,
        which are asked, and the first `limit` that bring documents, for questions whose documents
        are another data set.
        """
        everything = self.dataset.histories
        bringing = [h for h in everything if any(snapshot.documents for snapshot in h)]
        wanted = {h[0].query.id for h in (*everything[: self.limit], *bringing[: self.limit])}
        return tuple(history for history in everything if history[0].query.id in wanted)

    def exposed(self, surface: Surface) -> tuple[History, ...]:
        """The histories as an attack on that surface finds them. Attacks that borrow from other
        questions find all of them, however few are asked.
        """
        if surface is Surface.CORPUS:
            return self.searched
        return self.truncated(self.dataset.histories)

    def truncated(self, histories: Sequence[History]) -> tuple[History, ...]:
        """Histories of snapshots with their first k documents."""
        return tuple(
            tuple(replace(snapshot, documents=snapshot.documents[: self.k]) for snapshot in history)
            for history in histories
        )


@dataclass
class Prepared:
    """The histories that are asked, by condition; what of attacks on a corpus was retrieved, by
    the condition's name; notes on what cannot be attacked.
    """

    histories: dict[Condition, tuple[History, ...]] = field(default_factory=dict)
    exposures: dict[str, ExposureScores] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def prepared(request: DefencesRequest, embedder: Embedder) -> Prepared:
    """Attack the questions of a request. Raises ModelError when a corpus cannot be searched."""
    found = Prepared()
    left_out: dict[tuple[Skipped, ...], list[str]] = {}
    asked = {history[0].query.id for history in request.histories}
    for condition in request.conditions:
        surface = surface_of(condition)
        outcome = attacked(
            condition, request.exposed(surface), k=request.k, seed=request.seed, embedder=embedder
        )
        histories = tuple(h for h in outcome.histories if h[0].query.id in asked)
        found.histories[condition] = histories
        poisoned = any(s.labels and s.labels.attack for history in histories for s in history)
        if histories and condition.attack != BENIGN and not poisoned:
            found.notes.append(f"{condition.name} attacks no step of any question")
        skipped = tuple(question for question in outcome.skipped if question.query_id in asked)
        if skipped:
            left_out.setdefault(skipped, []).append(condition.name)
        if surface is Surface.CORPUS:
            found.exposures[condition.name] = _exposure(outcome, histories, request.k)
    found.notes += [
        f"{', '.join(conditions)}: without {len(skipped)} of the questions, because they cannot be "
        f"attacked; the first ({skipped[0].query_id}): {skipped[0].reason}"
        for skipped, conditions in left_out.items()
    ]
    return found


def _exposure(outcome: Attacked, histories: Sequence[History], k: int) -> ExposureScores:
    """Of the questions asked; steps that were not poisoned are no hits."""
    asked = {history[0].query.id for history in histories}
    found = [planted.exposure(k) for planted in outcome.planted if planted.query_id in asked]
    spared = sum(map(len, histories)) - len(found)
    return score_exposure([*found, *[Exposure(0, 0, k)] * spared])
