"""Which snapshots are attacked, how and where.

    schedule = clause { ";" clause }           the first clause that applies wins
    clause   = attack "@" ranks [ ":" when ]
    ranks    = rank { "+" rank }               1-based retrieval ranks, attacked together
    when     = "all" | year { "," year } | "every-" n

Without `when` every snapshot is attacked. `every-n` attacks one in n snapshots of a question and
starts one snapshot later for each further question, so that different questions are hit in
different years: question q (in order of first appearance, from 0) at its step s when s + q is
divisible by n.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.evaluation.attacks.registry import ATTACKS
from schemas.errors import ConfigurationError
from schemas.snapshot import SearchSnapshot

_CLAUSE = re.compile(r"(?P<attack>[a-z_-]+)@(?P<ranks>\d+(\+\d+)*)(:(?P<when>[a-z0-9,-]+))?")
_YEARS = re.compile(r"\d{4}(,\d{4})*")
_EVERY = re.compile(r"every-([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Clause:
    """One attack at some ranks. `years` None means any year; `every` 1 means every step."""

    attack: str
    positions: tuple[int, ...]
    years: frozenset[int] | None = None
    every: int = 1

    def applies(self, question: int, step: int, year: int) -> bool:
        """Whether question number `question` is attacked at its step `step` (both from 0)."""
        return (self.years is None or year in self.years) and (step + question) % self.every == 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Clauses in order of precedence; none means no attack."""

    clauses: tuple[Clause, ...] = ()

    @staticmethod
    def parse(text: str) -> "Schedule":
        """Read a schedule; blank text is the empty one. Raises ConfigurationError.

        >>> Schedule.parse("pia@1:2016,2020; poison@9+10:every-3").clauses[1].positions
        (9, 10)
        """
        parts = [part.strip() for part in text.split(";")]
        return Schedule(tuple(_clause(part) for part in parts if part))

    def poison(
        self, snapshots: Iterable[SearchSnapshot], *, k: int | None = None
    ) -> Iterator[SearchSnapshot]:
        """The snapshots in the same order, the scheduled ones attacked.

        Each question's snapshots must come in chronological order; questions may interleave.
        Raises ConfigurationError like `Attack.poison`.
        """
        orders: dict[str, int] = {}
        steps: Counter[str] = Counter()
        for snapshot in snapshots:
            key = snapshot.query.id
            order = orders.setdefault(key, len(orders))
            clause = self._clause_for(order, steps[key], snapshot.observed_at.year)
            steps[key] += 1
            if clause is None:
                yield snapshot
            else:
                attack = ATTACKS[clause.attack]
                yield attack.poison(snapshot, positions=clause.positions, k=k)

    def _clause_for(self, question: int, step: int, year: int) -> Clause | None:
        return next((c for c in self.clauses if c.applies(question, step, year)), None)


def _clause(text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"cannot read attack {text!r}; write it like pia@1, poison@1+2:2016,2020 or "
            "pia@10:every-3"
        )
    if match["attack"] not in ATTACKS:
        raise ConfigurationError(
            f"unknown attack {match['attack']!r}; there are {', '.join(sorted(ATTACKS))}"
        )
    positions = tuple(int(rank) for rank in match["ranks"].split("+"))
    if 0 in positions or len(set(positions)) < len(positions):
        raise ConfigurationError(f"ranks in {text!r} must be distinct and start at 1")
    years, every = _when(match["when"] or "all")
    return Clause(match["attack"], positions, years, every)


def _when(text: str) -> tuple[frozenset[int] | None, int]:
    """Years (None = any) and period of a clause."""
    if text == "all":
        return None, 1
    if _YEARS.fullmatch(text):
        return frozenset(int(year) for year in text.split(",")), 1
    if period := _EVERY.fullmatch(text):
        return None, int(period[1])
    raise ConfigurationError(f"cannot read {text!r}; write all, years like 2016,2020, or every-3")
