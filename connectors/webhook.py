"""Posts signed JSON to one HTTP endpoint until it accepts or finally refuses."""

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from ssl import SSLCertVerificationError, SSLContext, create_default_context
from threading import Event
from urllib.parse import quote

import httpx
import structlog
from tenacity import RetryCallState, Retrying, retry_if_result, wait_random_exponential
from tenacity.nap import sleep_using_event
from tenacity.stop import stop_when_event_set

from radarstream.connectors.closing import Closing
from radarstream.connectors.retry_after import retry_after_s
from radarstream.connectors.webhook_options import WebhookOptions
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import read_secret

SIGNATURE_HEADER = "X-Radarstream-Signature"
ID_HEADER = "Idempotency-Key"
TRY_AGAIN = frozenset({408, 425, 429})  # and 500 or above
SECRET_BYTES = 16  # shorter secrets can be guessed

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt: the receiver's status, or the `failure` if there is none."""

    status: int | None = None
    failure: str = ""
    retry_after_s: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the receiver has the alert."""
        return not self.failure if self.status is None else 200 <= self.status < 300

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed later."""
        if self.status is None:
            return bool(self.failure)
        return self.status in TRY_AGAIN or self.status >= 500


class Webhook(Closing):
    """One endpoint. Close it after use."""

    def __init__(self, options: WebhookOptions, stop: Event | None = None) -> None:
        """Read the secret. Raises ConfigurationError if it is unset. `stop` ends waiting early."""
        self._options = options
        self._secret = read_secret(options.secret_variable).encode()
        if len(self._secret) < SECRET_BYTES:
            log.warning("the webhook's secret is too short to be safe", limit=SECRET_BYTES)
        self._stop = stop or Event()
        self._client = httpx.AsyncClient(
            timeout=options.timeout_s,
            verify=trust(options.ca_file),
            follow_redirects=False,
            event_hooks={"response": [forget_location]},
            headers={"User-Agent": "radarstream", "Content-Type": "application/json"},
        )
        self._runner = asyncio.Runner()

    def deliver(self, event_id: str, body: bytes) -> Attempt:
        """Send until the receiver accepts or finally refuses, and return that last attempt.

        Time-outs, lost connections, 408, 425, 429 and 5xx are tried again without end, after
        growing random pauses and not before Retry-After. Any other status except 2xx is final. The
        returned attempt is `temporary` only if `stop` is set; the alert is then not delivered.
        """
        pauses = self._options.first_pause_s, self._options.longest_pause_s
        host = httpx.URL(self._options.url).host
        return insistently(lambda: self.try_once(event_id, body), self._stop, pauses, host=host)

    def try_once(self, event_id: str, body: bytes) -> Attempt:
        """Send once, and return the attempt."""
        return self._runner.run(self._post(event_id, body))

    def close(self) -> None:
        """Close the connections."""
        self._runner.run(self._client.aclose())
        self._runner.close()

    async def _post(self, event_id: str, body: bytes) -> Attempt:
        now = datetime.now(UTC)
        headers = {  # signed at every attempt, because receivers refuse old times
            SIGNATURE_HEADER: signature(self._secret, int(now.timestamp()), body),
            ID_HEADER: quote(event_id, safe="/@:"),
        }
        try:
            # The body of the answer, which may be endless, is not read. httpx limits each read;
            # `timeout` limits them all together.
            async with (
                asyncio.timeout(self._options.timeout_s),
                self._client.stream(
                    "POST", self._options.url, content=body, headers=headers
                ) as response,
            ):
                wait_s = retry_after_s(response.headers, now) or 0.0
                return Attempt(response.status_code, retry_after_s=wait_s)
        except (httpx.TransportError, TimeoutError) as error:
            return Attempt(None, failure_of(error))


def insistently(
    try_once: Callable[[], Attempt], stop: Event, pauses: tuple[float, float], **receiver: str
) -> Attempt:
    """Try until an attempt is not temporary or `stop` is set, and return the last attempt.

    `pauses` are the first and the longest, in seconds; `receiver` names it in the log.
    """
    pause = wait_random_exponential(multiplier=pauses[0], max=pauses[1])

    def report(state: RetryCallState) -> None:
        attempt = last_attempt(state)
        log.warning(
            "the receiver of alerts does not answer",
            **receiver,
            status=attempt.status,
            failure=attempt.failure,
            attempt=state.attempt_number,
            pause_s=round(state.upcoming_sleep, 1),
        )

    retrying = Retrying(
        retry=retry_if_result(lambda attempt: attempt.temporary),
        wait=lambda state: max(pause(state), last_attempt(state).retry_after_s),
        stop=stop_when_event_set(stop),
        sleep=sleep_using_event(stop),
        before_sleep=report,
        retry_error_callback=last_attempt,
    )
    attempt: Attempt = retrying(try_once)
    return attempt


async def forget_location(response: httpx.Response) -> None:
    """Drop the address of a redirect: httpx parses it, and may fail, even without following it."""
    response.headers.pop("Location", None)


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """Return the signature header: `t=SECONDS,v1=HEX` with HMAC-SHA-256 over `t.body`."""
    digest = hmac.new(secret, f"{timestamp}.".encode() + body, sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


def failure_of(error: BaseException) -> str:
    """Name a transport failure by its kind, and the flaw of a certificate, without an address."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, SSLCertVerificationError):
            return f"{type(error).__name__}: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def last_attempt(state: RetryCallState) -> Attempt:
    """Return the latest attempt; attempts never raise."""
    attempt: Attempt = state.outcome.result()  # type: ignore[union-attr]  # after an attempt
    return attempt


def trust(ca_file: Path | None) -> SSLContext | bool:
    """Return the trusted authorities: the usual ones, or those of a file."""
    if ca_file is None:
        return True
    try:
        return create_default_context(cafile=str(ca_file))
    except OSError as error:  # also for a file without certificates
        raise ConfigurationError(f"cannot use {ca_file}: {error.strerror or error}") from None
