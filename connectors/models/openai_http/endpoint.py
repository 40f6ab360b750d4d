"""One endpoint: bounded requests over kept connections, repeated while that can help."""

import asyncio
import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from radarstream.connectors.models.openai_http.failures import (
    Kind,
    RequestError,
    ServiceError,
    failure_of_status,
)
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.reply import error_codes

RESPONSE_BYTES: Final = 512 * 1024  # more is no answer to prompts of at most a few hundred tokens
_BEFORE_DEADLINE_S: Final = 0.05  # a turn is given up, before the caller's own time-out ends all

ReplyT = TypeVar("ReplyT")


class Endpoint:
    """Sends requests; lives in one event loop.

    `on_failure` is told the kind of every failed attempt. The key is kept here only, and shown
    nowhere.
    """

    def __init__(
        self, options: OpenAiOptions, key: str, on_failure: Callable[[Kind], None]
    ) -> None:
        self._options = options
        self._on_failure = on_failure
        self._pacing = asyncio.Lock()
        self._next_turn = 0.0
        # Compressed replies are not asked for: a few bytes of one could unpack to gigabytes.
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        limits = httpx.Limits(
            max_connections=options.concurrency, max_keepalive_connections=options.concurrency
        )
        # Time is limited from outside, by `asyncio.timeout`: read time-outs start anew with every
        # byte, so that a slow drip would never end.
        self._client = httpx.AsyncClient(
            headers=headers, limits=limits, timeout=None, follow_redirects=False
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def post(
        self, path: str, payload: dict[str, Any], read: Callable[[bytes], ReplyT], deadline: float
    ) -> ReplyT:
        """POST until `read` accepts the reply, trying again while that can help.

        `deadline` is in seconds of the loop's clock: no pause reaches beyond it; whoever calls
        enforces it. Raises ServiceError or RequestError.
        """

        def too_late(state: RetryCallState) -> bool:
            return asyncio.get_running_loop().time() + state.upcoming_sleep >= deadline

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda e: isinstance(e, ServiceError) and e.passing),
            wait=self._pause,
            stop=lambda state: stop_after_attempt(self._options.attempts)(state) or too_late(state),
            reraise=True,
        )

        failed: list[ServiceError] = []

        async def attempt() -> ReplyT:
            try:
                await self._turn(deadline)
            except ServiceError as late:  # says less than why an earlier attempt failed
                raise failed[-1] if failed else late from None
            try:
                async with asyncio.timeout(self._options.call_timeout_s):
                    return read(await self._exchange("POST", path, payload))
            except TimeoutError:
                self._on_failure("timeout")
                raise ServiceError(
                    "timeout", f"no answer within {self._options.call_timeout_s:g} s"
                ) from None
            except (ServiceError, RequestError) as failure:
                self._on_failure(failure.kind)
                if isinstance(failure, ServiceError):
                    failed.append(failure)
                raise

        return await retrying(attempt)

    async def get(self, path: str) -> bytes:
        """GET once. Raises ServiceError or RequestError."""
        try:
            async with asyncio.timeout(self._options.call_timeout_s):
                return await self._exchange("GET", path, None)
        except TimeoutError:
            raise ServiceError("timeout", "no answer in time") from None

    async def _turn(self, deadline: float) -> None:
        """Wait until the rate limit allows another request; who gives up before takes no turn.

        Raises ServiceError when that would be after the deadline.
        """
        if self._options.requests_per_minute is None:
            return
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(deadline - _BEFORE_DEADLINE_S), self._pacing:
                turn = max(loop.time(), self._next_turn)
                await asyncio.sleep(turn - loop.time())
                self._next_turn = turn + 60.0 / self._options.requests_per_minute
        except TimeoutError:
            self._on_failure("not_asked")
            raise ServiceError(
                "not_asked", "not asked: the pace left no turn before the deadline", passing=False
            ) from None

    async def _exchange(self, method: str, path: str, payload: dict[str, Any] | None) -> bytes:
        """Send one request; the body of its reply, of at most RESPONSE_BYTES."""
        # Escaped, so that no text, whatever it is, fails to be encoded.
        content = None if payload is None else json.dumps(payload).encode("ascii")
        headers = {} if payload is None else {"content-type": "application/json"}
        url = self._options.base_url + path
        try:
            async with self._client.stream(method, url, content=content, headers=headers) as reply:
                body = await _read(reply)
                if reply.status_code == 200:
                    return body
                raise failure_of_status(
                    reply.status_code, error_codes(body), retry_after_s(reply.headers)
                )
        except httpx.HTTPError as error:
            # The library's message may hold the URL of a proxy with its password.
            raise ServiceError("connection", f"no connection: {type(error).__name__}") from None

    def _pause(self, state: RetryCallState) -> float:
        """Seconds before the next attempt: what the service asks for, or doubling, with jitter."""
        failure = state.outcome.exception() if state.outcome else None
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 no secret
        backoff = self._options.first_pause_s * 2.0 ** (state.attempt_number - 1)
        pause = min(backoff, self._options.longest_pause_s) * jitter
        if isinstance(failure, ServiceError) and failure.retry_after_s is not None:
            return failure.retry_after_s + min(pause, self._options.first_pause_s)
        return pause


async def _read(reply: httpx.Response) -> bytes:
    if reply.headers.get("content-encoding", "identity").lower() not in {"", "identity"}:
        raise ServiceError("malformed", "the service returned a compressed body unasked")
    body = bytearray()
    async for piece in reply.aiter_raw():
        body += piece
        if len(body) > RESPONSE_BYTES:
            if reply.status_code != 200:
                return b""
            raise RequestError("oversized", f"the reply exceeds {RESPONSE_BYTES} bytes")
    return bytes(body)


def retry_after_s(headers: httpx.Headers) -> float | None:
    """Seconds that Retry-After asks for, as a number or as an HTTP date; None without one."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    moment = _http_date(value)
    if moment is None:
        return None
    # By the service's own clock if it tells, which need not agree with ours.
    now = _http_date(headers.get("date", "")) or datetime.now(UTC)
    return max(0.0, (moment - now).total_seconds())


def _http_date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
