"""What is compared on what: the questions of a run as each of its conditions leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from radarstream.pipelines.evaluation.attacks.conditions import Attacked, Skipped, attacked
from radarstream.pipelines.evaluation.attacks.protocol import BENIGN, Condition, Surface
from radarstream.pipelines.evaluation.defences.records import Contender
from radarstream.pipelines.evaluation.exposure import Exposure, ExposureScores, score_exposure
from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.snapshot import SearchSnapshot

History = tuple[SearchSnapshot, ...]


@dataclass(frozen=True)
class Plan:
    """What is compared on what. Histories are one per question that is asked, cut to the first
    `k` documents.

    `everything` are all histories of the data set, uncut: where attacks that borrow from other
    questions find them, however few are asked. `searched` are those whose documents make the corpus
    that is searched, uncut.
    """

    histories: tuple[History, ...]
    everything: tuple[History, ...]
    searched: tuple[History, ...]
    conditions: tuple[Condition, ...]
    contenders: tuple[Contender, ...]
    k: int
    seed: int

    def exposed(self, surface: Surface) -> tuple[History, ...]:
        """The histories as an attack on that surface finds them."""
        if surface is Surface.CORPUS:
            return self.searched
        return tuple(truncated(history, self.k) for history in self.everything)


def searched(histories: Sequence[History], limit: int | None) -> tuple[History, ...]:
    """The histories that make the corpus: the first `limit`, which are asked, and the first `limit`
    that bring documents, for questions whose documents are another data set.
    """
    bringing = [h for h in histories if any(snapshot.documents for snapshot in h)]
    wanted = {history[0].query.id for history in (*histories[:limit], *bringing[:limit])}
    return tuple(history for history in histories if history[0].query.id in wanted)


@dataclass
class Prepared:
    """The histories that are asked, by condition; what of attacks on a corpus was retrieved, by
    the condition's name; notes on what cannot be attacked.
    """

    histories: dict[Condition, tuple[History, ...]] = field(default_factory=dict)
    exposures: dict[str, ExposureScores] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def snapshots(self, condition: Condition) -> int:
        """How many answers each contender owes under a condition."""
        return sum(map(len, self.histories[condition]))


def prepared(plan: Plan, embedder: Embedder) -> Prepared:
    """Attack the questions of a plan. Raises ModelError when a corpus cannot be searched."""
    found = Prepared()
    left_out: dict[tuple[Skipped, ...], list[str]] = {}
    asked = {history[0].query.id for history in plan.histories}
    for condition in plan.conditions:
        surface = condition.surface
        outcome = attacked(
            condition, plan.exposed(surface), k=plan.k, seed=plan.seed, embedder=embedder
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
            found.exposures[condition.name] = _exposure(outcome, histories, plan.k)
    found.notes += [_told(conditions, questions) for questions, conditions in left_out.items()]
    return found


def truncated(history: History, k: int) -> History:
    """The snapshots with their first k documents."""
    return tuple(replace(snapshot, documents=snapshot.documents[:k]) for snapshot in history)


def _exposure(outcome: Attacked, histories: Sequence[History], k: int) -> ExposureScores:
    """Of the questions asked; steps that were not poisoned are no hits."""
    asked = {history[0].query.id for history in histories}
    found = [planted.exposure(k) for planted in outcome.planted if planted.query_id in asked]
    spared = sum(map(len, histories)) - len(found)
    return score_exposure([*found, *[Exposure(0, 0, k)] * spared])


def _told(conditions: Sequence[str], skipped: Sequence[Skipped]) -> str:
    """Which conditions leave questions out, how many, and why the first."""
    return (
        f"{', '.join(conditions)}: without {len(skipped)} of the questions, because they cannot be "
        f"attacked; the first ({skipped[0].query_id}): {skipped[0].reason}"
    )
