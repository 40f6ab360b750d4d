"""Connections to one service: requests with limits and retries."""

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from radarstream.connectors.models.openai_http.failures import (
    Kind,
    RequestError,
    ServiceError,
    failure_of_status,
)
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.replies import error_codes
from radarstream.connectors.retry_after import retry_after_s

if TYPE_CHECKING:
    import httpx  # slow to import, and seldom needed

RESPONSE_BYTES: Final = 512 * 1024  # more than a reply of a few hundred tokens has

ReplyT = TypeVar("ReplyT")


class Endpoint:
    """Sends requests from an event loop in a thread of its own, which ends with the process.

    `free` is a semaphore of the free connections. It calls `on_failure` with the kind of every
    failed attempt. Only this object has the key.
    """

    def __init__(
        self, options: OpenAiOptions, key: str, on_failure: Callable[[Kind], None]
    ) -> None:
        import httpx

        self._options = options
        self._on_failure = on_failure
        most = options.concurrency
        # `asyncio.timeout` limits the time, because httpx limits each read only.
        self._client = httpx.AsyncClient(
            headers=headers_of(key),
            limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
            timeout=None,
            follow_redirects=False,
            trust_env=not options.is_local,
        )
        self.free = asyncio.Semaphore(most)
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, name="openai-http", daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, ReplyT]) -> Future[ReplyT]:
        """Start a coroutine in the loop; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self) -> None:
        """Close connections and loop; coroutines that still run are dropped."""
        self.submit(self._client.aclose()).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def post(
        self, path: str, payload: dict[str, Any], read: Callable[[bytes], ReplyT], deadline: float
    ) -> ReplyT:
        """POST until `read` accepts the reply, with retries of failures that may pass.

        No pause ends after `deadline`, in seconds of the loop's clock, which the caller enforces.
        Raises ServiceError or RequestError.
        """
        for attempt in range(1, self._options.attempts + 1):
            try:
                return read(await self._exchange(path, payload))
            except (ServiceError, RequestError) as failure:
                self._on_failure(failure.kind)
                if isinstance(failure, RequestError) or not failure.passing:
                    raise
                pause = self._pause(failure, attempt)
                too_late = self.loop.time() + pause >= deadline
                if attempt == self._options.attempts or too_late:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError

    async def _exchange(self, path: str, payload: dict[str, Any]) -> bytes:
        """Send one request and return the body of its reply, of at most RESPONSE_BYTES."""
        import httpx

        # Escaped, so that every text can be encoded.
        content = json.dumps(payload).encode("ascii")
        service, seconds = self._options.base_url, self._options.call_timeout_s
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream("POST", service + path, content=content) as reply,
            ):
                body = await _read(reply)
                if reply.status_code == 200:
                    return body
                raise failure_of_status(
                    reply.status_code, error_codes(body), retry_after_s(reply.headers)
                )
        except httpx.HTTPError as error:
            # The library's message may have the URL of a proxy with its password.
            said = f"no connection to {service}: {type(error).__name__}"
            raise ServiceError("connection", said) from None
        except TimeoutError:
            raise ServiceError(
                "timeout", f"no answer from {service} within {seconds:g} s"
            ) from None

    def _pause(self, failure: ServiceError, attempt: int) -> float:
        """Return the seconds before the next attempt: the service's, or doubling, with jitter."""
        backoff = self._options.first_pause_s * 2.0 ** (attempt - 1)
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 no secret
        pause = min(backoff, self._options.longest_pause_s) * jitter
        if failure.retry_after_s is not None:
            return failure.retry_after_s + min(pause, self._options.first_pause_s)
        return pause


def headers_of(key: str) -> dict[str, str]:
    """Return the headers of every request; "" means no key.

    They exclude compressed replies, which could unpack to gigabytes.
    """
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
    }
    return headers | {"authorization": f"Bearer {key}"} if key else headers


async def _read(reply: "httpx.Response") -> bytes:
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
