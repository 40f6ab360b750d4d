"""Questions whose answer is a text: the same defences, asking for descriptions."""

from dataclasses import replace
from typing import Final

from defenses.protocol import Complete, CompleteAll, LogProbs, NextTokens, Request
from schemas.prompt import Task

AT_LENGTH: Final = {
    Task.ATOMIC_ANSWER: Task.DESCRIBE_FROM_PASSAGE,
    Task.ANSWER_FROM_DOCUMENTS: Task.DESCRIBE_FROM_DOCUMENTS,
    Task.SYNTHESISE_ANSWERS: Task.SYNTHESISE_DESCRIPTIONS,
}


def at_length(request: Request) -> Request:
    """The request as it asks for a description; tasks without a long form stay."""
    match request:
        case Complete(task=task):
            return replace(request, task=AT_LENGTH.get(task, task))
        case CompleteAll(requests=requests):
            return CompleteAll(tuple(map(completion_at_length, requests)))
        case NextTokens(rows=rows) | LogProbs(rows=rows):
            return replace(request, rows=tuple(map(completion_at_length, rows)))
    return request


def completion_at_length(request: Complete) -> Complete:
    """One completion, as `at_length`."""
    return replace(request, task=AT_LENGTH.get(request.task, request.task))
