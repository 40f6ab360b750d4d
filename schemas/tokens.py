"""Probabilities of single tokens: what is asked of a language model that can tell them."""

from dataclasses import dataclass

from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt


@dataclass(frozen=True, slots=True)
class NextTokenQuery:
    """Which token comes next, after the same reply so far to each of several prompts?

    `prefix` is the reply so far as token ids of the model that is asked; it is appended as it is,
    never turned into text and back.
    """

    prompts: tuple[Prompt, ...]
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContinuationQuery:
    """How probable is the same reply to each of several prompts? `continuation` is not empty."""

    prompts: tuple[Prompt, ...]
    continuation: str


@dataclass(frozen=True, slots=True, eq=False)
class NextTokenRows:
    """The answer to a `NextTokenQuery`.

    `log_probs` is (r, V): natural logarithms of probabilities that sum to 1 in each row, one row
    per prompt. `text` is the query's prefix decoded. `stops` end a reply; `refusals` begin one that
    refuses or an empty line: "I", "Please" and the line break, where they are single tokens.
    """

    log_probs: FloatArray
    text: str
    stops: frozenset[int]
    refusals: frozenset[int]
