"""Which steps of a question's history are attacked, and with how many documents at most.

    when = "all" | year { "," year } | "every-" n          all texts, or none
         | "constant" [ "-" peak ] | "late-" start [ "-" peak ] | "early-" end [ "-" peak ]
         | "last-" steps [ "-" peak ] | "drift" [ "-" peak ]

Steps count from 0. `peak` is the most texts at one step; without it, as many as there are places.
`every-n` attacks question q at its step s when s + q is divisible by n, so that questions are hit
in different years.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

import numpy as np

from radarstream.lab.study.scoring import answer_set
from radarstream.schemas.answer_text import normalised
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

_YEARS = re.compile(r"\d{4}(,\d{4})*")
_NUMBERED = re.compile(r"(?P<kind>late|early|last)-(?P<number>\d+)(-(?P<peak>\d+))?")
_PLAIN = re.compile(r"(?P<kind>constant|drift)(-(?P<peak>\d+))?")
_EVERY = re.compile(r"every-([1-9]\d*)")


class Kind(StrEnum):
    """What decides whether a step is attacked."""

    CONSTANT = "constant"
    YEARS = "years"
    EVERY = "every"
    DRIFT = "drift"
    LATE = "late"
    EARLY = "early"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of one question, as a schedule sees it; `question` numbers them from 0. `seen` are
    the right answers of earlier steps, newest first, `drifted` tells whether they changed.
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
    previous: Moment | None, snapshot: SearchSnapshot, *, question: int, steps: int = 0
) -> Moment:
    """The moment of a question's next snapshot; 0 `steps` where their number is not known."""
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
        if match is None:
            raise ConfigurationError(
                f"cannot read {text!r}; write all, years like 2016,2020, every-3, late-3, early-2, "
                "last-2, last-2-4, constant-2 or drift"
            )
        number = int(match["number"]) if match.re is _NUMBERED else 0
        return Timing(Kind(match["kind"]), number, int(match["peak"]) if match["peak"] else None)

    def attacks(self, moment: Moment) -> bool:
        """Whether a step is attacked."""
        t = moment.step
        match self.kind:
            case Kind.YEARS:
                return moment.year in self.years
            case Kind.EVERY:
                return (t + moment.question) % self.number == 0
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
