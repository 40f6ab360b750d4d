"""New answers and incidents as server-sent events, for whoever keeps a connection open.

One reader per process looks into the database while anybody listens, so it does not matter which
process a client reaches, or where the job runs. An event's id is a number of the database: a client
that comes back with it (`Last-Event-ID`) is told what it missed, here or from another process.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Annotated, Any, Final

import structlog
from fastapi import APIRouter, Header, Request
from fastapi.responses import Response, StreamingResponse
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from radarstream.connectors.state_table.incidents.complaints import counts
from radarstream.connectors.state_table.incidents.store import incident_marks
from radarstream.connectors.state_table.serving import kept_events
from radarstream.pipelines.serving.access import MayAsk, user_of
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError, too_many, unavailable
from radarstream.pipelines.serving.limits import leave_place
from radarstream.pipelines.serving.people import Role, User
from radarstream.schemas.times import wire_time

POLL_S: Final = 1.0
HEARTBEAT_S: Final = 15.0
CHECKED_S: Final = 5.0  # how long a stream goes on without asking whether its user still may
WAITING: Final = 200  # events that a slow client may lag behind; then it must come back
MISSED: Final = 500  # events that a client is told when it comes back
ANSWER, INCIDENTS = "answer", "incidents"  # kinds of events
RETRY_MS: Final = 2_000  # when a browser comes back
LastSeen = Annotated[str, Header(alias="Last-Event-ID", max_length=20)]

log = structlog.get_logger("radarstream")


@dataclass(frozen=True, slots=True)
class Told:
    """One event as it is sent. `seq` is the number of the last answer; `kind` names its type."""

    seq: int
    kind: str
    value: dict[str, Any]

    @property
    def text(self) -> str:
        """The event on the wire."""
        data = json.dumps(self.value, ensure_ascii=False, separators=(",", ":"))
        return f"id: {self.seq}\nevent: {self.kind}\ndata: {data}\n\n"


@dataclass(eq=False)
class Stream:
    """The events of one client of a user that were not sent yet."""

    user: User
    waiting: asyncio.Queue[Told | None] = field(default_factory=lambda: asyncio.Queue(WAITING))

    def put(self, told: Told | None) -> None:
        """Add an event; a client that lags too far behind is told to come back."""
        if self.waiting.full():
            while not self.waiting.empty():
                self.waiting.get_nowait()
            told = None
        self.waiting.put_nowait(told)


class Hub:
    """Reads the database while there are streams, and passes on what is new."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._streams: set[Stream] = set()
        self._reading: asyncio.Task[None] | None = None

    def join(self, user: User) -> Stream:
        """A new stream. Raises ServiceError 429 where the user has too many, 503 where all have."""
        serving = self._context.settings.serving
        if len(self._streams) >= serving.streams:
            raise unavailable("too_many_streams", "too many clients follow the events")
        if (
            sum(stream.user.name == user.name for stream in self._streams)
            >= serving.streams_per_user
        ):
            raise too_many("too many clients of this user follow the events", RETRY_MS / 1_000)
        stream = Stream(user)
        self._streams.add(stream)
        self._context.metrics.followers.set(len(self._streams))
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return stream

    def leave(self, stream: Stream) -> None:
        """Forget a stream."""
        self._streams.discard(stream)
        self._context.metrics.followers.set(len(self._streams))

    async def _read(self) -> None:
        """Poll while anybody listens; a database that is away is tried again."""
        engine, feed, marks = self._context.engine, None, ""
        while self._streams and not self._context.stopping.is_set():
            try:
                if feed is None:
                    start = await run_in_threadpool(kept_events.last_number, engine)
                    feed = kept_events.Feed(engine, start)
                for kept in await run_in_threadpool(feed.read):
                    self._pass_on(answered(kept))
                present = await run_in_threadpool(incident_marks, engine)
                if present != marks:
                    marks = present
                    self._pass_on(await run_in_threadpool(inbox, engine, feed.after))
            except SQLAlchemyError as error:
                log.warning("events cannot be read", error=error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._context.stopping.wait(), POLL_S)
        for stream in self._streams:
            stream.put(None)

    def _pass_on(self, told: Told) -> None:
        for stream in self._streams:
            if told.kind == ANSWER or Role.OPERATE in stream.user.roles:
                stream.put(told)


def router(context: Context) -> APIRouter:
    """The route of the events."""
    routes, hub = APIRouter(tags=["answers"]), Hub(context)

    @routes.get("/events", response_class=StreamingResponse)
    async def events(request: Request, user: MayAsk, last_seen: LastSeen = "") -> Response:
        """New answers (`answer`) as they come, and to operators the inbox of reported ones
        (`incidents`).
        """
        after = number_in(last_seen)
        stream = hub.join(user)  # before it is read what was missed: nothing falls between
        try:
            missed = await run_in_threadpool(told_since, context.engine, after)
        except BaseException:
            hub.leave(stream)
            raise
        leave_place(request)  # streams have a limit of their own
        return StreamingResponse(
            followed(hub, stream, missed, partial(may_follow, request, user)),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},  # a proxy should pass each event on at once
        )

    return routes


def number_in(last_seen: str) -> int | None:
    """The number of the last event that a client has seen; None for what is none of ours."""
    plain = last_seen.isascii() and last_seen.isdigit() and len(last_seen) < len(str(2**63))
    return int(last_seen) if plain else None


async def may_follow(request: Request, before: User) -> bool:
    """Whether a stream may go on: not where its user's token or session ended, or roles changed."""
    try:
        user = await user_of(request)
    except ServiceError:
        return False
    except SQLAlchemyError:  # nothing can be read now; the next check decides
        return True
    return user is not None and user.roles == before.roles


async def followed(
    hub: Hub, stream: Stream, missed: list[Told], may_go_on: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    """What a client is sent: what it missed, then what comes, and comments while nothing does.

    Ends where `may_go_on` says no; a client that still may comes back.
    """
    checked = monotonic()
    try:
        yield f"retry: {RETRY_MS}\n\n"
        for told in missed:
            yield told.text
        sent = {told.seq for told in missed}
        while True:
            told_now, quiet = None, False
            try:
                told_now = await asyncio.wait_for(stream.waiting.get(), HEARTBEAT_S)
            except TimeoutError:
                quiet = True
            if monotonic() - checked >= CHECKED_S:
                if not await may_go_on():
                    return
                checked = monotonic()
            if quiet:
                yield ": nothing new\n\n"
                continue
            if told_now is None:
                return
            if told_now.kind != ANSWER or told_now.seq not in sent:
                yield told_now.text
    finally:
        hub.leave(stream)


def told_since(engine: Engine, after: int | None) -> list[Told]:
    """The answers kept after a number, the oldest first; none without a number."""
    if after is None:
        return []
    kept = kept_events.events_since(engine, after, limit=MISSED)
    return [answered(one) for one in kept]


def answered(kept: kept_events.KeptEvent) -> Told:
    """What is told of a new answer of a watched query."""
    event = kept.event
    return Told(
        kept.seq,
        ANSWER,
        {
            "query_id": event.query_id,
            "question": event.question,
            "step": event.step,
            "observed_at": wire_time(event.observed_at),
            "answer": None if event.abstention else event.answer,
            "abstention": event.abstention,
            "status": event.status,
            "changed": event.changed,
        },
    )


def inbox(engine: Engine, seq: int) -> Told:
    """How many complaints there are by what became of them, and incidents by status."""
    by_state, by_status = counts(engine)
    return Told(seq, INCIDENTS, {"complaints": by_state, "incidents": by_status})
