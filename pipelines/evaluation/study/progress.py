"""How far a study is and how long it may still take."""

from collections import Counter
from dataclasses import dataclass, field

EVIDENCE_WORK = "evidence"  # every other kind of work is the name of a contender


@dataclass
class Progress:
    """Work by kind, in units that take about the same time each.

    `doing` says what is being done, `wanted` how many answers the study is for and `answered`
    how many of them there are, both with those of earlier runs. `seconds_left` learns from each
    kind how long one unit takes, so that a contender of twelve calls does not count like one of a
    single call.
    """

    doing: str = ""
    wanted: int = 0
    answered: int = 0
    expected: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All units of work."""
        return self.expected.total()

    @property
    def done(self) -> int:
        """Units that are finished."""
        return self.finished.total()

    def record(self, kind: str, units: int, seconds: float) -> None:
        """Note that so many units of a kind were finished in that time."""
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        self.finished[kind] += units

    def seconds_left(self) -> float | None:
        """An estimate; None while nothing is known."""
        if not self.done:
            return None
        known = {k: self.seconds[k] / n for k, n in self.finished.items() if n}
        rows = [seconds for kind, seconds in known.items() if kind != EVIDENCE_WORK]
        usual = sum(rows) / len(rows) if rows else 2.0 * known[EVIDENCE_WORK]
        return sum(
            (self.expected[kind] - self.finished[kind]) * known.get(kind, usual)
            for kind in tuple(self.expected)
        )
