"""Which snapshots of a replay are attacked, how and where.

    schedule = clause { ";" clause }           the first clause that applies wins
    clause   = a condition, as in `conditions`, on a result list

Snapshots stream by, so that the length of a history is not known: the last steps cannot be told,
and attacks that need a second question can attack none.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from radarstream.lab.attacks.conditions import parse_condition
from radarstream.lab.attacks.protocol import BENIGN, Condition, Surface, UnattackableError, aim_of
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attacks.timing import Kind, Moment, moment_after
from radarstream.pipelines.job.replaying.source import Planting
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot


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

    def plantings(self) -> tuple[Planting, ...]:
        """A count of zero for every clause, for `poison` to add to."""
        return tuple(Planting(clause.name) for clause in self.clauses)

    def poison(
        self, snapshots: Iterable[SearchSnapshot], plantings: Sequence[Planting] = ()
    ) -> Iterator[SearchSnapshot]:
        """The snapshots in the same order, the scheduled ones attacked, those that lack what the
        attack needs as they are; `plantings` count both.

        Each question's snapshots must come in chronological order; questions may interleave.
        """
        followed: dict[str, _Followed] = {}
        counted = plantings or self.plantings()
        for snapshot in snapshots:
            question = followed.setdefault(snapshot.query.id, _Followed(len(followed)))
            yield self._next(question, snapshot, counted)

    def _next(
        self, question: "_Followed", snapshot: SearchSnapshot, plantings: Sequence[Planting]
    ) -> SearchSnapshot:
        moment = moment_after(question.moment, snapshot, question=question.number)
        question.moment = moment
        aim = aim_of(snapshot, former=moment.former)
        attacked: SearchSnapshot | None = None
        for clause, planting in zip(self.clauses, plantings, strict=True):
            attack = attack_named(clause.attack)
            count = clause.peak if clause.timing.attacks(moment) else 0
            planting.due += count > 0
            if attacked or not count or not attack.ready(aim):
                continue
            ranks = clause.ranks(moment, count, max(len(snapshot.documents), count), 0)
            try:
                attacked = attack.poison(
                    snapshot, positions=ranks, aim=aim, one_site=clause.one_site
                )
                planting.attacked += 1
            except UnattackableError as error:
                attacked = snapshot
                planting.skip(str(error))
        return attacked or snapshot


@dataclass
class _Followed:
    """One question on its way through time, and its last moment."""

    number: int
    moment: Moment | None = None


def _clause(text: str) -> Condition:
    clause = parse_condition(text)
    if clause.attack == BENIGN or clause.surface is Surface.CORPUS:
        raise ConfigurationError(f"{text!r} attacks no result list: write it like pia@1")
    if clause.timing.kind is Kind.LAST:
        raise ConfigurationError(f"{text!r}: which steps are the last is not known: write late-3")
    return clause
