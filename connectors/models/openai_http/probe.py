"""What an endpoint can do, found out by asking it."""

from dataclasses import dataclass
from typing import Any, Final

from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import RequestError, ServiceError
from radarstream.connectors.models.openai_http.listing import models_of
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.replies import at, parsed, read_choice
from radarstream.schemas.errors import ConfigurationError

CHAT: Final = "/chat/completions"
SCHEMA: Final = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_AS_JSON: Final = {"type": "json_schema", "json_schema": {"name": "yes", "schema": SCHEMA}}


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
    listed = None
    try:
        names = await models_of(endpoint)
        listed = None if names is None else options.model in names
    except (ServiceError, RequestError) as error:
        if error.kind == "key_refused":
            raise _key_refused(options) from None
        if error.kind in {"connection", "timeout"}:
            return Capabilities(reachable=False)

    async def try_out(extra: dict[str, Any]) -> dict[str, Any] | None:
        """The choice of a reply, empty where the request is refused, None where nobody knows."""
        payload = {
            "model": options.model,
            "messages": [{"role": "user", "content": "Say yes, as JSON if you can."}],
            options.max_tokens_field: 16 + options.extra_tokens,
        }
        try:
            choice, _ = await endpoint.post(CHAT, payload | extra, read_choice, deadline)
        except (ServiceError, RequestError) as error:
            if error.kind == "key_refused":
                raise _key_refused(options) from None
            if error.kind == "refused":
                raise ConfigurationError(
                    f"the service does not know the model {options.model!r}: {error}"
                ).mended_by("set `model` to one that the service has") from None
            return {} if error.kind == "bad_request" else None
        return choice

    logs = await try_out({"logprobs": True, "top_logprobs": 1})
    answered = await try_out({"response_format": _AS_JSON})
    content = at(answered, "message", "content")
    as_json = isinstance(content, str) and isinstance(at(parsed(content), "answer"), str)
    return Capabilities(
        reachable=True,
        listed=listed,
        log_probabilities=None if logs is None else bool(at(logs, "logprobs", "content")),
        json_schema=None if answered is None else as_json,
    )


def _key_refused(options: OpenAiOptions) -> ConfigurationError:
    key = options.api_key_variable
    where = f"the key in {key}" if key else "requests without a key: set api_key_variable"
    remedy = f"export {key}=…" if key else "set `api_key_variable`"
    return ConfigurationError(f"the service refuses {where}").mended_by(remedy)
