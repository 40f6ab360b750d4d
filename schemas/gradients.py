"""How an encoder's similarity reacts to disturbances, and what a masked model expects: the values
that are asked of models and what they answer.
"""

from dataclasses import dataclass
from enum import StrEnum


class Disturbance(StrEnum):
    """What is drawn anew in every run of a probe."""

    MIXED = "mixed"  # both of the others
    DROPOUT = "dropout"  # the encoder's own dropout, for question and passage
    TOKENS = "tokens"  # tokens of the passage that are masked out


@dataclass(frozen=True, slots=True)
class ProbeQuery:
    """How does the gradient of the similarity of a question and a passage vary from run to run?

    The gradient is taken with respect to the weight and bias of the LayerNorm behind the attention
    of `layer`, counted from 0. In each of `runs` >= 2 runs the disturbance is drawn anew, from a
    generator seeded by `seed`, the question and the passage alone. `token_dropout` is the share
    of the passage's tokens that a run masks out. The answer is the Gram matrix of the gradients,
    (runs, runs): the inner products of every two of them; NaN where one is not finite.
    """

    question: str
    passage: str
    runs: int = 20
    layer: int = 3
    disturbance: Disturbance = Disturbance.MIXED
    token_dropout: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SalienceQuery:
    """Which tokens of a passage decide its similarity to a question?

    The answer is one `TokenSalience` per token that the encoder reads, special ones left out.
    """

    question: str
    passage: str


@dataclass(frozen=True, slots=True)
class TokenSalience:
    """A token: characters `start` to `stop` of its text, and the Euclidean length of the gradient
    of the inner product with the question with respect to its word embedding; NaN or infinite
    where that is not finite.
    """

    start: int
    stop: int
    length: float


@dataclass(frozen=True, slots=True)
class MaskedQuery:
    """How probable are parts of a text, each hidden alone?

    `spans` are pairs of characters, start and stop. The answer is (s,) probabilities of the hidden
    tokens, their geometric mean where a span covers several.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
