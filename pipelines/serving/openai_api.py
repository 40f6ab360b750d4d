"""OpenAI's interface: an unmodified client of it asks, and gets a defended answer."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.asking.values import Reply, UserQuestion
from radarstream.pipelines.serving.access import MayAsk
from radarstream.pipelines.serving.bodies import Sources, body_of, described, question_of
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError, wrong
from radarstream.pipelines.serving.question_queue import QuestionQueue
from radarstream.pipelines.serving.replies import facts_of, text_of

EARLY_S: Final = 2.0  # an error that shows by then has its own status; then the stream begins
HEARTBEAT_S: Final = 10.0
PIECE: Final = re.compile(r"\S+\s*|\s+")
CONFIGURED: Final = "radarstream"  # the model that stands for the configured defence
# What asks for another kind of answer than one defended text. Others are ignored: `temperature`
# only says how a model should write, and of `tools` a model need not call any.
UNSUPPORTED: Final = (
    *("audio", "logprobs", "top_logprobs", "stop", "prediction", "web_search_options"),
)


class Loose(BaseModel):
    """A part of OpenAI's interface: what is not named here is ignored."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, frozen=True)


class Part(Loose):
    """A part of a message's content."""

    type: Annotated[str, Field(max_length=64)]
    text: str | None = None


def as_parts(content: Any) -> Any:
    """A text as the one part of a content."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class Message(Loose):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[
        list[Part] | None,
        BeforeValidator(as_parts, json_schema_input_type=str | list[Part] | None),
    ] = None


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
        return None if self.model == CONFIGURED else known(self.model)

    @property
    def question(self) -> tuple[str, str]:
        """The text of the user's last message, the only one read, and its path. Raises ServiceError
        400.
        """
        asked = [place for place, message in enumerate(self.messages) if message.role == "user"]
        if not asked:
            raise wrong("messages", "there is no user message", "no_question")
        content, path = self.messages[asked[-1]].content or (), f"messages.{asked[-1]}.content"
        for place, part in enumerate(content):
            if part.type != "text" or part.text is None:
                why = "only parts of text are read, no images, audio or files"
                raise wrong(f"{path}.{place}", why, "unsupported_content")
        return "\n".join(part.text or "" for part in content), path

    @property
    def with_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def insist_on_supported(self) -> None:
        """Raise ServiceError 400 for what would change the kind of the answer."""
        extra = self.model_extra or {}
        refused = [name for name in UNSUPPORTED if extra.get(name)]
        choices = ("tool_choice", "function_call")
        refused += [name for name in choices if extra.get(name) not in (None, "auto", "none")]
        if self.n not in (None, 1):
            refused.append("n")
        if (self.response_format or {}).get("type", "text") != "text":
            refused.append("response_format")
        if self.modalities not in (None, ["text"]):
            refused.append("modalities")
        if refused:
            why = "it is not supported: an answer is one text from defended documents"
            raise wrong(refused[0], why, "unsupported_parameter")


def router(context: Context) -> APIRouter:
    """The routes under /v1."""
    routes = APIRouter(tags=["OpenAI's interface"])
    questions = context.questions

    @routes.get("/v1/models", response_class=JSONResponse)
    async def models(_user: MayAsk) -> dict[str, Any]:
        """The defences, each as a model; `radarstream` is the configured one."""
        return {"object": "list", "data": [model(name) for name in (CONFIGURED, *DEFENSES)]}

    @routes.get("/v1/models/{name}", response_class=JSONResponse)
    async def one_model(name: str, _user: MayAsk) -> dict[str, Any]:
        """One defence as a model."""
        return model(known(name))

    @routes.post("/v1/chat/completions", openapi_extra=described(ChatRequest))
    async def chat(request: Request, user: MayAsk) -> Response:
        """Answer the last message of the user; earlier messages are not read."""
        asked = await body_of(request, ChatRequest)
        asked.insist_on_supported()
        text, path = asked.question
        given = (text, asked.radarstream, asked.defense)
        question = question_of(context.settings, user, *given, field=path)
        if asked.stream:
            return await streamed(questions, request, asked, question)
        reply = await questions.reply(request, question)
        message = {"role": "assistant", "content": text_of(reply), "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        rest = {"choices": [choice], "usage": usage_of(question.text, text_of(reply))}
        return JSONResponse(head_of(asked) | rest | {"radarstream": facts_of(reply)})

    return routes


def known(name: str) -> str:
    """The name of a model. Raises ServiceError 404 for one that there is not."""
    if name != CONFIGURED and name not in DEFENSES:
        why = "there is no such model; GET /v1/models lists them"
        raise wrong("model", why, "model_not_found", 404)
    return name


def model(name: str) -> dict[str, Any]:
    """A defence as a model."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "radarstream"}


async def streamed(
    questions: QuestionQueue, request: Request, asked: ChatRequest, question: UserQuestion
) -> Response:
    """The reply as server-sent events. Raises ServiceError for what fails at once."""
    reply = asyncio.create_task(questions.reply(request, question))
    try:
        await asyncio.wait({reply}, timeout=EARLY_S)
        if reply.done():
            reply.result()
    except BaseException:
        reply.cancel()
        raise
    return StreamingResponse(
        events(reply, asked, question.text),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},  # a proxy should pass each event on at once
    )


async def events(
    reply: "asyncio.Task[Reply]", asked: ChatRequest, question: str
) -> AsyncIterator[str]:
    """The role, the words, the facts, the usage, the end; comments meanwhile; a late error."""
    head = head_of(asked, "chat.completion.chunk")
    try:
        yield event(head | chunk({"role": "assistant", "content": ""}, asked))
        while not (await asyncio.wait({reply}, timeout=HEARTBEAT_S))[0]:
            yield ": the question is being answered\n\n"
        try:
            replied = reply.result()
        except ServiceError as error:
            yield event(error.body)
            return
        text = text_of(replied)
        for piece in PIECE.findall(text):
            yield event(head | chunk({"content": piece}, asked))
        last = chunk({}, asked, finish="stop")
        yield event(head | last | {"radarstream": facts_of(replied)})
        if asked.with_usage:
            yield event(head | {"choices": [], "usage": usage_of(question, text)})
        yield "data: [DONE]\n\n"
    finally:
        reply.cancel()


def head_of(asked: ChatRequest, kind: str = "chat.completion") -> dict[str, Any]:
    """The fields of a completion, or of all its chunks, that say which one it is."""
    created = int(datetime.now(UTC).timestamp())
    name = f"chatcmpl-{uuid4().hex}"
    return {"id": name, "object": kind, "created": created, "model": asked.model}


def chunk(delta: dict[str, Any], asked: ChatRequest, finish: str | None = None) -> dict[str, Any]:
    """The part of a chunk that differs from the next one's."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"choices": [choice]} | ({"usage": None} if asked.with_usage else {})


def event(value: dict[str, Any]) -> str:
    """A server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n"


def usage_of(question: str, text: str) -> dict[str, int]:
    """Counts of words: a defence asks models many times, so there is no one number of tokens."""
    asked, said = len(question.split()), len(text.split())
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
