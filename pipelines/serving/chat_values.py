"""Chat completions as OpenAI's interface writes them: what is read, refused and answered."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.serving.bodies import Sources
from radarstream.pipelines.serving.errors import ServiceError

CONFIGURED: Final = "radarstream"  # the model that stands for the configured defence
# What asks for another kind of answer than one defended text. Others, such as `temperature`, only
# say how a model should write, and are ignored.
UNSUPPORTED: Final = (
    *("tools", "functions", "audio", "logprobs", "top_logprobs", "stop", "prediction"),
    *("web_search_options",),
)


class Loose(BaseModel):
    """A part of OpenAI's interface: what is not named here is ignored."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, frozen=True)


class Part(Loose):
    """A part of a message's content."""

    type: Annotated[str, Field(max_length=64)]
    text: str | None = None


class Message(Loose):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None


class StreamOptions(Loose):
    """Options of a stream."""

    include_usage: bool | None = None


class ChatRequest(Loose):
    """A request for a chat completion; `radarstream` is an extension."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[Message], Field(min_length=1, max_length=2_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    radarstream: Sources = Sources()

    @property
    def defense(self) -> str | None:
        """The defence that `model` names. Raises ServiceError 404."""
        if self.model == CONFIGURED:
            return None
        if self.model in DEFENSES:
            return self.model
        raise ServiceError(
            404,
            "model_not_found",
            "there is no such model; GET /v1/models lists them",
            param="model",
        )

    @property
    def question(self) -> str:
        """The text of the last message of the user: the only one that is read.

        Raises ServiceError 400.
        """
        asked = [message for message in self.messages if message.role == "user"]
        if not asked:
            raise ServiceError(
                400, "no_question", "messages: there is no user message", param="messages"
            )
        content = asked[-1].content
        if isinstance(content, list):
            if any(part.type != "text" or part.text is None for part in content):
                told = "messages: only parts of text are read, no images, audio or files"
                raise ServiceError(400, "unsupported_content", told, param="messages")
            return "\n".join(part.text or "" for part in content)
        return content or ""

    @property
    def with_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def insist_on_supported(self) -> None:
        """Raise ServiceError 400 for what would change the kind of the answer."""
        extra = self.model_extra or {}
        refused = [name for name in UNSUPPORTED if extra.get(name)]
        if self.n not in (None, 1):
            refused.append("n")
        if (self.response_format or {}).get("type", "text") != "text":
            refused.append("response_format")
        if self.modalities not in (None, ["text"]):
            refused.append("modalities")
        if refused:
            told = f"{refused[0]} is not supported: an answer is one text from defended documents"
            raise ServiceError(400, "unsupported_parameter", told, param=refused[0])


def usage_of(question: str, text: str) -> dict[str, int]:
    """Words of question and answer: a defence asks its models many times, and there is no one
    number of tokens.
    """
    asked, said = len(question.split()), len(text.split())
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def completion(
    name: str, created: int, model: str, text: str, facts: dict[str, Any], usage: dict[str, int]
) -> dict[str, Any]:
    """A whole chat completion."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = {"id": name, "object": "chat.completion", "created": created, "model": model}
    return head | {"choices": [choice], "usage": usage, "radarstream": facts}
