"""What an endpoint can do, found out by asking it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import RequestError, ServiceError
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.schemas.errors import ConfigurationError

CHAT: Final = "/chat/completions"
SCHEMA: Final = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Findings; None where the service did not tell."""

    reachable: bool
    listed: bool | None = None  # the model is in the service's list, which need not be complete
    log_probabilities: bool | None = None
    json_schema: bool | None = None

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "unknown"}
        return (
            f"reachable: {words[self.reachable]}, model listed: {words[self.listed]}, "
            f"log-probabilities: {words[self.log_probabilities]}, "
            f"JSON schema: {words[self.json_schema]}"
        )


async def probe(endpoint: Endpoint, options: OpenAiOptions, deadline: float) -> Capabilities:
    """Ask for the list of models, for log-probabilities and for an answer in JSON.

    Raises ConfigurationError only when the service refuses the key or does not know the model.
    """
    try:
        listed = _lists(await endpoint.get("/models"), options.model)
    except ServiceError as error:
        if error.kind == "key_refused":
            raise _key_refused(options) from None
        if error.kind in {"connection", "timeout"}:
            return Capabilities(reachable=False)
        listed = None
    except RequestError:
        listed = None

    async def try_out(
        extra: dict[str, Any], works: Callable[[dict[str, Any]], bool]
    ) -> bool | None:
        room = 16 + options.extra_tokens
        payload = {
            "model": options.model,
            "messages": [{"role": "user", "content": "Say yes, as JSON if you can."}],
            options.max_tokens_field: room,
            **extra,
        }
        try:
            choice = await endpoint.post(CHAT, payload, _first_choice, deadline)
        except ServiceError as error:
            if error.kind == "key_refused":
                raise _key_refused(options) from None
            if error.kind == "refused":
                raise ConfigurationError(
                    f"the service does not know the model {options.model!r}: {error}"
                ).mended_by("set `model` to one that the service has") from None
            return None
        except RequestError as error:
            return False if error.kind == "bad_request" else None
        return works(choice)

    wanted = {"type": "json_schema", "json_schema": {"name": "yes", "schema": SCHEMA}}
    return Capabilities(
        reachable=True,
        listed=listed,
        log_probabilities=await try_out({"logprobs": True, "top_logprobs": 1}, _has_logprobs),
        json_schema=await try_out({"response_format": wanted}, _is_json),
    )


def _key_refused(options: OpenAiOptions) -> ConfigurationError:
    key = options.api_key_variable
    where = f"the key in {key}" if key else "requests without a key: set api_key_variable"
    remedy = f"export {key}=…" if key else "set `api_key_variable`"
    return ConfigurationError(f"the service refuses {where}").mended_by(remedy)


def _lists(body: bytes, model: str) -> bool | None:
    try:
        entries = json.loads(body)["data"]
        return any(entry["id"] == model for entry in entries)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _first_choice(body: bytes) -> dict[str, Any]:
    try:
        choice = json.loads(body)["choices"][0]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        choice = None
    if not isinstance(choice, dict):
        raise ServiceError("malformed", "the service returned no choice")
    return choice


def _has_logprobs(choice: dict[str, Any]) -> bool:
    found = choice.get("logprobs")
    return isinstance(found, dict) and bool(found.get("content"))


def _is_json(choice: dict[str, Any]) -> bool:
    try:
        return isinstance(json.loads(choice["message"]["content"])["answer"], str)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
