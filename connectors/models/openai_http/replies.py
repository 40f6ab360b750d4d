"""Reads the bytes of a response as a completion, as token probabilities, or as a failure."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from radarstream.connectors.models.openai_http.failures import (
    KNOWN_CODES,
    RequestError,
    ServiceError,
)
from radarstream.schemas.prompt import Completion, Prompt
from radarstream.schemas.tasks import ABSTENTION, TASKS

CHARACTERS_PER_TOKEN: Final = 32  # limits a reply to the requested tokens; hardly any is longer
MOST_TOKENS: Final = 10**9
MOST_POSITIVE: Final = 1e-3  # largest logarithm of a probability, in half precision
_THOUGHT: Final = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReplyLogs:
    """Natural logarithms, one per token of the reply, and the tokens that the service reports."""

    logs: list[float]
    tokens_in: int
    tokens_out: int


def parsed(text: str | bytes) -> Any:
    """Parse JSON; None if the text is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def at(value: Any, *path: str | int) -> Any:
    """Return the value at a path of names and indices in a JSON value, None if there is none.

    >>> at({"choices": [{"text": "Rome"}]}, "choices", 0, "text"), at([], 0, "text")
    ('Rome', None)
    """
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return value


def read_completion(body: bytes, prompt: Prompt) -> Completion:
    """Return the first choice of a chat completion.

    A page can make a model or its filter decline to answer. If the prompt has only that page,
    declining is an abstention, so that one hostile page does not fail the snapshot. A text cut at
    the token limit is valid, as in every backend. Raises ServiceError for anything else than a chat
    completion, RequestError for one without an answer.
    """
    reply = parsed(body)
    tokens_in, tokens_out = _usage(reply)
    message = at(reply, "choices", 0, "message")
    if not isinstance(message, dict):
        raise _malformed("no choice with a message")
    content, reason = message.get("content"), at(reply, "choices", 0, "finish_reason")
    if content is not None and not isinstance(content, str):
        raise _malformed("a message that is not text")
    text = _THOUGHT.sub("", content or "", count=1).strip()
    text = text[: CHARACTERS_PER_TOKEN * prompt.max_tokens]
    declined = reason == "content_filter" or bool(message.get("refusal"))
    # An empty text is a decision of the model only if it wrote tokens and stopped by itself.
    declined |= not text and content == "" and reason == "stop" and tokens_out > 0
    if declined and not TASKS[prompt.task].one_passage:
        raise RequestError("filtered", "the model or its filter declined to answer")
    if declined:
        text = ABSTENTION
    if not text:
        why = "the token limit was used up" if reason == "length" else "empty"
        raise RequestError("no_answer", f"the service returned no text ({why})")
    return Completion(text, tokens_in, tokens_out)


def error_codes(body: bytes) -> frozenset[str]:
    """Return the known error codes and types in the body of an error response."""
    error = at(parsed(body), "error")
    said = (at(error, "code"), at(error, "type"), at(error, "innererror", "code"))
    return frozenset(code for code in said if isinstance(code, str)) & KNOWN_CODES


def read_choice(body: bytes) -> tuple[dict[str, Any], tuple[int, int]]:
    """Return the first choice of a completion, and the tokens used. Raises ServiceError."""
    reply = parsed(body)
    choice = at(reply, "choices", 0)
    if not isinstance(choice, dict):
        raise _malformed("no choice")
    return choice, _usage(reply)


def read_echo(body: bytes, prompt: str, reply: str) -> ReplyLogs:
    """Return the logarithms of `reply`'s tokens in an echo of `prompt` and `reply`.

    The tokens of the echo must spell both, after at most one token that begins every text, with a
    boundary between them; one generated token may follow. Offsets are not used, because services
    count them differently. Raises RequestError for another echo, ServiceError for no completion.
    """
    choice, usage = read_choice(body)
    logs = choice.get("logprobs")
    tokens, values = at(logs, "tokens"), at(logs, "token_logprobs")
    if not (
        isinstance(tokens, list)
        and isinstance(values, list)
        and len(tokens) == len(values)
        and all(isinstance(token, str) for token in tokens)
    ):
        raise _no_logs("the service returns no log-probabilities")
    end = _end_of_echo(tokens, prompt + reply)
    if end is None:
        raise _no_logs("the service does not echo the tokens of a prompt")
    start, left = end, len(reply)
    while left > 0:
        start -= 1
        left -= len(tokens[start])
    if left < 0:
        raise _no_logs("the reply does not begin with a token of its own")
    return ReplyLogs([_logarithm(value) for value in values[start:end]], *usage)


def _end_of_echo(tokens: list[str], text: str) -> int | None:
    """Return the number of tokens up to the end of the echo of `text`; None without an echo."""
    for end in (len(tokens) - 1, len(tokens)):
        spelt = "".join(tokens[:end])
        before = spelt[: len(spelt) - len(text)]
        if end > 0 and spelt.endswith(text) and before in {"", tokens[0]}:
            return end
    return None


def _malformed(detail: str) -> ServiceError:
    return ServiceError("malformed", f"the service returned {detail}")


def _usage(reply: Any) -> tuple[int, int]:
    """Return the tokens read and written, 0 without a plausible count."""
    counts = [at(reply, "usage", name) for name in ("prompt_tokens", "completion_tokens")]
    read, written = (n if type(n) is int and 0 <= n <= MOST_TOKENS else 0 for n in counts)
    return read, written


def _logarithm(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _no_logs("the service leaves out the log-probability of a token")
    if not value <= MOST_POSITIVE:  # also for NaN
        raise _no_logs("the service returned a value that is not a logarithm of a probability")
    return float(value)


def _no_logs(detail: str) -> RequestError:
    return RequestError("no_answer", f"no token probabilities: {detail}")
