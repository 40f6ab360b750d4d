"""Messages to people through Apprise, against a server on loopback that fails as services do."""

import json
from threading import Event

import pytest
import requests
import structlog

from radarstream.connectors import notifier as module
from radarstream.connectors.notifier import Notifier
from radarstream.schemas.errors import ConfigurationError
from tests.replies import Reply
from tests.webhook_receiver import Receiver, receiving

SECRET = "canary-topic"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES_S", (0.01, 0.02))


def addressed(monkeypatch: pytest.MonkeyPatch, *receivers: Receiver, scheme: str = "json") -> None:
    addresses = [
        receiver.url.replace("http", scheme, 1).replace("hook", SECRET) for receiver in receivers
    ]
    monkeypatch.setenv("TEAM_ALERTS", " ".join(addresses))


@pytest.mark.parametrize("scheme", ["json", "ntfy"])
def test_a_message_arrives_as_it_was_written(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(last=Reply()) as receiver:
        addressed(monkeypatch, receiver, scheme=scheme)
        assert Notifier("TEAM_ALERTS").deliver("Answer changed", "now: Zürich\nsites: a").accepted
    (request,) = receiver.received
    body = json.loads(request.body)
    assert (body["title"], body["message"]) == ("Answer changed", "now: Zürich\nsites: a")


def test_each_address_gets_it_once_although_another_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        receiving(last=Reply()) as first,
        receiving(
            [Reply(status=503), Reply(close=True), Reply(status=403)], last=Reply()
        ) as second,
    ):
        addressed(monkeypatch, first, second)
        with structlog.testing.capture_logs() as lines:
            assert Notifier("TEAM_ALERTS").deliver("t", "x").accepted
        assert (len(first.received), len(second.received)) == (1, 4)
    assert [line["channel"] for line in lines] == ["TEAM_ALERTS"] * 3
    assert SECRET not in str(lines)


def test_who_is_asked_to_stop_gives_up_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    with receiving(last=Reply(status=500)) as receiver:
        addressed(monkeypatch, receiver)
        notifier = Notifier("TEAM_ALERTS", stop)
        stop.set()
        assert notifier.deliver("t", "x").temporary
        attempt = notifier.try_once("t", "x")
    assert attempt.temporary
    assert "500" in attempt.failure
    assert SECRET not in attempt.failure


def test_a_chat_gets_no_mention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack's host is fixed: only what would be sent is looked at."""
    sent = []

    def request(*_: object, data: str, **__: object) -> requests.Response:
        sent.append(json.loads(data))
        response = requests.Response()
        response.status_code, response._content = 200, b"ok"
        return response

    monkeypatch.setattr(requests, "request", request)
    monkeypatch.setenv("TEAM_ALERTS", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#team")
    assert Notifier("TEAM_ALERTS").deliver("t", "<!channel> & <http://evil.example|x>").accepted
    (message,) = sent
    assert message["mrkdwn"] is False
    assert message["attachments"][0]["text"].startswith("&lt;!channel&gt; &amp; &lt;http")


def test_wrong_addresses_are_named_by_number_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_ALERTS", f"json://127.0.0.1/x {SECRET}")
    with pytest.raises(
        ConfigurationError, match="TEAM_ALERTS: Apprise does not accept address 2"
    ) as refused:
        Notifier("TEAM_ALERTS")
    assert SECRET not in str(refused.value)
    monkeypatch.delenv("TEAM_ALERTS")
    with pytest.raises(ConfigurationError, match="TEAM_ALERTS is not set"):
        Notifier("TEAM_ALERTS")
