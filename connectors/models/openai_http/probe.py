"""Whether a service answers with the key and the model that are set."""

from dataclasses import dataclass
from typing import Final

from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import RequestError, ServiceError
from radarstream.connectors.models.openai_http.listing import models_of
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.replies import read_choice
from radarstream.schemas.errors import ConfigurationError

CHAT: Final = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Findings; None where the service did not tell."""

    reachable: bool
    listed: bool | None = None  # the model is in the service's list, which need not be complete

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "unknown"}
        return f"reachable: {words[self.reachable]}, model listed: {words[self.listed]}"


async def probe(endpoint: Endpoint, options: OpenAiOptions, deadline: float) -> Capabilities:
    """Ask for the list of models and for one word.

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

    payload = {
        "model": options.model,
        "messages": [{"role": "user", "content": "Say yes."}],
        options.max_tokens_field: 16 + options.extra_tokens,
    }
    try:
        await endpoint.post(CHAT, payload, read_choice, deadline)
    except (ServiceError, RequestError) as error:
        if error.kind == "key_refused":
            raise _key_refused(options) from None
        if error.kind == "refused":
            raise ConfigurationError(
                f"the service does not know the model {options.model!r}: {error}"
            ).mended_by("set `model` to one that the service has") from None
    return Capabilities(reachable=True, listed=listed)


def _key_refused(options: OpenAiOptions) -> ConfigurationError:
    key = options.api_key_variable
    where = f"the key in {key}" if key else "requests without a key: set api_key_variable"
    remedy = f"export {key}=…" if key else "set `api_key_variable`"
    return ConfigurationError(f"the service refuses {where}").mended_by(remedy)
