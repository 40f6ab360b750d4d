"""OpenAI's interface: an unmodified client of it asks, and gets a defended answer."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.asking.values import Reply, UserQuestion
from radarstream.pipelines.serving.access import MayAsk
from radarstream.pipelines.serving.bodies import body_of, described, question_of
from radarstream.pipelines.serving.chat_values import (
    CONFIGURED,
    ChatRequest,
    completion,
    usage_of,
)
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError, told_of
from radarstream.pipelines.serving.question_queue import QuestionQueue
from radarstream.pipelines.serving.told import facts_of, text_of

EARLY_S: Final = 2.0  # an error that shows by then has its own status; then the stream begins
HEARTBEAT_S: Final = 10.0
PIECE: Final = re.compile(r"\S+\s*|\s+")


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
        if name != CONFIGURED and name not in DEFENSES:
            raise ServiceError(404, "model_not_found", "there is no such model", param="model")
        return model(name)

    @routes.post("/v1/chat/completions", openapi_extra=described(ChatRequest))
    async def chat(request: Request, user: MayAsk) -> Response:
        """Answer the last message of the user; earlier messages are not read."""
        asked = await body_of(request, ChatRequest)
        asked.insist_on_supported()
        question = question_of(
            context.settings, user, asked.question, asked.radarstream, asked.defense
        )
        questions.admit(request, user)
        if asked.stream:
            return await streamed(questions, request, asked, question)
        reply = await questions.reply(request, question)
        text = text_of(reply)
        usage = usage_of(question.text, text)
        return JSONResponse(
            completion(new_name(), now(), asked.model, text, facts_of(reply), usage)
        )

    return routes


def model(name: str) -> dict[str, Any]:
    """A defence as a model."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "radarstream"}


def new_name() -> str:
    """A new name for a completion."""
    return f"chatcmpl-{uuid4().hex}"


def now() -> int:
    """Seconds since 1970."""
    return int(datetime.now(UTC).timestamp())


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
    """The role, the words once they are decided, the facts, the usage, the end.

    Comments keep the connection alive meanwhile. An error that comes late is an event.
    """
    head = {
        "id": new_name(),
        "object": "chat.completion.chunk",
        "created": now(),
        "model": asked.model,
    }
    try:
        yield event(head | chunk({"role": "assistant", "content": ""}, asked))
        while not (await asyncio.wait({reply}, timeout=HEARTBEAT_S))[0]:
            yield ": the question is being answered\n\n"
        try:
            found = reply.result()
        except ServiceError as error:
            yield event(told_of(error).body)
            return
        text = text_of(found)
        for piece in PIECE.findall(text):
            yield event(head | chunk({"content": piece}, asked))
        last = chunk({}, asked, finish="stop")
        yield event(head | last | {"radarstream": facts_of(found)})
        if asked.with_usage:
            yield event(head | {"choices": [], "usage": usage_of(question, text)})
        yield "data: [DONE]\n\n"
    finally:
        reply.cancel()


def chunk(delta: dict[str, Any], asked: ChatRequest, finish: str | None = None) -> dict[str, Any]:
    """The part of a chunk that differs from the next one's."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"choices": [choice]} | ({"usage": None} if asked.with_usage else {})


def event(value: dict[str, Any]) -> str:
    """A server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n"
