"""What is told of an error that ends the job, and how the log says it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError
from structlog.testing import capture_logs

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.answering import running
from radarstream.pipelines.job.failures import named
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    DatabaseUnavailableError,
    EvidenceError,
    JobFailedError,
)


class FakeStop:
    def install(self) -> None:
        """Leave the signals of the tests alone."""


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "configure_logging", lambda _: None)
    monkeypatch.setattr(running, "Stop", FakeStop)


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
def test_frames_are_for_defects_only(error, raised, events, monkeypatch) -> None:
    """What the message says in full is not logged: the command line prints it."""

    @contextmanager
    def failing(*_: object, **__: object) -> Iterator[None]:
        raise error
        yield

    monkeypatch.setattr(running, "opened_job", failing)
    with capture_logs() as said, pytest.raises(raised) as told:
        running.run_job(load_settings(profile="scripted"))
    assert [line["event"] for line in said] == events
    assert all(line["error"] is error for line in said)
    assert "foreign words" not in str(told.value)


@pytest.mark.parametrize("error", [BrokerError("away"), DatabaseUnavailableError("away")])
def test_what_fails_after_the_start_is_in_the_log_too(error, monkeypatch) -> None:
    class Failing:
        def run(self, **_: object) -> None:
            raise error

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Failing]:
        yield Failing()

    monkeypatch.setattr(running, "opened_job", opened)
    with capture_logs() as said, pytest.raises(type(error)):
        running.run_job(load_settings(profile="scripted"))
    (line,) = said
    assert (line["event"], line["failure"]) == ("failed", type(error).__name__)


SECRET = "what-a-page-says"


def test_a_database_is_quoted_by_its_code_alone(tmp_path: Path) -> None:
    open_engine(f"sqlite:///{tmp_path / 'state.db'}").dispose()
    engine = create_engine(f"sqlite:///file:{tmp_path / 'state.db'}?mode=ro&uri=true")
    statement = text("INSERT INTO search_credits (period, used) VALUES (:period, 1)")
    with pytest.raises(OperationalError) as raised, engine.begin() as connection:
        connection.execute(statement, {"period": SECRET})
    wrapped = RuntimeError(SECRET)
    wrapped.__cause__ = raised.value
    assert named(raised.value) == "OperationalError (database: SQLITE_READONLY)"
    assert named(wrapped) == "RuntimeError (database: SQLITE_READONLY)"
    engine.dispose()


def test_a_server_is_quoted_by_its_state() -> None:
    error = ProgrammingError("SELECT 1", {}, psycopg.errors.UndefinedTable(SECRET))
    assert named(error) == "ProgrammingError (database: SQLSTATE 42P01)"
