"""Reads documents and asks for a request: within the user's rate, in turn, in time, while the
client is there.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from threading import Lock
from time import monotonic, perf_counter
from typing import Any, Final, TypeVar

import structlog
from fastapi import Request

from radarstream.connectors.traces import HEADER
from radarstream.pipelines.asking.batching import Batched
from radarstream.pipelines.asking.values import Reply, UserQuestion
from radarstream.pipelines.documents import Offered, Reading
from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.serving.errors import ServiceError, service_error, too_many, unavailable
from radarstream.pipelines.serving.people import share_of
from radarstream.pipelines.settings.root import ServingSettings
from radarstream.schemas.errors import RadarstreamError

ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")
Waiting = tuple[UserQuestion, str]  # a question with documents to be read, and whose share it takes
READING: Final = 0.5  # of the time: how long a share's documents may be read
TOO_MANY: Final = "too many questions, or too long documents to be read"
TIMES_FREE: Final = 3  # a share may hold fewer places than this times those that are free
KNOWN: Final = 10_000  # names whose buckets are kept; the one idle for longest is forgotten


class Buckets:
    """A bucket of tokens per name, refilled evenly within a minute; safe for threads."""

    def __init__(self, per_minute: float, now: Callable[[], float] = monotonic) -> None:
        self._size, self._per_second, self._now = per_minute, per_minute / 60.0, now
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = Lock()

    def take(self, name: str, tokens: float = 1.0, *, owed: bool = False) -> float:
        """Take tokens if they are there, or they are owed. Returns 0, or seconds until they are."""
        with self._lock:
            now = self._now()
            level, then = self._levels.pop(name, (self._size, now))
            level = min(self._size, level + (now - then) * self._per_second)
            wait = 0.0 if owed else max(0.0, (tokens - level) / self._per_second)
            self._levels[name] = (level if wait else level - tokens, now)
            if len(self._levels) > KNOWN:
                del self._levels[next(iter(self._levels))]
        return wait


class Places:
    """`most` places, of which one share gets three quarters at most: the bound follows the free
    places ("Dynamic queue length thresholds for shared-memory packet switches", Choudhury and
    Hahne, 1998).
    """

    def __init__(self, most: int, metrics: ServingMetrics) -> None:
        self._most, self._metrics = most, metrics
        self._held: Counter[str] = Counter()

    @contextmanager
    def taken(self, share: str) -> Iterator[None]:
        """Hold a place. Raises ServiceError 503 where the share has its part, or none is left."""
        if self._held[share] >= TIMES_FREE * (self._most - self._held.total()):
            self._metrics.refused.labels("busy").inc()
            raise unavailable("overloaded", "too many requests are in hand; try again")
        self._held[share] += 1
        self._metrics.in_hand.inc()
        try:
            yield
        finally:
            self._metrics.in_hand.dec()
            self._held[share] -= 1
            if not self._held[share]:
                del self._held[share]


AGAIN_S: Final = 10.0  # after models that did not answer

log = structlog.get_logger("radarstream")


class Warming:
    """Loads models in a thread; `load` raises where one does not answer, None loads nothing.
    Questions wait for the first try; it is repeated until all models have answered (`ready`).
    """

    def __init__(self, load: Callable[[], None] | None = None) -> None:
        self._load = load
        self._tried = asyncio.Event()
        self._tried.set()  # nobody waits before somebody loads
        self.ready = load is None

    @property
    def loading(self) -> bool:
        """Whether questions have to wait."""
        return not self._tried.is_set()

    async def tried(self) -> None:
        """Wait until the models are loaded, or one of them did not answer."""
        await self._tried.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load while the context lasts."""
        if self._load is None:
            yield
            return
        self._tried.clear()
        loading = asyncio.create_task(self._until_ready(self._load))
        try:
            yield
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading

    async def _until_ready(self, load: Callable[[], None]) -> None:
        while True:
            try:
                await asyncio.to_thread(load)
            except RadarstreamError as error:
                log.warning("a model does not answer yet", error=error)
            except Exception as error:  # noqa: BLE001 a library's; questions will tell
                log.error("the models could not be loaded", error=error)  # noqa: TRY400 as above
            else:
                self.ready = True
                log.info("models are loaded", state="ready")
                return
            finally:
                self._tried.set()
            await asyncio.sleep(AGAIN_S)


AT_ONCE: Final = 4  # questions of one batch: with ten documents each, enough to keep models busy

# A reply or an error for each question, in order; may block, safe for threads.
AnswerAll = Callable[[Sequence[UserQuestion]], list[Reply | RadarstreamError]]
# Reads documents until a time (monotonic); may block, one call at a time. Raises RadarstreamError.
Read = Callable[[Sequence[Offered], float], Reading]


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
        self._reading = Batched[Waiting, UserQuestion](self._read_all, "service", 1)
        self._read = read

    async def reply(self, request: Request | None, question: UserQuestion) -> Reply:
        """The reply. Raises ServiceError: 429 where the share asked too much, 499 where the client
        left.

        A batch that has begun goes on without those who left. The time limit counts from when the
        models are loaded. Without `request` nobody can leave.
        """
        share, started = share_of(question.user, request), perf_counter()
        if request is not None:
            question = replace(question, trace=request.headers.get(HEADER, ""))
        if wait := self._buckets.take(share):
            raise too_many(TOO_MANY, wait)
        leaving = asyncio.create_task(gone(request))
        try:
            if self._warming.loading:
                await first_of(self._warming.tried(), leaving)
            if question.to_read:
                question = await self._before(leaving, self._reading, (question, share), share)
            reply = await self._before(leaving, self._batched, question, share)
        finally:
            leaving.cancel()
        self._count(reply, perf_counter() - started)
        return reply

    def _read_all(self, waiting: Sequence[Waiting]) -> list[UserQuestion]:
        """The one question with its documents read. Raises RadarstreamError, ServiceError 429 where
        too much was read for its share.
        """
        ((question, share),) = waiting
        if wait := self._buckets.take(share, 0.0):
            raise too_many(TOO_MANY, wait)
        began = monotonic()
        try:
            until = began + READING * self._settings.timeout_s
            documents, unread = self._read(question.to_read, until)
        finally:
            tokens = (monotonic() - began) / READING * self._settings.questions_per_minute / 60.0
            self._buckets.take(share, tokens, owed=True)
        return [replace(question, documents=documents, unread=unread, to_read=())]

    async def _before(
        self,
        leaving: "asyncio.Task[None]",
        queue: Batched[ItemT, OutT],
        question: ItemT,
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
