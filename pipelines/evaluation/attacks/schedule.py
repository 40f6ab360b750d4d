"""Which snapshots of a replay are attacked, how and where.

    schedule = clause { ";" clause }           the first clause that applies wins
    clause   = a condition, as in `conditions`, on a result list

Snapshots stream by, so that the length of a history is not known: a ramp takes
`timing.STEPS` steps, and attacks that need a second question are refused.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipelines.evaluation.attacks.conditions import parse_condition
from pipelines.evaluation.attacks.places import aim_at, check_depth, peak_of, ranks_of, surface_of
from pipelines.evaluation.attacks.protocol import Surface
from pipelines.evaluation.attacks.registry import attack_named
from pipelines.evaluation.attacks.timing import Moment, Timing, moment_after
from pipelines.evaluation.experiment.records import BENIGN, Condition
from schemas.errors import ConfigurationError
from schemas.snapshot import SearchSnapshot


@dataclass(frozen=True, slots=True)
class Schedule:
    """Clauses in order of precedence; none means no attack."""

    clauses: tuple[Condition, ...] = ()

    @staticmethod
    def parse(text: str) -> "Schedule":
        """Read a schedule; blank text is the empty one. Raises ConfigurationError.

        >>> Schedule.parse("pia@1:2016,2020; poison@9+10:every-3").clauses[1].positions
        (9, 10)
        """
        parts = [part.strip() for part in text.split(";")]
        return Schedule(tuple(_clause(part) for part in parts if part))

    def poison(
        self, snapshots: Iterable[SearchSnapshot], *, k: int | None = None, seed: int = 0
    ) -> Iterator[SearchSnapshot]:
        """The snapshots in the same order, the scheduled ones attacked.

        Each question's snapshots must come in chronological order; questions may interleave. `k`
        defaults to each snapshot's number of documents. Raises ConfigurationError like
        `Attack.poison`.
        """
        if k is not None:
            for clause in self.clauses:
                check_depth(clause, k)
        followed: dict[str, _Followed] = {}
        for snapshot in snapshots:
            question = followed.setdefault(snapshot.query.id, _Followed(len(followed)))
            yield self._next(question, snapshot, k, seed)

    def _next(
        self, question: "_Followed", snapshot: SearchSnapshot, k: int | None, seed: int
    ) -> SearchSnapshot:
        moment = moment_after(question.moment, snapshot, question=question.number)
        question.moment = moment
        aim = aim_at(snapshot, moment)
        for clause in self.clauses:
            timing, peak = Timing.parse(clause.schedule), peak_of(clause)
            previous = question.counts.get(clause, 0)
            question.counts[clause] = timing.count(moment, peak=peak, previous=previous, seed=seed)
        for clause in self.clauses:
            attack, count = attack_named(clause.attack), question.counts[clause]
            if count and attack.ready(aim):
                depth = k or max(len(snapshot.documents), count)
                ranks = ranks_of(clause, moment, count, depth, seed)
                return attack.poison(snapshot, positions=ranks, k=k, aim=aim)
        return snapshot


@dataclass
class _Followed:
    """One question on its way through time: its last moment, and k_t of each clause there."""

    number: int
    moment: Moment | None = None
    counts: dict[Condition, int] = field(default_factory=dict)


def _clause(text: str) -> Condition:
    clause = parse_condition(text)
    if clause.attack == BENIGN or surface_of(clause) is Surface.CORPUS:
        raise ConfigurationError(f"{text!r} attacks no result list: write it like pia@1")
    return clause
