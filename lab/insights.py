"""What rerankers of the lab ask of networks besides text: gradients, hidden tokens, attention.

The queries that models answer, which check their replies, and the request that methods make.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

import numpy as np

from radarstream.connectors.models.wrapping import Replies, ask
from radarstream.defenses.protocol import PluginRequest
from radarstream.pipelines.signals.responses import all_answered, checked
from radarstream.schemas.arrays import numbers
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt

GRADIENTS: Final = "gradients"  # the embedder's own network
SURROGATE: Final = "surrogate"  # another encoder that tells gradients
MASKED: Final = "masked"  # tells how probable hidden parts of a text are
ANSWER_CHARACTERS: Final = 1_200  # of an answer whose attention is asked, from its beginning
ATTENTION: Final = "attention"  # tells how it shares its attention among passages


class Disturbance(StrEnum):
    """What is drawn anew in every run of a probe."""

    MIXED = "mixed"  # both of the others
    DROPOUT = "dropout"  # the encoder's own dropout, for question and passage
    TOKENS = "tokens"  # tokens of the passage that are masked out


class Query(ABC):
    """What the method `method` of the model named `model` answers."""

    __slots__ = ()
    model: ClassVar[str]
    method: ClassVar[str]

    @abstractmethod
    def check(self, reply: Any) -> Any:
        """The reply, where it is one. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class ProbeQuery(Query):
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

    model = GRADIENTS
    method = "probe"

    def check(self, reply: Any) -> FloatArray:
        """A matrix of `runs` rows."""
        (gram,) = checked(gram_matrices, [reply], 1)
        if len(gram) != self.runs:
            raise ModelError("there must be a gradient for every run")
        return np.asarray(gram)


@dataclass(frozen=True, slots=True)
class SalienceQuery(Query):
    """Which tokens of a passage decide its similarity to a question? The answer is one
    `TokenSalience` per token that the encoder reads, special ones left out.
    """

    question: str
    passage: str

    model = GRADIENTS
    method = "saliences"

    def check(self, reply: Sequence["TokenSalience"]) -> tuple["TokenSalience", ...]:
        """Tokens within the passage, none with a negative length."""
        end = len(self.passage)
        if not all(0 <= t.start <= t.stop <= end and not t.length < 0.0 for t in reply):
            raise ModelError("a token is outside its passage, or its length is no length")
        return tuple(reply)


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
class MaskedQuery(Query):
    """How probable are parts of a text, each hidden alone?

    `spans` are pairs of characters, start and stop. The answer is (s,) probabilities of the hidden
    tokens, their geometric mean where a span covers several.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    model = MASKED
    method = "masked"

    def check(self, reply: Any) -> FloatArray:
        """A probability per span."""
        return checked(probabilities, reply, len(self.spans))


@dataclass(frozen=True, slots=True)
class AttentionQuery(Query):
    """How is the attention of the tokens of `answer`, as the reply to `prompt`, shared among the
    passages of `prompt`?

    The answer is (n,) percentages, one per passage in the order of the prompt. They sum to 100, or
    are all 0 where no passage is attended to, or the answer has no word. The first line of `answer`
    is read.
    """

    prompt: Prompt
    answer: str

    model = ATTENTION
    method = "attention"

    @property
    def first_line(self) -> str:
        """What is read of the answer."""
        return self.answer[:ANSWER_CHARACTERS].strip().partition("\n")[0].strip()

    def check(self, reply: Any) -> FloatArray:
        """A share per passage."""
        return checked(shares, reply, len(self.prompt.passages))


def gram_matrices(response: Any, count: int) -> FloatArray:
    """(count, r, r) inner products, r >= 2; a matrix with a NaN is NaN throughout. Here and below:
    ValueError for anything else.
    """
    grams = numbers("gradients", response)
    if grams.ndim != 3 or len(grams) != count or grams.shape[1] != grams.shape[2]:
        raise ValueError(f"gradients must be {count} square matrices, got shape {grams.shape}")
    finite = np.isfinite(grams).all(axis=(1, 2), keepdims=True)
    if (np.diagonal(grams, axis1=1, axis2=2) < 0.0).any():
        raise ValueError("the inner product of a gradient with itself must not be negative")
    return np.where(finite, grams, np.nan)


def probabilities(response: Any, count: int) -> FloatArray:
    """(count,) probabilities."""
    values = numbers("probabilities", response)
    if values.shape != (count,) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(f"there must be {count} probabilities, got shape {values.shape}")
    return values


def shares(response: Any, count: int) -> FloatArray:
    """(count,) percentages that sum to 100, to a thousandth, or all 0."""
    values = numbers("shares", response)
    if values.shape != (count,) or not ((values >= 0.0) & np.isfinite(values)).all():
        raise ValueError(f"there must be {count} shares, got shape {values.shape}")
    if values.any() and abs(values.sum() - 100.0) > 0.1:
        raise ValueError("shares do not sum to 100 percent")
    return values


def percentages(values: FloatArray) -> FloatArray:
    """(n,) values of at least 0 as percentages of their sum; zeros stay zeros."""
    total = values.sum()
    return np.asarray(100.0 * (values / total)) if total > 0.0 else np.zeros(len(values))


@dataclass(frozen=True, slots=True)
class Insights(PluginRequest[tuple[Any, ...]]):
    """Ask what networks say of their own workings. Response: the reply to each query, in order.

    With `surrogate` another encoder than the retriever's is asked.
    """

    queries: tuple[Query, ...]
    surrogate: bool = False

    @classmethod
    def answer_all(
        cls, models: Mapping[str, Any], requests: Sequence["Insights"]
    ) -> list[tuple[Any, ...]]:
        """One call per model, method and number of runs. Raises ModelError."""
        answers: list[dict[Query, Any]] = [{} for _ in requests]
        groups = defaultdict[tuple[Any, ...], list[tuple[int, Query]]](list)
        for place, request in enumerate(requests):
            for query in request.queries:
                name = SURROGATE if request.surrogate else query.model
                groups[name, query.method, getattr(query, "runs", 0)].append((place, query))
        for (name, method, _), asked in groups.items():
            replies: Replies
            try:
                replies = ask(models[name], method, [query for _, query in asked])
            except PartialModelError as error:
                replies = error.outcomes
            if len(replies) != len(asked):
                raise ModelError(f"expected {len(asked)} replies, got {len(replies)}")
            for (place, query), reply in zip(asked, replies, strict=True):
                failed = isinstance(reply, ModelError)
                answers[place][query] = reply if failed else query.check(reply)
        return all_answered(
            [
                next((one for one in found.values() if isinstance(one, ModelError)), None)
                or tuple(found[query] for query in request.queries)
                for request, found in zip(requests, answers, strict=True)
            ]
        )
