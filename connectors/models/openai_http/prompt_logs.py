"""From the bytes of a response to the log-probabilities of the tokens that were sent."""

import json
from dataclasses import dataclass
from typing import Any, Final

from radarstream.connectors.models.openai_http.failures import RequestError, ServiceError
from radarstream.connectors.models.openai_http.reply import read_usage

MOST_POSITIVE: Final = 1e-3  # of a logarithm of a probability; models compute in half precision


@dataclass(frozen=True, slots=True)
class Told:
    """Natural logarithms, one per token of the reply, and what the service says it used."""

    logs: list[float]
    tokens_in: int
    tokens_out: int


def read_echo(body: bytes, prompt: str, reply: str) -> Told:
    """The logarithms of `reply`'s tokens in an echo of `prompt` and `reply`.

    The tokens of the echo must spell both, behind at most one token that begins every text, with a
    boundary between them; one token that was generated may follow. Offsets are not used: services
    count them differently. Raises RequestError for anything else, ServiceError for what is no
    completion.
    """
    choice, usage = _choice(body)
    logs = choice.get("logprobs")
    tokens = logs.get("tokens") if isinstance(logs, dict) else None
    values = logs.get("token_logprobs") if isinstance(logs, dict) else None
    if not (
        isinstance(tokens, list)
        and isinstance(values, list)
        and len(tokens) == len(values)
        and all(isinstance(token, str) for token in tokens)
    ):
        raise _not_told("the service returns no log-probabilities")
    end = _end_of_echo(tokens, prompt + reply)
    if end is None:
        raise _not_told("the service does not echo the tokens of a prompt")
    start, left = end, len(reply)
    while left > 0:
        start -= 1
        left -= len(tokens[start])
    if left < 0:
        raise _not_told("the reply does not begin with a token of its own")
    return Told([_logarithm(value) for value in values[start:end]], *usage)


def _end_of_echo(tokens: list[str], text: str) -> int | None:
    """After which token the echo of `text` ends; None if it is none."""
    for end in (len(tokens) - 1, len(tokens)):
        shown = "".join(tokens[:end])
        before = shown[: len(shown) - len(text)]
        if end > 0 and shown.endswith(text) and before in {"", tokens[0]}:
            return end
    return None


def read_prompt_logprobs(body: bytes, ids: list[int], count: int) -> Told:
    """The logarithms of the last `count` of the tokens `ids` that were sent.

    Raises RequestError when not every token is told, ServiceError for what is no completion.
    """
    choice, usage = _choice(body)
    told = choice.get("prompt_logprobs")
    if not isinstance(told, list):
        raise _not_told("the service returns no log-probabilities of a prompt")
    if len(told) != len(ids):
        raise _not_told(f"the service read {len(told)} tokens instead of {len(ids)}")
    logs = []
    for token, entry in list(zip(ids, told, strict=True))[len(ids) - count :]:
        found = entry.get(str(token)) if isinstance(entry, dict) else None
        logs.append(_logarithm(found.get("logprob") if isinstance(found, dict) else None))
    return Told(logs, *usage)


def read_token_ids(body: bytes) -> list[int]:
    """Token ids of a text. Raises ServiceError."""
    try:
        found = json.loads(body)["tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(type(token) is int for token in found):
        raise ServiceError("malformed", "the service returned no tokens of a text")
    return found


def _choice(body: bytes) -> tuple[dict[str, Any], tuple[int, int]]:
    reply: Any = None
    try:
        reply = json.loads(body)
        choice = reply["choices"][0]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        choice = None
    if not isinstance(reply, dict) or not isinstance(choice, dict):
        raise ServiceError("malformed", "the service returned no choice")
    return choice, read_usage(reply)


def _logarithm(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _not_told("the service leaves out the log-probability of a token")
    if not value <= MOST_POSITIVE:  # also what is no number
        raise _not_told("the service returned what is no logarithm of a probability")
    return float(value)


def _not_told(detail: str) -> RequestError:
    return RequestError("no_answer", f"no token probabilities: {detail}")
