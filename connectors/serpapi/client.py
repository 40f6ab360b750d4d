"""The official client behind a wall: its key stays inside, its answers are bounded and checked.

It puts the address with the key into the text of its errors, so none of them may travel on, neither
as text nor as `__context__`: failures are built inside the handler and raised after it.
"""

import logging
from collections.abc import Callable, Mapping
from io import BytesIO
from time import monotonic
from typing import Any, Final

import requests
import serpapi
import urllib3

from radarstream.connectors.serpapi.failures import FailureClass, SearchFailedError, from_status
from radarstream.connectors.serpapi.options import SerpApiOptions
from radarstream.connectors.serpapi.results import Answer
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import read_secret

CHUNK: Final = 2**16
_WIRE_LOGGERS: Final = ("urllib3.connectionpool", "urllib3.util.retry")
Failure = SearchFailedError | ConfigurationError


class SerpApiClient:
    """One request at a time to SerpApi. Raises SearchFailedError.

    ConfigurationError when the key is missing or refused. No error, representation or log line of
    this object holds the key.
    """

    def __init__(self, options: SerpApiOptions) -> None:
        if not hasattr(serpapi, "Client"):
            raise ConfigurationError(
                "the package google-search-results hides the official client: uninstall it and "
                "reinstall serpapi"
            )
        self._options = options
        self._until = 0.0
        self._client = serpapi.Client(api_key=_key(options), timeout=options.timeout_s)
        self._client.BASE_DOMAIN = options.base_url
        session = self._client.session
        session.max_redirects = 0  # a redirect would carry the key wherever it points
        session.hooks["response"].append(self._read_bounded)
        for name in _WIRE_LOGGERS:
            wire = logging.getLogger(name)
            if _hide_addresses not in wire.filters:
                wire.addFilter(_hide_addresses)

    def search(self, parameters: Mapping[str, str], *, seconds: float) -> Answer:
        """Return the JSON object of one page of results, not later than in `seconds`."""
        return self._ask(lambda: self._client.search(dict(parameters)), seconds)

    def close(self) -> None:
        """Release the connections."""
        self._client.session.close()

    def _ask(self, request: Callable[[], Any], seconds: float) -> Answer:
        self._until = monotonic() + seconds
        outcome = self._outcome(request)
        if isinstance(outcome, Exception):
            raise outcome  # here, where neither its context nor any frame knows the key
        return outcome

    def _outcome(self, request: Callable[[], Any]) -> Answer | Failure:
        """Return the answer, or what went wrong, as a value."""
        try:
            answer = request()
        except SearchFailedError as error:  # ours, from the hook
            return SearchFailedError(error.kind, str(error))
        except (serpapi.TimeoutError, urllib3.exceptions.TimeoutError):
            return SearchFailedError(FailureClass.TIMEOUT, "SerpApi did not answer")
        except serpapi.HTTPConnectionError:
            return SearchFailedError(FailureClass.UNAVAILABLE, "SerpApi is unreachable")
        except serpapi.HTTPError as error:
            variable = self._options.api_key_variable
            key = self._client.api_key
            return from_status(error.status_code, error.error, key=key, variable=variable)
        except requests.TooManyRedirects:
            return SearchFailedError(FailureClass.REFUSED, "SerpApi redirects elsewhere")
        except (requests.RequestException, urllib3.exceptions.HTTPError):
            return SearchFailedError(FailureClass.MALFORMED, "SerpApi broke off")
        except (AttributeError, TypeError, ValueError, RecursionError):
            # The client stumbles over JSON that is not an object, in answers and in errors.
            return SearchFailedError(FailureClass.MALFORMED, "SerpApi sent no JSON object")
        if isinstance(answer, serpapi.SerpResults):
            return dict(answer.as_dict())
        return SearchFailedError(FailureClass.MALFORMED, "SerpApi sent no JSON")

    def _read_bounded(
        self, response: requests.Response, *_: object, **__: object
    ) -> requests.Response:
        """Read the body under a size cap and the deadline, which `requests` itself cannot do."""
        body = bytearray()
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            body += chunk
            if len(body) > self._options.answer_bytes:
                response.close()
                raise SearchFailedError(
                    FailureClass.MALFORMED, f"SerpApi sent over {self._options.answer_bytes} bytes"
                )
            if monotonic() > self._until:
                response.close()
                raise SearchFailedError(FailureClass.TIMEOUT, "SerpApi answers too slowly")
        response.raw = BytesIO(bytes(body))
        return response


def _key(options: SerpApiOptions) -> str:
    key = read_secret(options.api_key_variable).strip()
    if not key.isprintable() or not key.isascii() or " " in key or not key:
        raise ConfigurationError(f"{options.api_key_variable} does not hold an API key")
    return key


def _hide_addresses(record: logging.LogRecord) -> bool:
    """Drop log lines of the HTTP library that show the address, which holds the key."""
    return "api_key=" not in record.getMessage()
