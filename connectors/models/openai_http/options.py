"""Settings of an OpenAI-compatible service: address, limits and prices."""

from typing import Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, field_validator

from radarstream.schemas.section import Attempts, is_loopback

VERSION: Final = "/v1"  # usual end of an address


class OpenAiOptions(Attempts):
    """A model of a vendor's service, or of a vLLM, Ollama or llama.cpp server.

    The environment variable `api_key_variable` has the key; with an empty name, no key is sent.
    `deadline_s` is the time of one snapshot for this model; its stages share it
    (`TaskSpec.deadline_share`).

    Limits and counts are for one section in one process: divide the limit of a service among the
    sections and workers that ask it.
    """

    reserved: ClassVar = frozenset({"model", "messages", "stream", "n"})

    base_url: str = "https://api.openai.com/v1"
    """address of the service, including the version, such as …/v1"""
    model: str
    """name of the model at the service"""
    api_key_variable: str = "OPENAI_API_KEY"
    """environment variable that holds the API key"""
    service: str = ""
    """name of the service in model ids; empty = host of the URL"""
    temperature: Annotated[float | None, Field(ge=0.0, le=2.0)] = 0.0
    """sampling temperature; none = do not send it, for services that refuse it"""
    seed: int | None = None
    """sampling seed; none = do not send one"""
    extra_body: dict[str, JsonValue] = {}
    """further fields of every request; put no secrets here"""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """name of the field that limits the length of a reply"""
    extra_tokens: Annotated[int, Field(ge=0)] = 0
    """tokens added to the limit, for models that think before they answer"""
    concurrency: Annotated[int, Field(ge=1, le=512)] = 16
    """most requests at the same time"""
    deadline_s: Annotated[float, Field(gt=0.0)] = 120.0
    """seconds for all requests of one snapshot"""
    call_timeout_s: Annotated[float, Field(gt=0.0)] = 20.0
    """seconds for one attempt of a request"""
    failures_to_open: Annotated[int, Field(ge=1)] = 5
    """successive failed requests after which no more are sent for a while"""
    cool_down_s: Annotated[float, Field(gt=0.0)] = 30.0
    """seconds of that while"""
    price_in: Annotated[float, Field(ge=0.0)] = 0.0
    """price of a million prompt tokens"""
    price_out: Annotated[float, Field(ge=0.0)] = 0.0
    """price of a million completion tokens"""

    @property
    def is_local(self) -> bool:
        """Whether the service is on this machine, which needs no proxy."""
        return is_loopback(urlsplit(self.base_url).hostname or "")

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str) -> str:
        """Refuse addresses with a user, query or fragment: a key in them would be logged."""
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
    """A service that returns the log-probabilities of a prompt's tokens.

    It needs the completions interface with `echo`, which vLLM and llama.cpp's server have. The
    first call fails if a service ignores it. Options of sampling have no effect; `deadline_s` is
    the time of one query with all its prompts.
    """

    reserved: ClassVar = OpenAiOptions.reserved | {"prompt", "echo", "logprobs"}
