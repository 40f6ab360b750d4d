"""How many documents are poisoned at each step of a question's history (k_t).

    when = "all" | year { "," year } | "every-" n          all texts, or none
         | "constant" [ "-" peak ] | "ramp" [ "-" peak ] | "walk" [ "-" peak ]
         | "pulse-" period [ "-" peak ] | "late-" start [ "-" peak ] | "early-" end [ "-" peak ]
         | "last-" steps [ "-" peak ] | "drift" [ "-" peak ]

Steps count from 0. `peak` is the most texts at one step; without it, as many as there are places.

- `every-n` attacks one step in n and starts one step later for each further question: question q
  at its step s when s + q is divisible by n, so that questions are hit in different years.
- `ramp`: floor(peak * t / (T - 1)) over a history of T steps, all of them at the last.
- `pulse-p`: peak when p divides t. `late-s`: peak from step s on. `early-e`: peak before step e.
- `last-n`: peak at the last n steps of the history.
- `walk`: one more, one less or as many as before, by lot, between 0 and peak, from 0.
- `drift`: peak from the first step whose right answer is another than at the start.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

import numpy as np

from radarstream.schemas.answer_text import answer_set, normalised
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

STEPS = 10  # of a ramp where the length of the history is not known beforehand
_YEARS = re.compile(r"\d{4}(,\d{4})*")
_NUMBERED = re.compile(r"(?P<kind>pulse|late|early|last)-(?P<number>\d+)(-(?P<peak>\d+))?")
_PLAIN = re.compile(r"(?P<kind>constant|ramp|walk|drift)(-(?P<peak>\d+))?")
_EVERY = re.compile(r"every-([1-9]\d*)")


class Kind(StrEnum):
    """The shape of k_t over time."""

    CONSTANT = "constant"
    YEARS = "years"
    EVERY = "every"
    RAMP = "ramp"
    WALK = "walk"
    DRIFT = "drift"
    PULSE = "pulse"
    LATE = "late"
    EARLY = "early"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of one question, as a schedule sees it; `question` numbers them from 0.

    `seen` are the right answers of earlier steps, newest first, `drifted` tells whether they
    changed.
    """

    query_id: str
    question: int
    step: int
    steps: int
    year: int
    answers: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    drifted: bool = False

    @property
    def former(self) -> tuple[str, ...]:
        """Answers that were right at an earlier step and are not now, newest first."""
        now = answer_set(self.answers)
        return tuple(answer for answer in self.seen if normalised(answer) not in now)


def moment_after(
    previous: Moment | None, snapshot: SearchSnapshot, *, question: int, steps: int = STEPS
) -> Moment:
    """The moment of a question's next snapshot."""
    answers = snapshot.labels.answers if snapshot.labels else ()
    year = snapshot.observed_at.year
    if previous is None:
        return Moment(snapshot.query.id, question, 0, steps, year, answers)
    return Moment(
        query_id=snapshot.query.id,
        question=question,
        step=previous.step + 1,
        steps=steps,
        year=year,
        answers=answers,
        seen=tuple(dict.fromkeys((*previous.answers, *previous.seen))),
        drifted=previous.drifted or answer_set(answers) != answer_set(previous.answers),
    )


def moments(history: Sequence[SearchSnapshot], *, question: int) -> Iterator[Moment]:
    """The moments of a whole history, in order."""
    moment = None
    for snapshot in history:
        moment = moment_after(moment, snapshot, question=question, steps=len(history))
        yield moment


@dataclass(frozen=True, slots=True)
class Timing:
    """A parsed schedule. `number` is the period, start or end; `peak` None: all places."""

    kind: Kind = Kind.CONSTANT
    number: int = 0
    peak: int | None = None
    years: frozenset[int] = frozenset()

    @staticmethod
    def parse(text: str) -> "Timing":
        """Read a schedule; blank and `all` attack every step. Raises ConfigurationError.

        >>> Timing.parse("late-3-4")
        Timing(kind=<Kind.LATE: 'late'>, number=3, peak=4, years=frozenset())
        """
        if text in ("", "all"):
            return Timing()
        if _YEARS.fullmatch(text):
            return Timing(Kind.YEARS, years=frozenset(int(year) for year in text.split(",")))
        if period := _EVERY.fullmatch(text):
            return Timing(Kind.EVERY, int(period[1]))
        match = _NUMBERED.fullmatch(text) or _PLAIN.fullmatch(text)
        if match is None or (match["kind"] == Kind.PULSE and int(match["number"]) == 0):
            raise ConfigurationError(
                f"cannot read {text!r}; write all, years like 2016,2020, every-3, late-3, early-2, "
                "last-2, pulse-2, ramp, ramp-4, walk-4, constant-2 or drift"
            )
        number = int(match["number"]) if match.re is _NUMBERED else 0
        return Timing(Kind(match["kind"]), number, int(match["peak"]) if match["peak"] else None)

    @property
    def in_words(self) -> str:
        """Which steps are attacked.

        >>> Timing.parse("late-1").in_words, Timing.parse("last-3-5").in_words
        ('after the first step', 'at the last 3 steps')
        """
        steps = "step" if self.number == 1 else f"{self.number} steps"
        match self.kind:
            case Kind.YEARS:
                return f"in {', '.join(map(str, sorted(self.years)))}"
            case Kind.EVERY:
                return f"at one step in {self.number}"
            case Kind.PULSE:
                return f"at one step in {self.number}, from the first on"
            case Kind.LATE if self.number:
                return f"after the first {steps}"
            case Kind.EARLY:
                return f"at the first {steps}"
            case Kind.LAST:
                return f"at the last {steps}"
            case Kind.RAMP:
                return "more and more to the last step"
            case Kind.WALK:
                return "more or fewer at each step, by lot"
            case Kind.DRIFT:
                return "from the first change of the right answer on"
        return "at every step"

    def count(self, moment: Moment, *, peak: int, previous: int = 0, seed: int = 0) -> int:
        """k_t in [0, peak]; `previous` is k_{t-1}, 0 at the start."""
        if self.kind is Kind.RAMP:
            last = moment.steps - 1
            return peak if moment.step >= last else peak * moment.step // last
        if self.kind is Kind.WALK:
            change = int(generator(seed, moment, "walk").integers(-1, 2))
            return min(max(previous + change, 0), peak)
        return peak if self._active(moment) else 0

    def _active(self, moment: Moment) -> bool:
        t = moment.step
        match self.kind:
            case Kind.YEARS:
                return moment.year in self.years
            case Kind.EVERY:
                return (t + moment.question) % self.number == 0
            case Kind.PULSE:
                return t % self.number == 0
            case Kind.LATE:
                return t >= self.number
            case Kind.EARLY:
                return t < self.number
            case Kind.LAST:
                return t >= moment.steps - self.number
            case Kind.DRIFT:
                return moment.drifted
        return True


def generator(seed: int, moment: Moment, purpose: str) -> np.random.Generator:
    """Randomness of one step that depends on nothing but the seed, question, step and purpose."""
    key = f"{seed} {moment.step} {purpose} {moment.query_id}".encode("utf-8", "surrogatepass")
    return np.random.default_rng(int.from_bytes(blake2b(key, digest_size=16).digest()))
