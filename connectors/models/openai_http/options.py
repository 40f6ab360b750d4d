"""How to reach an OpenAI-compatible service, how patient to be and what it costs."""

from typing import Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, field_validator

from radarstream.schemas.section import Attempts, is_loopback

VERSION: Final = "/v1"  # how addresses end, nearly all


class OpenAiOptions(Attempts):
    """One model behind one endpoint: a vendor's, or a vLLM, Ollama or llama.cpp server.

    The key comes from the environment: `api_key_variable` names the variable that holds it; an
    empty name means that the service wants none. `deadline_s` is the time one snapshot may wait
    for this model in all; its stages share it (`TaskSpec.deadline_share`).

    Limits and counts are those of one section in one process: where generator and token
    probabilities come from one service, or several workers ask it, divide its limit among them.
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
    """after so many failed requests in a row no more are sent for a while"""
    cool_down_s: Annotated[float, Field(gt=0.0)] = 30.0
    """seconds for which no requests are sent then"""
    price_in: Annotated[float, Field(ge=0.0)] = 0.0
    """price of a million prompt tokens"""
    price_out: Annotated[float, Field(ge=0.0)] = 0.0
    """price of a million completion tokens"""

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
