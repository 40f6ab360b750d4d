"""Fulfils the requests of defences, attributors and rerankers, in one model batch per kind."""

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

import numpy as np

from radarstream.defenses.protocol import (
    AttemptAll,
    Attributor,
    Complete,
    CompleteAll,
    Defense,
    Embed,
    LogProbs,
    LogProbsAll,
    Norms,
    PluginRequest,
    Relate,
    Request,
    RetrievalDefense,
    Signal,
)
from radarstream.pipelines.signals.parsing import parse_reply
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.pipelines.signals.responses import (
    checked,
    completion_texts,
    isolating,
    relation_outcomes,
    together,
)
from radarstream.schemas.arrays import embedding_rows, log_prob_rows, norm_values
from radarstream.schemas.errors import (
    ConfigurationError,
    EvidenceError,
    ModelError,
    ModelOutageError,
)
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, ContinuationQuery

ResultT = TypeVar("ResultT")
Failure = ModelError | EvidenceError
SEVERAL: Final = CompleteAll | AttemptAll | LogProbsAll


def check_needs(method: Defense[Any] | Attributor | RetrievalDefense, models: Models) -> None:
    """Raise ConfigurationError if `models` cannot fulfil the requests of a method."""
    if Signal.TOKEN_PROBABILITIES in method.needs and models.tokens is None:
        raise ConfigurationError(
            f"{type(method).__name__} needs token probabilities, which no configured model gives: "
            "set `kind` in the section `tokens` to `openai` for a service that returns those of "
            "prompts"
        )
    for name in sorted(method.needs - frozenset(Signal)):
        if name not in models.plugins:
            raise ConfigurationError(
                f"{type(method).__name__} needs {name}, which no configured model gives: "
                "see `retrieval.models`"
            )


def drive(
    methods: Sequence[Generator[Request, Any, ResultT]], models: Models
) -> list[ResultT | ModelError]:
    """Run generators in lockstep, and return their results in order.

    If the request of one fails, its result is the ModelError; the others continue.
    """
    results: dict[int, ResultT | ModelError] = {}
    requests: dict[int, Request] = {}

    def advance(index: int, resume: Callable[[], Request]) -> None:
        try:
            requests[index] = resume()
        except StopIteration as stop:
            results[index] = stop.value

    for index, method in enumerate(methods):
        advance(index, method.__next__)
    while requests:
        responses = fulfil(requests, models)
        waiting, requests = requests, {}
        for index in waiting:
            response = responses[index]
            if isinstance(response, ModelError):
                methods[index].close()
                results[index] = response
            else:
                advance(index, lambda i=index, r=response: methods[i].send(r))  # type: ignore[misc]
    return [results[index] for index in range(len(methods))]


def refusable(
    method: Generator[Request, Any, ResultT],
) -> Generator[Request, Any, ResultT | EvidenceError]:
    """Return an EvidenceError of a method as its result, so that it does not end the batch."""
    try:
        return (yield from method)
    except EvidenceError as refusal:
        return refusal


def fulfil(requests: Mapping[int, Request], models: Models) -> dict[int, Any]:
    """Return the response to every request; for a failed one, its ModelError."""
    singles = {i: r.requests if isinstance(r, SEVERAL) else (r,) for i, r in requests.items()}
    outcomes = iter(_fulfil_singles([part for parts in singles.values() for part in parts], models))
    return {
        index: _joined(requests[index], list(islice(outcomes, len(parts))))
        for index, parts in singles.items()
    }


def _joined(request: Request, parts: list[Any]) -> Any:
    """Join the parts of a response, or return the first failure; of attempts, the first outage."""
    if not isinstance(request, SEVERAL):
        return parts[0]
    fatal = ModelOutageError if isinstance(request, AttemptAll) else ModelError
    return next((part for part in parts if isinstance(part, fatal)), tuple(parts))


def _fulfil_singles(requests: Sequence[Request], models: Models) -> list[Any]:
    """Answer requests in one call per kind, in order."""
    responses: dict[int, Any] = {}
    for kind in dict.fromkeys(map(type, requests)):
        indices = [index for index, request in enumerate(requests) if type(request) is kind]
        batch = [requests[index] for index in indices]
        answer_all = (
            partial(kind.answer_all, models.plugins)
            if issubclass(kind, PluginRequest)
            else partial(_KINDS[kind], models)
        )
        responses.update(zip(indices, isolating(answer_all, batch), strict=True))
    return [responses[index] for index in range(len(requests))]


def _complete_all(models: Models, requests: Sequence[Complete]) -> list[Any]:
    texts = completion_texts(models.generator, prompts_of(requests))
    return [
        text if isinstance(text, ModelError) else parse_reply(request.task, text, request.question)
        for request, text in zip(requests, texts, strict=True)
    ]


def _relate_all(models: Models, requests: Sequence[Relate]) -> list[Any]:
    pairs = [
        AnswerPair(request.question, premise, hypothesis)
        for request in requests
        for premise, hypothesis in zip(request.premises, request.hypotheses, strict=True)
    ]
    outcomes = iter(relation_outcomes(models.relations, pairs))
    parts = [together(list(islice(outcomes, len(request.premises)))) for request in requests]
    return [p if isinstance(p, ModelError) else np.array(p).reshape(-1, 3) for p in parts]


def _in_parts(
    ask: Callable[[list[str]], FloatArray],
    check: Callable[[Any, int], FloatArray],
    requests: Sequence[Embed | Norms],
) -> list[FloatArray]:
    """Ask for all texts in one call, and split the response by request."""
    texts = [text for request in requests for text in request.texts]
    rows = checked(check, ask(texts), len(texts))
    return np.split(rows, np.cumsum([len(request.texts) for request in requests])[:-1])


def _log_probs_all(models: Models, requests: Sequence[LogProbs]) -> list[FloatArray]:
    if models.tokens is None:
        raise ModelError("no configured model returns token probabilities")
    queries = [ContinuationQuery(prompts_of(r.rows), r.continuation) for r in requests]
    answers = models.tokens.log_probs(queries)
    if len(answers) != len(requests):
        raise ModelError(
            f"expected token probabilities of {len(requests)} queries, got {len(answers)}"
        )
    return [
        checked(log_prob_rows, rows, len(r.rows)) for rows, r in zip(answers, requests, strict=True)
    ]


# Each function answers all requests of its kind in one call, in order.
_KINDS: Final[Mapping[type, Callable[[Models, Any], list[Any]]]] = {
    Complete: _complete_all,
    Relate: _relate_all,
    Embed: lambda models, some: _in_parts(models.embedder.embed, embedding_rows, some),
    Norms: lambda models, some: _in_parts(models.embedder.norms, norm_values, some),
    LogProbs: _log_probs_all,
}
