"""What holds for every request and response: host name, size and time of the body, places of known
users, security headers, and a count, a time and a log line without content.
"""

import asyncio
import ipaddress
from contextlib import ExitStack
from time import perf_counter
from typing import Any, Final

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from radarstream.pipelines.serving.access import (
    KNOWN,
    PLACE,
    REFUSED,
    UNCOUNTED,
    WITH_FILES,
    known_by,
)
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.people import share_of

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
SECURITY: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, browsers would send `Origin: null` with the forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
YEAR: Final = "max-age=31536000"

log = structlog.get_logger("radarstream")


class RequestLimits:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, context: Context) -> None:
        self._app, self._context = app, context
        self._serving = context.settings.serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                add_headers(scope, message)
            async with asyncio.timeout(self._serving.request_s):  # a client that does not read
                await send(message)

        try:
            await self._limited(scope, receive, answer)
        except TimeoutError:
            scope[KNOWN] = False
            self._context.metrics.refused.labels("slow").inc()
        finally:
            self._tell(scope, status, perf_counter() - started)

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check_host(scope)
            with ExitStack() as scope[PLACE]:
                try:
                    body = await self._body(receive, await self._most(scope))
                except ServiceError as refused:
                    if refused.status != 413 or not is_upload(scope):
                        raise
                    # Its page, asked for without the form, says so.
                    scope["method"], scope[REFUSED], body = "GET", refused, b""
                if body is not None:
                    await self._app(scope, replayed(body, receive), send)
        except ServiceError as refused:
            await refused.response()(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        """Refuse names that are not ours: a page of another site may have rebound its own."""
        host = Headers(scope=scope).get("host", "")
        if not is_own(host, self._serving.hosts):
            self._context.metrics.refused.labels("host").inc()
            why = "this host name is not served here; the setting serving.hosts lists names"
            raise ServiceError(421, "unknown_host", why)

    async def _most(self, scope: Scope) -> int:
        """How many bytes a request may have: a known user's more than others', one of few such at
        once. Raises ServiceError 413 where it says that it has more, 503.
        """
        length = Headers(scope=scope).get("content-length", "")
        declared = int(length) if length.isascii() and length.isdigit() else 0
        most, request = self._serving.body_bytes, Request(scope)
        if declared > most and (user := await known_by(request)) is not None:
            most = max(most, self._serving.upload_bytes)
            share = share_of(user.name, request)
            scope[PLACE].enter_context(self._context.uploads.taken(share))
        if declared > most:
            raise self._too_large(most)
        return most

    async def _body(self, receive: Receive, most: int) -> bytes | None:
        """The whole body; None where the client went away. Raises ServiceError 400, 408, 413."""
        chunks, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._serving.request_s):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    more = message.get("more_body", False)
                    if size > most:
                        raise self._too_large(most)
        except TimeoutError:
            self._context.metrics.refused.labels("slow").inc()
            raise ServiceError(
                408, "too_slow", "the request took too long", headers={"Connection": "close"}
            ) from None
        return b"".join(chunks)

    def _too_large(self, most: int) -> ServiceError:
        self._context.metrics.refused.labels("size").inc()
        why = f"the request has more than {most:,} bytes"
        return ServiceError(413, "request_too_large", why, headers={"Connection": "close"})

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = str(getattr(scope.get("route"), "path", "other"))
        self._context.metrics.requests.labels(route, str(status)).inc()
        self._context.metrics.durations.labels(route).observe(seconds)
        level = log.debug if scope["path"] in UNCOUNTED else log.info
        level("request", route=route, status=status, seconds=round(seconds, 4))


def is_upload(scope: Scope) -> bool:
    """Whether a request is a form with files, as only pages for people send it."""
    return Headers(scope=scope).get("content-type", "").startswith(WITH_FILES)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read, then what comes after it."""
    waiting = True

    async def next_message() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return next_message


def add_headers(scope: Scope, message: Any) -> None:
    """Add the security headers that the route did not set."""
    headers = MutableHeaders(scope=message)
    for name, value in SECURITY.items():
        headers.setdefault(name, value)
    if REFUSED in scope:  # its body is not read
        headers["Connection"] = "close"
    if scope["scheme"] == "https":
        headers.setdefault("Strict-Transport-Security", YEAR)


def is_own(host: str, names: tuple[str, ...]) -> bool:
    """Whether a Host header may name this service: an address, localhost, or one of `names`.

    >>> is_own("127.0.0.1:8080", ()), is_own("[::1]", ()), is_own("evil.example", ())
    (True, True, False)
    """
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if name.lower() == "localhost" or name.lower() in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
