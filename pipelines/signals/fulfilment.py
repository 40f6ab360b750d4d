"""Drives defences and attributors: many queries, one model batch per kind of request and round."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, TypeVar

from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    NextTokens,
    Norms,
    Relate,
    Request,
)
from radarstream.pipelines.signals.isolation import isolating
from radarstream.pipelines.signals.parsing import parse_reply
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import checked, completion_texts
from radarstream.pipelines.signals.token_probabilities import (
    log_probs_all,
    next_tokens_all,
    prompts_of,
)
from radarstream.schemas.arrays import embedding_rows, norm_values, relation_rows
from radarstream.schemas.errors import ModelError, ModelOutageError
from radarstream.schemas.prompt import AnswerPair

ResultT = TypeVar("ResultT")
SEVERAL: Final = CompleteAll | AttemptAll | LogProbsAll


def drive(
    methods: Sequence[Generator[Request, Any, ResultT]], models: Models
) -> list[ResultT | ModelError]:
    """Run generators in lockstep to their results, order preserved.

    A query whose model calls fail yields its ModelError; the others go on.
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


def fulfil(requests: Mapping[int, Request], models: Models) -> dict[int, Any]:
    """Answer every request; a request that fails on its own is answered by its ModelError."""
    singles = [(i, single) for i, request in requests.items() for single in singles_of(request)]
    outcomes = fulfil_singles([single for _, single in singles], models)
    parts: dict[int, list[Any]] = {index: [] for index in requests}
    for (index, _), outcome in zip(singles, outcomes, strict=True):
        parts[index].append(outcome)
    return {index: response_to(requests[index], part) for index, part in parts.items()}


def singles_of(request: Request) -> tuple[Request, ...]:
    """What a request asks for, one by one."""
    return request.requests if isinstance(request, SEVERAL) else (request,)


def response_to(request: Request, parts: Sequence[Any]) -> Any:
    """Join what the request's parts were answered; the first failure among them stands for it.

    Of attempts, only an outage does.
    """
    if not isinstance(request, SEVERAL):
        return parts[0]
    fatal = ModelOutageError if isinstance(request, AttemptAll) else ModelError
    failures = (part for part in parts if isinstance(part, fatal))
    return next(failures, tuple(parts))


def fulfil_singles(requests: Sequence[Request], models: Models) -> list[Any]:
    """Answer requests in one call per kind, order preserved."""
    responses: dict[int, Any] = {}
    kinds: tuple[tuple[type, Callable[[Any, Models], list[Any]]], ...] = (
        (Complete, complete_all),
        (Relate, relate_all),
        (Embed, embed_all),
        (Norms, norms_all),
        (NextTokens, next_tokens_all),
        (LogProbs, log_probs_all),
    )
    for kind, answer_all in kinds:
        indices = [index for index, request in enumerate(requests) if isinstance(request, kind)]
        if indices:
            batch = [requests[index] for index in indices]
            outcomes = isolating(asking(answer_all, models), batch)
            responses.update(zip(indices, outcomes, strict=True))
    return [responses[index] for index in range(len(requests))]


def asking(
    answer_all: Callable[[Any, Models], list[Any]], models: Models
) -> Callable[[Sequence[Request]], list[Any]]:
    """Bind the models of one kind of request."""
    return lambda requests: answer_all(requests, models)


def complete_all(requests: Sequence[Complete], models: Models) -> list[Any]:
    """Complete every prompt in one call; a prompt that failed on its own is its ModelError."""
    texts = completion_texts(models.generator, prompts_of(requests))
    return [
        text if isinstance(text, ModelError) else parse_reply(request.task, text)
        for request, text in zip(requests, texts, strict=True)
    ]


def relate_all(requests: Sequence[Relate], models: Models) -> list[Any]:
    """Relate every pair of every request in one call."""
    pairs = [
        AnswerPair(request.question, premise, hypothesis)
        for request in requests
        for premise, hypothesis in zip(request.premises, request.hypotheses, strict=True)
    ]
    rows = checked(relation_rows, models.relations.probabilities(pairs), len(pairs))
    return split(rows, [len(r.premises) for r in requests])


def embed_all(requests: Sequence[Embed], models: Models) -> list[Any]:
    """Embed every text of every request in one call."""
    texts = [text for request in requests for text in request.texts]
    rows = checked(embedding_rows, models.embedder.embed(texts), len(texts))
    return split(rows, [len(r.texts) for r in requests])


def norms_all(requests: Sequence[Norms], models: Models) -> list[Any]:
    """Measure every text of every request in one call."""
    if models.norms is None:
        raise ModelError("no embedder tells the lengths of its rows")
    texts = [text for request in requests for text in request.texts]
    lengths = checked(norm_values, models.norms.norms(texts), len(texts))
    return split(lengths, [len(r.texts) for r in requests])


def split(rows: Any, sizes: Sequence[int]) -> list[Any]:
    """Cut `rows` into consecutive parts of the given sizes."""
    parts, start = [], 0
    for size in sizes:
        parts.append(rows[start : start + size])
        start += size
    return parts
