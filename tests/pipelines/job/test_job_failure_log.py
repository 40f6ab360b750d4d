"""How the log says why the job ended."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from radarstream.pipelines.job.answering import running
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    DatabaseUnavailableError,
    EvidenceError,
    JobFailedError,
)


@pytest.mark.parametrize(
    ("error", "raised", "events"),
    [
        (ConfigurationError("kafka.ca_file: no file x"), ConfigurationError, []),
        (BrokerError("away"), BrokerError, []),
        (DatabaseUnavailableError("away"), DatabaseUnavailableError, []),
        (EvidenceError("ours"), EvidenceError, ["failed"]),
        (KeyError("foreign words"), JobFailedError, ["failed"]),
    ],
)
def test_frames_are_for_defects_only(
    error: Exception, raised: type[Exception], events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the message says in full is not logged: the command line prints it."""

    @contextmanager
    def failing(*_: object, **__: object) -> Iterator[None]:
        raise error
        yield

    monkeypatch.setattr(running, "opened_job", failing)
    monkeypatch.setattr(running, "configure_logging", lambda _: None)
    monkeypatch.setattr(running, "Stop", FakeStop)
    with capture_logs() as said, pytest.raises(raised) as told:
        running.run_job(load_settings(profile="scripted"))
    assert [line["event"] for line in said] == events
    assert all(line["error"] is error for line in said)
    assert "foreign words" not in str(told.value)


@pytest.mark.parametrize("error", [BrokerError("away"), DatabaseUnavailableError("away")])
def test_what_fails_after_the_start_is_in_the_log_too(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def run(self, **_: object) -> None:
            raise error

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Failing]:
        yield Failing()

    monkeypatch.setattr(running, "opened_job", opened)
    monkeypatch.setattr(running, "configure_logging", lambda _: None)
    monkeypatch.setattr(running, "Stop", FakeStop)
    with capture_logs() as said, pytest.raises(type(error)):
        running.run_job(load_settings(profile="scripted"))
    (line,) = said
    assert (line["event"], line["failure"]) == ("failed", type(error).__name__)


class FakeStop:
    def install(self) -> None:
        """Leave the signals of the tests alone."""
