"""Model protocols that connectors ask, and functions around the calls of a model: one mechanism
to cache, note and count them.

A call is a method of a model port with its requests. It gives one reply per request, in order; in
an array, a reply is a row. A wrapper is a function of the call that returns the replies. It asks
the model by `Call.ask`, for all requests, for some of them, or not at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Prompt

Replies = Sequence[Any] | FloatArray


class Embedder(Protocol):
    """A sentence embedding model."""

    @property
    def model_id(self) -> str:
        """Weights, revision and settings that decide results, as one stable string."""

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit Euclidean length, one a text, in order. Raises ModelError."""

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """(m,) Euclidean lengths of the rows before normalisation, positive."""


class TokenScorer(Protocol):
    """A language model that returns probabilities of tokens: the generator, or a proxy for it."""

    @property
    def model_id(self) -> str:
        """As an embedder's."""

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms: a row per prompt, a column per token of the
        continuation, which has at least one.
        """


class Method(StrEnum):
    """The methods of the model ports; models of plug-ins have others."""

    COMPLETE = "complete"  # Prompt -> Completion
    PROBABILITIES = "probabilities"  # AnswerPair -> (3,)
    EMBED = "embed"  # str -> (d,)
    LOG_PROBS = "log_probs"  # ContinuationQuery -> (r, t)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method of `model`."""

    model: Any
    method: str
    requests: Sequence[Any]

    def ask(self, requests: Sequence[Any] | None = None) -> Replies:
        """Ask the model; None asks all requests of the call.

        Returns one reply per request, in order: a request that failed on its own gives its
        ModelError. Raises ModelError when the whole call failed or the number of replies is wrong.
        """
        asked = self.requests if requests is None else requests
        replies: Replies
        try:
            replies = ask(self.model, self.method, asked)
        except PartialModelError as error:
            replies = error.outcomes
        count = len(np.atleast_1d(replies) if isinstance(replies, np.ndarray) else replies)
        if count != len(asked):
            raise ModelError(f"{self.model.model_id} gave {count} answers to {len(asked)} requests")
        return replies

    def ask_with(self, change: Callable[[Prompt], Prompt]) -> Replies:
        """Ask with every prompt changed; requests without one stay as they are."""
        return self.ask([_with_prompts(request, change) for request in self.requests])


def _with_prompts(request: Any, change: Callable[[Prompt], Prompt]) -> Any:
    match request:
        case Prompt():
            return change(request)
        case ContinuationQuery():
            return replace(request, prompts=tuple(map(change, request.prompts)))
    return (
        replace(request, prompt=change(request.prompt)) if hasattr(request, "prompt") else request
    )


Around = Callable[[Call], Replies]


class Wrapped:
    """A model of any port with a function around each of its calls.

    Raises ModelError like the model, PartialModelError when some replies are a ModelError. A call
    without requests is not passed through the function.
    """

    def __init__(self, model: Any, around: Around, *, model_id: str | None = None) -> None:
        self._model = model
        self._around = around
        self._model_id = model_id

    @property
    def wrapped(self) -> Any:
        """The model inside."""
        return self._model

    def asking(self, generator: Any) -> "Wrapped":
        """The same where the model inside asks this generator, if it asks one at all."""
        if not hasattr(self._model, "asking"):
            return self
        return Wrapped(self._model.asking(generator), self._around, model_id=self._model_id)

    @property
    def model_id(self) -> str:
        """The wrapped model's, unless the function changes replies and named itself."""
        model_id: str = self._model.model_id if self._model_id is None else self._model_id
        return model_id

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order."""
        return list(self.replies(Method.COMPLETE, prompts))

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows: entailment, neutral, contradiction."""
        return as_array(self.replies(Method.PROBABILITIES, pairs)) if pairs else np.empty((0, 3))

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit length."""
        if not texts:  # only the model knows d
            return np.asarray(self._model.embed(texts))
        return as_array(self.replies(Method.EMBED, texts))

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """(m,) lengths of rows, of the model itself."""
        return np.asarray(self._model.norms(texts))

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms."""
        return list(self.replies(Method.LOG_PROBS, queries))

    def replies(self, method: str, requests: Sequence[Any]) -> Replies:
        """What any method of the model, also a plug-in's, replies to requests."""
        if not requests:
            return []
        replies = self._around(Call(self._model, method, requests))
        if any(isinstance(reply, ModelError) for reply in replies):
            raise PartialModelError(list(replies))
        return replies


def ask(model: Any, method: str, requests: Sequence[Any]) -> Replies:
    """Call a method of a model, wrapped or not, that a plug-in may have brought."""
    if isinstance(model, Wrapped):
        return model.replies(method, requests)
    replies: Replies = getattr(model, method)(requests)
    return replies


def as_array(rows: Replies) -> FloatArray:
    """The rows as one array; an array as it is."""
    return rows if isinstance(rows, np.ndarray) else np.stack(rows)
