"""How far an answer can be trusted: what is behind it, what is against it, and its status."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from radarstream.schemas.memory import Probability
from radarstream.schemas.snapshot import Strict

Count = Annotated[int, Field(ge=0)]
Weight = Annotated[float, Field(ge=0.0)]


class AnswerStatus(StrEnum):
    """What an answer rests on; `docs/consuming.md` has the rules."""

    CORROBORATED = "corroborated"  # two or more independent sites say so
    SINGLE_SOURCE = "single_source"  # one independent site at most says so
    DISPUTED = "disputed"  # another answer, or the memory, has at least half of its weight
    REMEMBERED = "remembered"  # no document says so now; it is the previous answer
    ABSTAINED = "abstained"  # no answer


@dataclass(frozen=True, slots=True)
class Support(Strict):
    """What is behind an answer, and against it.

    A document is for the answer if its atomic answer means the same, and against it if that
    contradicts it. `sites_for` and `sites_against` count independent sites: the most documents no
    two of which are of one site or have nearly the same words. Weights are sums of probabilities
    over sites. `rival` is the weight of
    the strongest other answer: of documents against it that agree with each other. `memory` is what
    the previous answer adds, in [-1, 1]: negative where it contradicts this one, 0 without one.
    `margin` is the weight for the answer, with the memory, less that of the rival. `confidence`
    orders answers from unsure to sure; it is no probability.
    """

    documents_for: Count = 0
    documents_against: Count = 0
    sites_for: Count = 0
    sites_against: Count = 0
    weight_for: Weight = 0.0
    weight_against: Weight = 0.0
    rival: Weight = 0.0
    memory: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0
    margin: float = 0.0
    confidence: Probability = 0.0
