"""How to reach an OpenAI-compatible service, how patient to be and what it costs."""

from typing import Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, field_validator

from radarstream.schemas.section import Section, is_loopback

VERSION: Final = "/v1"  # how addresses end, nearly all


class OpenAiOptions(Section):
    """One model behind one endpoint: a vendor's, or a vLLM, Ollama or llama.cpp server.

    The key comes from the environment: `api_key_variable` names the variable that holds it; an
    empty name means that the service wants none. `deadline_s` is the time one snapshot may wait
    for this model in all; its stages share it (`TaskSpec.deadline_share`).

    Limits and counts are those of one section in one process: where generator and token
    probabilities come from one service, or several workers ask it, divide its limit among them.
    """

    reserved: ClassVar = frozenset({"model", "messages", "stream", "n"})

    base_url: Annotated[
        str, Field(description="address of the service, including the version, such as …/v1")
    ] = "https://api.openai.com/v1"
    model: Annotated[str, Field(description="name of the model at the service")]
    api_key_variable: Annotated[
        str, Field(description="environment variable that holds the API key")
    ] = "OPENAI_API_KEY"
    service: Annotated[
        str, Field(description="name of the service in model ids; empty = host of the URL")
    ] = ""
    temperature: Annotated[
        float | None,
        Field(
            ge=0.0,
            le=2.0,
            description="sampling temperature; none = do not send it, for services that refuse it",
        ),
    ] = 0.0
    seed: Annotated[int | None, Field(description="sampling seed; none = do not send one")] = None
    extra_body: Annotated[
        dict[str, JsonValue],
        Field(description="further fields of every request; put no secrets here"),
    ] = {}
    max_tokens_field: Annotated[
        Literal["max_tokens", "max_completion_tokens"],
        Field(description="name of the field that limits the length of a reply"),
    ] = "max_tokens"
    extra_tokens: Annotated[
        int,
        Field(
            ge=0, description="tokens added to the limit, for models that think before they answer"
        ),
    ] = 0
    concurrency: Annotated[
        int, Field(ge=1, le=512, description="most requests at the same time")
    ] = 16
    deadline_s: Annotated[
        float, Field(gt=0.0, description="seconds for all requests of one snapshot")
    ] = 120.0
    call_timeout_s: Annotated[
        float, Field(gt=0.0, description="seconds for one attempt of a request")
    ] = 20.0
    attempts: Annotated[int, Field(ge=1, description="most attempts of one request")] = 4
    first_pause_s: Annotated[
        float,
        Field(
            gt=0.0, description="seconds before the second attempt; doubles with each further one"
        ),
    ] = 0.5
    longest_pause_s: Annotated[
        float, Field(gt=0.0, description="longest pause between attempts, in seconds")
    ] = 8.0
    failures_to_open: Annotated[
        int,
        Field(
            ge=1, description="after so many failed requests in a row no more are sent for a while"
        ),
    ] = 5
    cool_down_s: Annotated[
        float, Field(gt=0.0, description="seconds for which no requests are sent then")
    ] = 30.0
    price_in: Annotated[float, Field(ge=0.0, description="price of a million prompt tokens")] = 0.0
    price_out: Annotated[
        float, Field(ge=0.0, description="price of a million completion tokens")
    ] = 0.0

    @property
    def is_local(self) -> bool:
        """Whether the service is on this machine, where no proxy may stand between."""
        return is_loopback(urlsplit(self.base_url).hostname or "")

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str) -> str:
        """Refuse what is no plain address; a key in it would end up in logs and records."""
        value = value.strip()
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            raise ValueError("must start with http:// or https:// and name a host")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must have no user, password, query or fragment")
        return value.rstrip("/")

    @field_validator("extra_body")
    @classmethod
    def _additional_only(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if clash := sorted(cls.reserved & value.keys()):
            raise ValueError(f"cannot set {', '.join(clash)}")
        return value


class OpenAiTokenOptions(OpenAiOptions):
    """A service that tells the log-probabilities of a prompt's tokens.

    That is the completions interface with `echo`, which vLLM and llama.cpp's server have. A service
    that ignores it is found out at the first call. Of the options of generation, sampling ones do
    not apply; `deadline_s` is the time of one query, of all its prompts together.
    """

    reserved: ClassVar = OpenAiOptions.reserved | {"prompt", "echo", "logprobs"}
