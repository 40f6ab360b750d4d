"""Signed delivery against a real HTTP server that fails in the ways that servers do."""

import hmac
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from threading import Event, Thread

import pytest
import structlog
from pydantic import ValidationError

from radarstream.connectors.webhook import Webhook
from radarstream.connectors.webhook_options import WebhookOptions
from radarstream.schemas.errors import ConfigurationError
from tests.engines.secured import Authority
from tests.replies import Reply
from tests.webhook_receiver import TAKEN, Receiver, receiving

SECRET = "canary-secret"
BODY = '{"answer":"Zürich"}'.encode()
QUICK = {"first_pause_s": 0.01, "longest_pause_s": 0.02}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    yield


@contextmanager
def delivering(
    *replies: Sequence[Reply],
    last: Reply = TAKEN,
    stop: Event | None = None,
    timeout_s: float = 30.0,
) -> Iterator[tuple[Receiver, Webhook]]:
    with (
        receiving(*replies, last=last) as receiver,
        Webhook(WebhookOptions(url=receiver.url, timeout_s=timeout_s, **QUICK), stop) as webhook,
    ):
        yield receiver, webhook


def test_an_alert_is_signed_and_named() -> None:
    with receiving() as receiver, Webhook(WebhookOptions(url=receiver.url)) as webhook:
        before = int(datetime.now(UTC).timestamp())
        assert webhook.deliver("cup/4", BODY).accepted
        after = int(datetime.now(UTC).timestamp())
        assert webhook.deliver("Zürich\n\u202ex: y/0", BODY).accepted
    request, odd = receiver.received
    assert odd.headers["Idempotency-Key"] == "Z%C3%BCrich%0A%E2%80%AEx:%20y/0"
    assert (request.path, request.body) == ("/hook", BODY)
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Idempotency-Key"] == "cup/4"
    moment, signed = request.headers["X-Radarstream-Signature"].split(",")
    timestamp = moment.removeprefix("t=")
    assert before <= int(timestamp) <= after
    expected = hmac.new(SECRET.encode(), f"{timestamp}.".encode() + BODY, sha256).hexdigest()
    assert signed == f"v1={expected}"


@pytest.mark.parametrize(
    "failure",
    [*(Reply(status=code) for code in (500, 503, 408, 425, 429))]
    + [Reply(hang=True), Reply(close=True), Reply(slow_head=True)],
    ids=str,
)
def test_what_may_pass_is_tried_again(failure: Reply) -> None:
    silent = failure.hang or failure.slow_head
    with delivering([failure, failure], timeout_s=1.0 if silent else 30.0) as (receiver, webhook):
        assert webhook.deliver("cup/4", BODY).status == 204
        assert [r.body for r in receiver.received] == [BODY] * 3
        assert {r.headers["Idempotency-Key"] for r in receiver.received} == {"cup/4"}


def test_what_will_not_pass_is_tried_once() -> None:
    """No redirect is followed, wherever it leads."""
    nowhere = ("//\u202e.é:x/", "http://[", "\xff\xfe://")
    places = [(n, "/else") for n in (400, 401, 404, 410, 422, 301, 307, 308)]
    places += [(302, place.encode().decode("latin-1")) for place in nowhere]
    replies = [Reply(status=code, headers={"Location": place}) for code, place in places]
    with delivering(replies) as (receiver, webhook):
        for tries, reply in enumerate(replies, start=1):
            attempt = webhook.deliver("cup/4", BODY)
            told = (attempt.status, attempt.accepted, attempt.temporary)
            assert told == (reply.status, False, False)
            assert [r.path for r in receiver.received] == ["/hook"] * tries


LATER = Reply(status=503, headers={"Retry-After": "3000"})  # a long pause


@pytest.mark.parametrize(("reply", "tries"), [(Reply(status=503), 8), (LATER, 1)])
def test_no_failure_ends_the_tries_but_a_stop_does(reply: Reply, tries: int) -> None:
    stop, attempts = Event(), []
    with delivering(last=reply, stop=stop) as (receiver, webhook):
        thread = Thread(target=lambda: attempts.append(webhook.deliver("cup/4", BODY)))
        thread.start()
        receiver.wait_for(tries)
        stop.set()
        thread.join(timeout=5)
        assert not thread.is_alive()
    assert attempts[0].temporary


def test_an_endless_answer_is_not_read() -> None:
    with delivering(last=Reply(headers={"Content-Length": "1000000000000"})) as (_, webhook):
        assert webhook.deliver("cup/4", BODY).accepted


def test_neither_secret_nor_address_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()  # a command that ran in this process may have set up its own logs
    with receiving([Reply(status=500), Reply(close=True)]) as receiver:
        options = WebhookOptions(url=f"{receiver.url}/token-in-path?key=token-in-query", **QUICK)
        with Webhook(options) as webhook:
            webhook.deliver("cup/4", BODY)
    captured = capsys.readouterr()
    logged = captured.out + captured.err
    assert "the receiver of alerts does not answer" in logged
    for private in (SECRET, "token-in-path", "token-in-query", "Zürich"):
        assert private not in logged


def test_addresses_that_are_not_safe_are_refused_unless_permitted() -> None:
    open_text = ("http://example.org/hook", "http://10.0.0.1/h", "http://127.0.0.1.example.org/h")
    no_address = (
        "ftp://example.org/hook", "file:///etc/passwd", "https:///hook", "example.org", "",
    )  # fmt: skip
    for url in (*open_text, *no_address, "https://me:word@example.org/hook"):
        with pytest.raises(ValidationError):
            WebhookOptions(url=url)
    for url in ("https://example.org/hook", "http://localhost:8080/", "http://[::1]:8080/x"):
        assert WebhookOptions(url=url).url == url
    assert WebhookOptions(url="http://hooks.internal/x", allow_http=True)


def test_certificates_are_verified(tmp_path):
    authority, chain, trusted = Authority(), tmp_path / "chain.pem", tmp_path / "ca.pem"
    authority.write(chain, days=2)
    trusted.write_bytes(authority.certificate)
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    stop = Event()
    stop.set()  # one try
    with receiving(tls=context) as receiver:
        with Webhook(WebhookOptions(url=receiver.url, **QUICK), stop) as webhook:
            refused = webhook.deliver("cup/4", BODY)
        assert (refused.temporary, receiver.received) == (True, [])
        assert "unable to get local issuer certificate" in refused.failure
        trusting = WebhookOptions(url=receiver.url, ca_file=trusted)
        with Webhook(trusting, stop) as webhook:
            assert webhook.deliver("cup/4", BODY).accepted


def test_useless_certificate_files_and_missing_secrets_are_named(tmp_path, monkeypatch):
    (tmp_path / "notes.pem").write_text("no certificate")
    for name in ("notes.pem", "missing.pem"):
        with pytest.raises(ConfigurationError, match=name):
            Webhook(WebhookOptions(url="https://example.org/", ca_file=tmp_path / name))
    monkeypatch.delenv("WEBHOOK_SECRET")
    with pytest.raises(ConfigurationError, match="WEBHOOK_SECRET"):
        Webhook(WebhookOptions(url="https://example.org/"))
