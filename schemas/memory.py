"""What is kept per query between two snapshots: about a hundred bytes."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, TypeVar

from pydantic import ConfigDict, Field

from schemas.snapshot import STRICT

StateT = TypeVar("StateT")
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


@dataclass(frozen=True, slots=True)
class Belief:
    """RADAR's memory node between two steps.

    `answer` is the last defended answer; `support` (pi_S) and `conflict` (pi_F) are the mean
    entailment and contradiction between it and the atomic answers of the step that produced it
    (RADAR, Eq. 11 and 12), both in [0, 1]. `voices` is how many independent voices stand behind
    the answer, older ones discounted; only RADAR+ keeps any.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    answer: str
    support: Probability
    conflict: Probability
    voices: Annotated[float, Field(ge=0.0)] = 0.0


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """What a defence adapted by a lightweight history keeps: its last answer, if it gave one.

    `inner` is the state of the defence itself.
    """

    answer: str | None
    inner: Belief | None = None


@dataclass(frozen=True, slots=True)
class Memory(Generic[StateT]):
    """A defence's state and how many snapshots have been folded into it."""

    step: int
    state: StateT
