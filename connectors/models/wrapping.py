"""Protocols of models, and wrappers around their calls, which cache, trace and count them.

A call is a method of a model with its requests. It returns one reply per request, in order; in an
array, a reply is a row. A wrapper is a function of the call that returns the replies. It may ask
the model by `Call.ask` for all requests or some of them.
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
    """A sentence embedding model.

    >>> from radarstream.connectors.models.scripted import ScriptedEmbedder
    >>> ScriptedEmbedder(dimensions=4).embed(["Lima", "Cusco"]).shape
    (2, 4)
    """

    @property
    def model_id(self) -> str:
        """Weights, revision and settings that affect results, as one stable string."""

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (m, d) rows of unit Euclidean length, in the order of texts. Raises ModelError."""

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """Return (m,) Euclidean lengths of the rows before normalisation, > 0."""


class TokenScorer(Protocol):
    """A language model that returns probabilities of tokens: the generator, or a similar one."""

    @property
    def model_id(self) -> str:
        """As an embedder's."""

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return (r, t) natural logarithms per query, for r prompts and the t tokens, at least one,
        of its continuation. Raises ModelError.
        """


class Method(StrEnum):
    """The methods of models; those of plug-ins have others."""

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
        """Ask the model for `requests`, by default those of the call.

        Returns one reply per request, in order; for a failed request its ModelError. Raises
        ModelError if the whole call failed or the number of replies is wrong.
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
        """Ask with every prompt changed; requests without a prompt stay."""
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
    """A model of any kind with a wrapper `around` each of its calls, except calls without requests.

    Raises ModelError as the model, PartialModelError if some replies are ModelErrors.
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
        """Replace the generator that the model inside uses, if it uses one."""
        if not hasattr(self._model, "asking"):
            return self
        return Wrapped(self._model.asking(generator), self._around, model_id=self._model_id)

    @property
    def model_id(self) -> str:
        """The wrapped model's id, or that of a wrapper which changes replies."""
        model_id: str = self._model.model_id if self._model_id is None else self._model_id
        return model_id

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order."""
        return list(self.replies(Method.COMPLETE, prompts))

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """Return (m, 3) probabilities of entailment, neutral and contradiction."""
        return as_array(self.replies(Method.PROBABILITIES, pairs)) if pairs else np.empty((0, 3))

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (m, d) rows of unit length."""
        if not texts:  # only the model knows d
            return np.asarray(self._model.embed(texts))
        return as_array(self.replies(Method.EMBED, texts))

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """Return (m,) lengths of rows, without the wrapper."""
        return np.asarray(self._model.norms(texts))

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return (r, t) natural logarithms per query."""
        return list(self.replies(Method.LOG_PROBS, queries))

    def replies(self, method: str, requests: Sequence[Any]) -> Replies:
        """Return the replies of any method of the model, also a plug-in's."""
        if not requests:
            return []
        replies = self._around(Call(self._model, method, requests))
        if any(isinstance(reply, ModelError) for reply in replies):
            raise PartialModelError(list(replies))
        return replies


def ask(model: Any, method: str, requests: Sequence[Any]) -> Replies:
    """Call a method of a model, wrapped or not, also a plug-in's."""
    if isinstance(model, Wrapped):
        return model.replies(method, requests)
    replies: Replies = getattr(model, method)(requests)
    return replies


def as_array(rows: Replies) -> FloatArray:
    """Return rows as one array."""
    return rows if isinstance(rows, np.ndarray) else np.stack(rows)
