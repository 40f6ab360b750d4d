"""Token probabilities for methods that ask for them, where a model returns them."""

from collections.abc import Sequence
from typing import Any, TypeVar

from radarstream.defenses.protocol import (
    Attributor,
    Complete,
    Defense,
    LogProbs,
    RetrievalDefense,
    Signal,
)
from radarstream.pipelines.signals.ports import Models, TokenScorer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.responses import checked
from radarstream.schemas.arrays import log_prob_rows
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery, Prompt

AnswerT = TypeVar("AnswerT")


def check_needs(method: Defense[Any] | Attributor | RetrievalDefense, models: Models) -> None:
    """Raise ConfigurationError when `models` cannot answer what the method is going to ask."""
    if Signal.TOKEN_PROBABILITIES in method.needs and models.tokens is None:
        raise ConfigurationError(
            f"{type(method).__name__} needs token probabilities, which no configured model gives: "
            "set `kind` in the section `tokens` to `openai` for a service that returns those of "
            "prompts"
        )
    for name in sorted(method.needs - frozenset(Signal)):
        if name not in models.plugins:
            raise ConfigurationError(
                f"{type(method).__name__} needs {name}, which no configured model tells: "
                "see `retrieval.models`"
            )


def log_probs_all(models: Models, requests: Sequence[LogProbs]) -> list[FloatArray]:
    """Ask for the probability of every continuation in one call. Raises ModelError."""
    queries = [ContinuationQuery(prompts_of(r.rows), r.continuation) for r in requests]
    answers = _counted(_scorer(models).log_probs(queries), len(requests))
    return [
        checked(log_prob_rows, rows, len(r.rows)) for rows, r in zip(answers, requests, strict=True)
    ]


def prompts_of(rows: Sequence[Complete]) -> tuple[Prompt, ...]:
    """The prompts of completions that are requested or scored."""
    return tuple(build_prompt(r.task, r.question, r.passages, r.previous_answer) for r in rows)


def _scorer(models: Models) -> TokenScorer:
    if models.tokens is None:
        raise ModelError("no configured model returns token probabilities")
    return models.tokens


def _counted(answers: list[AnswerT], count: int) -> list[AnswerT]:
    if len(answers) != count:
        raise ModelError(f"expected token probabilities of {count} queries, got {len(answers)}")
    return answers
