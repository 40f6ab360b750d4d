"""Reads documents and asks for a request: within the user's rate, in turn, in time, while the
client is there.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from time import monotonic, perf_counter
from typing import Any, Final, TypeVar

import structlog
from fastapi import Request

from radarstream.pipelines.asking.batching import Batched
from radarstream.pipelines.asking.values import Reply, UserQuestion
from radarstream.pipelines.documents import Given
from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.serving.errors import ServiceError, service_error, too_many
from radarstream.pipelines.serving.people import share_of
from radarstream.pipelines.serving.shares import Buckets
from radarstream.pipelines.serving.warming import Warming
from radarstream.pipelines.settings.serving import ServingSettings
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.snapshot import Document

OutT = TypeVar("OutT")
AT_ONCE: Final = 4  # questions of one batch: with ten documents each, enough to keep models busy

log = structlog.get_logger("radarstream")


# A reply or an error for each question, in order; may block, safe for threads.
AnswerAll = Callable[[Sequence[UserQuestion]], list[Reply | RadarstreamError]]
# Reads documents until a time (monotonic); may block, one call at a time. Raises RadarstreamError.
Read = Callable[[Sequence[Document | Given], float], tuple[Document, ...]]


class QuestionQueue:
    """Questions of requests, answered by a thread in small batches, each user's queue in turn."""

    def __init__(
        self,
        answer_all: AnswerAll,
        read: Read,
        settings: ServingSettings,
        metrics: ServingMetrics,
        warming: Warming,
    ) -> None:
        self._settings, self._metrics, self._warming = settings, metrics, warming
        self._buckets = Buckets(settings.questions_per_minute)
        self._batched = Batched[UserQuestion, Reply](answer_all, "service", AT_ONCE)
        self._reading = Batched[UserQuestion, UserQuestion](self._read_all, "service", 1)
        self._read = read

    async def reply(self, request: Request | None, question: UserQuestion) -> Reply:
        """The reply. Raises ServiceError: 429 where the share asked too much, 499 where the client
        left.

        A batch that has begun goes on without those who left. The time limit counts from when the
        models are loaded. Without `request` nobody can leave.
        """
        share, started = share_of(question.user, request), perf_counter()
        if wait := self._buckets.take(share):
            raise too_many("too many questions", wait)
        leaving = asyncio.create_task(gone(request))
        try:
            if self._warming.loading:
                await first_of(self._warming.tried(), leaving)
            if question.unread:
                question = await self._before(leaving, self._reading, question, share)
            reply = await self._before(leaving, self._batched, question, share)
        finally:
            leaving.cancel()
        self._count(reply, perf_counter() - started)
        return reply

    def _read_all(self, questions: Sequence[UserQuestion]) -> list[UserQuestion]:
        """The questions with their documents read. Raises RadarstreamError."""
        until = monotonic() + self._settings.timeout_s
        return [replace(q, documents=self._read(q.unread, until), unread=()) for q in questions]

    async def _before(
        self,
        leaving: "asyncio.Task[None]",
        queue: Batched[UserQuestion, OutT],
        question: UserQuestion,
        share: str,
    ) -> OutT:
        """What comes of a question in a queue, in time and before the client leaves."""
        if leaving.done():
            raise self._failed(given_up(left=True))
        asking = asyncio.create_task(queue.submit(question, share))
        if not await first_of(asking, leaving, self._settings.timeout_s):
            raise self._failed(given_up(left=leaving.done()))
        if (error := asking.exception()) is not None:
            raise self._failed(error)
        return asking.result()

    def _failed(self, error: BaseException) -> ServiceError:
        """Count and log why there is no reply; what the client is told."""
        refusal = service_error(error)
        self._metrics.failures.labels(refusal.code).inc()
        if refusal is not error:
            log.warning("question failed", status=refusal.status, error=error)
        return refusal

    async def close(self) -> None:
        """Wait for what is in hand."""
        await self._reading.close()
        await self._batched.close()

    def _count(self, reply: Reply, seconds: float) -> None:
        metrics, orchestration = self._metrics, reply.orchestration
        metrics.asking.observe(seconds)
        metrics.replies.labels(reply.event.status.value).inc()
        metrics.result_pages.inc(reply.event.result_pages or 0)
        metrics.wanting.inc(reply.event.wanted_more)
        profile = orchestration.after or orchestration.before
        if profile is not None:
            metrics.risks.labels(profile.level.value).inc()
        for module in orchestration.plan.active:
            metrics.modules.labels(module.value).inc()


async def first_of(
    wanted: "Coroutine[Any, Any, Any] | asyncio.Task[Any]",
    leaving: "asyncio.Task[None]",
    timeout_s: float | None = None,
) -> bool:
    """Wait for the first of two; whether it is the wanted one, which is cancelled if it is not."""
    task = asyncio.ensure_future(wanted)
    try:
        await asyncio.wait({task, leaving}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        return task.done()
    finally:
        task.cancel()


def given_up(*, left: bool) -> ServiceError:
    """Why nobody waits for a reply any more."""
    if left:
        return ServiceError(499, "client_left", "the client went away")
    return ServiceError(504, "timeout", "the question took too long")


async def gone(request: Request | None) -> None:
    """Wait until the client goes away; without end for no request."""
    if request is None:
        await asyncio.Event().wait()
        return
    while (await request.receive())["type"] != "http.disconnect":
        pass
