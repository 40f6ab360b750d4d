"""From the bytes of a response to a completion, or to the failure that it is."""

import json
import re
from typing import Any, Final

from radarstream.connectors.models.openai_http.failures import (
    KNOWN_CODES,
    RequestError,
    ServiceError,
)
from radarstream.schemas.prompt import Completion, Prompt
from radarstream.schemas.tasks import ABSTENTION, TASKS

CHARACTERS_PER_TOKEN: Final = 32  # hardly any token is longer: more text than that is not asked for
MOST_TOKENS: Final = 10**9
_THOUGHT: Final = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL)


def read_completion(body: bytes, prompt: Prompt) -> Completion:
    """Return the first choice of a chat completion.

    A page can make a model or its filter decline to answer. Where the prompt shows that page
    alone, declining is an abstention: otherwise one hostile page would cost the snapshot its
    answer. A text cut at the token limit counts as it stands, as with every other backend.
    Raises ServiceError for what is no chat completion, RequestError for one without an answer.
    """
    reply = _object(body)
    tokens_in, tokens_out = read_usage(reply)
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise _malformed("no choice with a message")
    content, reason = message.get("content"), choice.get("finish_reason")
    declined = reason == "content_filter" or bool(message.get("refusal"))
    if content is not None and not isinstance(content, str):
        raise _malformed("a message that is no text")
    text = _THOUGHT.sub("", content or "", count=1).strip()
    text = text[: CHARACTERS_PER_TOKEN * prompt.max_tokens]
    # An empty text is the model's own word only if it says that it wrote and ended it.
    declined |= not text and content == "" and reason == "stop" and tokens_out > 0
    if declined:
        text = _declining(prompt)
    if not text:
        why = "the token limit was used up" if reason == "length" else "empty"
        raise RequestError("no_answer", f"the service returned no text ({why})")
    return Completion(text, tokens_in, tokens_out)


def error_codes(body: bytes) -> frozenset[str]:
    """Return the known error codes and types in the body of an error response."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return frozenset()
    error = reply.get("error") if isinstance(reply, dict) else None
    fields = error if isinstance(error, dict) else {}
    inner = fields.get("innererror")
    inner_code = inner.get("code") if isinstance(inner, dict) else None
    said = (fields.get("code"), fields.get("type"), inner_code)
    return frozenset(code for code in said if isinstance(code, str)) & KNOWN_CODES


def _declining(prompt: Prompt) -> str:
    if TASKS[prompt.task].one_passage:
        return ABSTENTION
    raise RequestError("filtered", "the model or its filter declined to answer")


def _object(body: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        raise _malformed("no JSON object")
    return reply


def read_usage(reply: dict[str, Any]) -> tuple[int, int]:
    """Tokens read and written, as far as a reply tells."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return 0, 0
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def _count(value: object) -> int:
    """A plausible number of tokens, else 0: it is added up and shown."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def _malformed(detail: str) -> ServiceError:
    return ServiceError("malformed", f"the service returned {detail}")
