"""The memory of a query between two snapshots, about a hundred bytes."""

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import Field

from radarstream.schemas.answer_text import contains
from radarstream.schemas.snapshot import ABSENT_UNSET, Strict
from radarstream.schemas.times import Moment

StateT = TypeVar("StateT")
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


@dataclass(frozen=True, slots=True)
class Belief(Strict):
    """RADAR's memory node between two steps.

    `answer` is the last defended answer; `support` (pi_S) and `conflict` (pi_F), in [0, 1], are the
    mean entailment and contradiction between it and the atomic answers of its step (RADAR, Eq. 11
    and 12); `confirmed_at` is the event time of that step, None if the memory does not fade.
    """

    answer: str
    support: Probability
    conflict: Probability
    confirmed_at: Annotated[Moment | None, ABSENT_UNSET] = None


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """State of a defence with a lightweight history: its last answer, and its own state."""

    answer: str | None
    inner: Belief | None = None


@dataclass(frozen=True, slots=True)
class StandingAnswer(Strict):
    """The last answer that a snapshot confirmed.

    `confirmed_at` is the event time of the last snapshot that confirmed it, None if unknown.
    """

    answer: str
    confirmed_at: Moment | None


@dataclass(frozen=True, slots=True)
class Memory(Generic[StateT]):
    """A defence's state, the number of snapshots that made it, and the standing answer."""

    step: int
    state: StateT
    standing: StandingAnswer | None = None


def without_answer(state: Belief | LastAnswer | None, wrong: str) -> Belief | LastAnswer | None:
    """Return the state without an answer that turned out wrong.

    Answers are removed that contain the wrong one as whole words, or are contained in it; other
    answers stay.
    """
    match state:
        case LastAnswer(answer, inner):
            kept = None if answer is None or _names(answer, wrong) else answer
            believed = without_answer(inner, wrong)
            return LastAnswer(kept, believed if isinstance(believed, Belief) else None)
        case Belief(answer) if _names(answer, wrong):
            return None
    return state


def unless_named(standing: StandingAnswer | None, wrong: str) -> StandingAnswer | None:
    """Return the standing answer, or None if it names the wrong answer as in `without_answer`."""
    return None if standing is None or _names(standing.answer, wrong) else standing


def _names(one: str, other: str) -> bool:
    return contains(one, other, strict=True) or contains(other, one, strict=True)
