"""What rerankers of the lab ask of networks besides text: gradients, hidden tokens, attention.

The queries that models answer, the requests that methods make of them, and the checks of replies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.wrapping import Replies, ask
from radarstream.defenses.protocol import Complete, PluginRequest
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.pipelines.signals.responses import checked
from radarstream.schemas.arrays import numbers
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt

GRADIENTS: Final = "gradients"  # the embedder's own network
SURROGATE: Final = "surrogate"  # another encoder that tells gradients
MASKED: Final = "masked"  # tells how probable hidden parts of a text are
ATTENTION: Final = "attention"  # tells how it shares its attention among passages


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
    """Which tokens of a passage decide its similarity to a question? The answer is one
    `TokenSalience` per token that the encoder reads, special ones left out.
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


@dataclass(frozen=True, slots=True)
class AttentionQuery:
    """How is the attention of the tokens of `answer`, as the reply to `prompt`, shared among the
    passages of `prompt`?

    The answer is (n,) percentages, one per passage in the order of the prompt. They sum to 100, or
    are all 0 where no passage is attended to, or the answer has no word. The first line of `answer`
    is read.
    """

    prompt: Prompt
    answer: str


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


def _in_one_call(name: str, method: str, check: Callable[[Any, Any], Any]) -> Any:
    """The class method `answer_all` that asks a model for everything in one call, and gives each
    request a tuple of checked replies. Raises ModelError.
    """

    def answer_all(_: type, models: Mapping[str, Any], requests: Sequence[Any]) -> list[Any]:
        queries = [query for request in requests for query in request.queries]
        replies = iter(_asked(models[name], method, queries))
        return [tuple(check(query, next(replies)) for query in r.queries) for r in requests]

    return classmethod(answer_all)


def _asked(model: Any, method: str, queries: Sequence[Any]) -> Replies:
    replies = ask(model, method, queries)
    if len(replies) != len(queries):
        raise ModelError(f"expected {len(queries)} replies, got {len(replies)}")
    return replies


def _saliences(query: SalienceQuery, reply: Sequence[TokenSalience]) -> tuple[TokenSalience, ...]:
    """Tokens within the passage, none with a negative length."""
    end = len(query.passage)
    if not all(0 <= t.start <= t.stop <= end and not t.length < 0.0 for t in reply):
        raise ModelError("a token is outside its passage, or its length is no length")
    return tuple(reply)


def _probabilities(query: MaskedQuery, reply: FloatArray) -> FloatArray:
    return checked(probabilities, reply, len(query.spans))


@dataclass(frozen=True, slots=True)
class ProbeGradients(PluginRequest[FloatArray]):
    """Ask how the gradients of similarities vary under disturbances.

    With `surrogate` another encoder than the retriever's is asked. Response: (m, R, R) inner
    products of the gradients of the runs, in order; NaN for a passage whose gradients failed.
    """

    queries: tuple[ProbeQuery, ...]
    surrogate: bool = False

    @classmethod
    def answer_all(
        cls, models: Mapping[str, Any], requests: Sequence["ProbeGradients"]
    ) -> list[Any]:
        """One call per encoder and number of runs. Raises ModelError."""
        answers: list[list[FloatArray]] = [[] for _ in requests]
        groups: dict[tuple[str, int], list[tuple[int, ProbeQuery]]] = {}
        for place, request in enumerate(requests):
            name = SURROGATE if request.surrogate else GRADIENTS
            for query in request.queries:
                groups.setdefault((name, query.runs), []).append((place, query))
        for (name, runs), asked in groups.items():
            replies = ask(models[name], "probe", [query for _, query in asked])
            grams = checked(gram_matrices, replies, len(asked))
            if grams.shape[1] != runs:
                raise ModelError("there must be a gradient for every run")
            for (place, _), gram in zip(asked, grams, strict=True):
                answers[place].append(gram)
        return [np.array(found) if found else np.empty((0, 2, 2)) for found in answers]


@dataclass(frozen=True, slots=True)
class TokenSaliences(PluginRequest[tuple[tuple[TokenSalience, ...], ...]]):
    """Ask which tokens decide similarities. Response: a tuple, in order, of tuples of
    TokenSalience.
    """

    queries: tuple[SalienceQuery, ...]

    answer_all = _in_one_call(GRADIENTS, "saliences", _saliences)


@dataclass(frozen=True, slots=True)
class MaskedTokenProbabilities(PluginRequest[tuple[FloatArray, ...]]):
    """Ask how probable parts of texts are. Response: a tuple, in order, of (s,) arrays."""

    queries: tuple[MaskedQuery, ...]

    answer_all = _in_one_call(MASKED, "masked", _probabilities)


@dataclass(frozen=True, slots=True)
class Attention(PluginRequest[FloatArray]):
    """Ask how a model's attention is shared among the passages of `row` where its reply is
    `answer`.

    Response: (n,) percentages, one per passage of `row` in its order. They sum to 100, or are all
    0 where nothing is attended to.
    """

    row: Complete
    answer: str

    @property
    def query(self) -> AttentionQuery:
        """What the model is asked."""
        (prompt,) = prompts_of([self.row])
        return AttentionQuery(prompt, self.answer)

    @classmethod
    def answer_all(cls, models: Mapping[str, Any], requests: Sequence["Attention"]) -> list[Any]:
        """All in one call. Raises ModelError."""
        replies = _asked(models[ATTENTION], "attention", [request.query for request in requests])
        return [
            checked(shares, reply, len(request.row.passages))
            for request, reply in zip(requests, replies, strict=True)
        ]
