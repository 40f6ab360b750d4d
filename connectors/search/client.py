"""Asks search services over HTTP, keeps the key secret, and limits and checks the answers.

The errors and the log of the HTTP library have the address, which may have the key. To keep them
out of text and `__context__`, failures are made inside the handler and raised after it.
"""

import json
import logging
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from radarstream.connectors.search.options import SearchOptions
from radarstream.connectors.search.service import Answer, Call, Failure, Reply, SearchService
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import FailureClass, SearchFailedError
from radarstream.schemas.section import is_loopback, read_secret
from radarstream.schemas.shown import one_line, only_shown

FRAGMENT: Final = 6  # successive characters of the key that are a leak
SECRET: Final = 12  # shorter keys may occur in a text by chance
WORDS: Final = 160  # characters of a service's message that are repeated
WITHOUT_ACCOUNT: Final = 'without an account search.name = "searxng" (docs/searches.md)'
HEADERS: Final = {
    "accept": "application/json",
    "accept-encoding": "identity",  # a few compressed bytes could unpack to gigabytes
    "user-agent": "radarstream",
}


class SearchClient:
    """Sends one request at a time to a service. Raises SearchFailedError.

    Raises ConfigurationError if the key is missing, refused, or would be sent unencrypted. No
    error, representation or log line of this object has the key.
    """

    def __init__(self, service: SearchService, options: SearchOptions) -> None:
        self.service = service
        self.base_url = options.base_url or service.base_url
        self.variable = options.api_key_variable or service.key_variable
        self._options = options
        self._key = SecretStr(_key(self.variable) if self.variable else "")
        parts = urlsplit(self.base_url)
        local = is_loopback(parts.hostname or "")
        if self.variable and parts.scheme == "http" and not local:
            raise ConfigurationError("search.base_url must be https: it gets the API key")
        self._http = httpx.Client(headers=HEADERS, trust_env=not local, follow_redirects=False)
        wire = logging.getLogger("httpx")
        if _hide_addresses not in wire.filters:
            wire.addFilter(_hide_addresses)

    def search(self, call: Call, *, seconds: float) -> Answer:
        """Return the JSON object of one page of results within `seconds`."""
        reply = self.ask(call, seconds=seconds)
        if reply.status != 200:
            raise self.service.failure(reply, self.variable)
        return reply.answer

    def check(self) -> str:
        """Say that the service can be used, without a search. Raises as `search`."""
        reply = self.ask(self.service.check, seconds=self._options.timeout_s)
        return f"{self.base_url} {self.service.checked(reply, self.variable)}"

    def ask(self, call: Call, *, seconds: float) -> Reply:
        """Return the reply to a request, whatever its status."""
        outcome = self._outcome(call, monotonic() + seconds)
        if isinstance(outcome, Exception):
            raise outcome  # here, because no frame or context has the key
        return outcome

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _outcome(self, call: Call, until: float) -> Reply | Failure:
        """Return the reply, or the failure as a value."""
        title = self.service.title
        begun = False
        try:
            with self._sent(call, until) as response:
                begun = True
                return self._reply(response, self._body(response, until))
        except SearchFailedError as error:  # ours
            return SearchFailedError(error.kind, str(error))
        except httpx.TimeoutException:
            return SearchFailedError(FailureClass.TIMEOUT, f"{title} did not answer")
        except (httpx.HTTPError, httpx.InvalidURL):
            if begun:
                return SearchFailedError(FailureClass.MALFORMED, f"{title} broke off")
            return SearchFailedError(
                FailureClass.UNAVAILABLE, f"{title} is unreachable (search.base_url)"
            )
        except (ValueError, RecursionError):  # an odd address, or not JSON
            return SearchFailedError(FailureClass.MALFORMED, f"{title} sent no JSON object")

    def _sent(self, call: Call, until: float) -> Any:
        key = self._key.get_secret_value()
        signed = self.service.signed(call, key) if key else call
        return self._http.stream(
            "GET" if signed.body is None else "POST",
            f"{self.base_url}{signed.path}",
            params={name: value for name, value in signed.parameters.items() if value},
            headers=dict(signed.headers),
            json=signed.body,
            timeout=max(0.001, min(self._options.timeout_s, until - monotonic())),
        )

    def _body(self, response: httpx.Response, until: float) -> bytes:
        """Read the body with a limit of size and a deadline, which the library does not have."""
        title, most = self.service.title, self._options.answer_bytes
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise SearchFailedError(FailureClass.MALFORMED, f"{title} compressed its answer")
        body = bytearray()
        for piece in response.iter_raw():
            body += piece
            if len(body) > most:
                raise SearchFailedError(FailureClass.MALFORMED, f"{title} sent over {most} bytes")
            if monotonic() > until:
                raise SearchFailedError(FailureClass.TIMEOUT, f"{title} answers too slowly")
        return bytes(body)

    def _reply(self, response: httpx.Response, body: bytes) -> Reply:
        """Read a body, and remove the key if the service repeats it."""
        key, status = self._key.get_secret_value(), response.status_code
        if len(key) >= SECRET:
            body = body.replace(key.encode(), b"")
        headers = {n: text for n, text in response.headers.items() if not key or key not in text}
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            if status == 200:
                raise ValueError("no JSON object")
            answer = {}
        return Reply(status, headers, answer, quotable(_reason(answer), key))


def quotable(text: object, key: str) -> str:
    """Return a service's message as one short line; "" if it has a piece of the key."""
    if not isinstance(text, str):
        return ""
    line = " ".join(only_shown(text, " ").split())
    pieces = (key[i : i + FRAGMENT] for i in range(max(1, len(key) - FRAGMENT + 1)))
    if key and any(piece.lower() in line.lower() for piece in pieces):
        return ""
    return one_line(line, WORDS)


def _reason(answer: Answer) -> object:
    """Return a service's message about a failure, by the field names of several protocols."""
    reason: object = answer
    while isinstance(reason, dict):
        reason = next((reason[n] for n in ("error", "detail", "message") if n in reason), None)
    return reason


def _key(variable: str) -> str:
    try:
        key = read_secret(variable).strip()
    except ConfigurationError as error:
        raise error.mended_by(f"{error.remedy}, or {WITHOUT_ACCOUNT}") from None
    if not key.isprintable() or not key.isascii() or " " in key or not key:
        raise ConfigurationError(f"{variable} does not hold an API key")
    return key


def _hide_addresses(record: logging.LogRecord) -> bool:
    """Drop log lines of the HTTP library that have a key in the address."""
    return "api_key=" not in record.getMessage()
