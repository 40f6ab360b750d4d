"""How reliable a source is known to be: a Beta posterior over two counts that fade with time.

A source is whatever `schemas.sites.key_of` names, by default a registrable domain. Counts start at
the prior; evidence adds to one of them and halves every `half_life_days` of event time, counted in
whole UTC days. Since every increment fades by its own age, the order in which events arrive does
not matter.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from radarstream.schemas.section import Section

DAY_MS: Final = 86_400_000
# Four honest for one dishonest: a source nobody has judged is believed to be right in 4 of 5.
PRIOR_HONEST: Final = 4.0
PRIOR_DISHONEST: Final = 1.0
NEUTRAL: Final = PRIOR_HONEST / (PRIOR_HONEST + PRIOR_DISHONEST)
# Of what a ledger keeps of an event.
CLAIM_CHARACTERS: Final = 300
NAME_CHARACTERS: Final = 200


class EventKind(StrEnum):
    """What speaks for or against a source."""

    CONFIRMED = "confirmed"  # taught a wrong answer, and a person or several senders said so
    DETECTED = "detected"  # taught a wrong answer, as far as the pipeline can tell
    AGREEMENT = "agreement"  # supported an answer that the next snapshot bore out
    RETRACTED = "retracted"  # was held to have taught a wrong answer, which proved wrong


class SourceVerdict(StrEnum):
    """A person's word, which overrides the counts."""

    PARDONED = "pardoned"  # judged as if nothing were known
    BLOCKED = "blocked"  # its documents are left out


class LedgerRules(Section, use_attribute_docstrings=True):
    """How much an event counts.

    A day is a UTC day of event time. No day adds more than `dishonest_per_day` or `honest_per_day`
    to a source's counts, so neither a flood of complaints nor a popular query decides about it.
    """

    half_life_days: Annotated[float, Field(gt=0.0)] = 90.0
    """days (event time) after which evidence counts half"""
    confirmed: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """weight of a wrong answer that an operator or trusted senders confirmed"""
    detected: Annotated[float, Field(ge=0.0, le=1.0)] = 0.25
    """weight of a wrong answer that only the pipeline found"""
    agreement: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """weight of support for an answer that the next snapshot confirmed"""
    dishonest_per_day: Annotated[float, Field(ge=0.0)] = 2.0
    """most weight that one day (event time) adds against a source"""
    honest_per_day: Annotated[float, Field(ge=0.0)] = 0.2
    """most weight that one day (event time) adds in favour of a source"""

    def weight(self, kind: EventKind) -> float:
        """What one event of this kind adds at most; at most 1."""
        weights = {
            EventKind.CONFIRMED: self.confirmed,
            EventKind.DETECTED: self.detected,
            EventKind.AGREEMENT: self.agreement,
        }
        return weights.get(kind, 0.0)


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """A source taught a wrong answer. `event` names the occasion, such as one attribution.

    However many texts of a source took part in it, an event counts once. `at_ms` is when the
    wrong answer was observed; `text_id` one of the texts, `claim` the wrong answer.
    """

    event: str
    domain: str
    kind: EventKind
    at_ms: int
    query_id: str | None = None
    step: int | None = None
    text_id: str | None = None
    claim: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Evidence for and against a source beyond the prior, as it weighs on the day of `as_of_ms`."""

    honest: float = 0.0
    dishonest: float = 0.0
    as_of_ms: int = 0

    def at(self, as_of_ms: int, half_life_days: float) -> "Counts":
        """The counts at a later time; at an earlier one as they are."""
        if as_of_ms <= self.as_of_ms:
            return self
        faded = fading(self.as_of_ms, as_of_ms, half_life_days)
        return Counts(self.honest * faded, self.dishonest * faded, as_of_ms)

    def plus(
        self, at_ms: int, half_life_days: float, *, honest: float = 0.0, dishonest: float = 0.0
    ) -> "Counts":
        """The counts with evidence of any time added; what is late counts as faded as it is.

        Negative amounts take evidence back; no count falls below 0.
        """
        moved = self.at(at_ms, half_life_days)
        faded = fading(at_ms, moved.as_of_ms, half_life_days)
        return replace(
            moved,
            honest=max(0.0, moved.honest + honest * faded),
            dishonest=max(0.0, moved.dishonest + dishonest * faded),
        )

    @property
    def honesty(self) -> float:
        """Mean of the posterior, in (0, 1); NEUTRAL without evidence."""
        honest, dishonest = self.parameters
        return honest / (honest + dishonest)

    @property
    def parameters(self) -> tuple[float, float]:
        """Both parameters of the Beta posterior, prior included."""
        return PRIOR_HONEST + self.honest, PRIOR_DISHONEST + self.dishonest


@dataclass(frozen=True, slots=True)
class Standing:
    """A source as the ledger has it."""

    domain: str
    counts: Counts = Counts()
    verdict: SourceVerdict | None = None
    note: str | None = None

    @property
    def blocked(self) -> bool:
        """Whether a person left it out."""
        return self.verdict is SourceVerdict.BLOCKED

    def honesty(self, as_of_ms: int, half_life_days: float) -> float:
        """What a defence is told of it at this time, in (0, 1); NEUTRAL if pardoned."""
        if self.verdict is SourceVerdict.PARDONED:
            return NEUTRAL
        return self.counts.at(as_of_ms, half_life_days).honesty


def fading(from_ms: int, to_ms: int, half_life_days: float) -> float:
    """What a unit of evidence is worth `to_ms`, in (0, 1]; 1 within one UTC day and backwards."""
    days = to_ms // DAY_MS - from_ms // DAY_MS
    return float(2.0 ** (-max(days, 0) / half_life_days))
