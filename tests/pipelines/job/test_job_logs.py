"""The job's logs: readable lines, and not a word of what the job reads; what ends it is told."""

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import KafkaTimeoutError
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError
from structlog.testing import capture_logs

from radarstream.connectors.models.openai_http.failures import ServiceError
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.answering import running
from radarstream.pipelines.job.failures import named
from radarstream.pipelines.job.telemetry.logs import configure_logging, plain
from radarstream.pipelines.settings import TelemetrySettings, load_settings
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    DatabaseUnavailableError,
    EvidenceError,
    InputError,
    JobFailedError,
    ModelError,
    PartialModelError,
    ReasonClass,
)

PHRASE = "the purple canary sings at noon"
SECRET = "sk-canary-4711"
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def restored() -> Iterator[None]:
    """Put back what configure_logging changes for the whole process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    hooks = sys.excepthook, threading.excepthook
    yield
    root.handlers[:], root.level = handlers, level
    sys.excepthook, threading.excepthook = hooks
    logging.raiseExceptions = True
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


@pytest.fixture
def stream(restored: None) -> io.StringIO:
    stream = io.StringIO()
    configure_logging(TelemetrySettings(), stream)
    return stream


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_batch_that_failed_names_the_address_and_the_cause(lines: Lines) -> None:
    away = ServiceError("connection", "no connection to http://127.0.0.1:9/v1: ConnectError")
    quoting = ModelError(f"the library said {PHRASE}")
    log = structlog.get_logger("radarstream")
    log.warning("question failed", error=PartialModelError(["fine", away, quoting]))
    log.warning("question failed", error=PartialModelError(["fine", quoting, away]))
    named, unnamed = lines()
    assert named["detail"] == f"2 of 3 failed, the first with: {away}"
    assert "detail" not in unnamed and PHRASE not in str(unnamed)


def test_a_line_says_when_what_and_where(stream: io.StringIO, lines: Lines) -> None:
    told = {"query_id": "cup", "step": 4, "snapshot_id": "cup@17", "partition": 3, "offset": 99}
    structlog.get_logger("radarstream").info("answered", **told)
    structlog.get_logger().warning("dead_letter", error=InputError(ReasonClass.LATE, PHRASE))
    line, refused = lines()
    assert datetime.fromisoformat(line.pop("timestamp")).utcoffset() == timedelta(0)
    assert (line, refused["reason"]) == (told | {"event": "answered", "level": "info"}, "late")
    configure_logging(TelemetrySettings(log_level="warning"), stream)
    structlog.get_logger().info("quiet")
    structlog.get_logger().warning("loud")
    assert [line["event"] for line in lines()[2:]] == ["loud"]


class Talkative:
    def __repr__(self) -> str:
        return PHRASE

    __str__ = __repr__


@pytest.mark.parametrize("value", [Talkative(), {"text": PHRASE}, PHRASE.encode()])
def test_allowed_keys_take_plain_values_only(value: object, stream: io.StringIO) -> None:
    structlog.get_logger().info("polled", records=value, partitions=[1, value, 2])
    assert "canary" not in stream.getvalue()
    assert json.loads(stream.getvalue())["partitions"] == [1, 2]


def request() -> httpx.Request:
    return httpx.Request("GET", f"https://search.example/?q={PHRASE}&api_key={SECRET}")


FOREIGN = [
    KafkaTimeoutError(f"{PHRASE} {SECRET}"),
    OperationalError("INSERT", {"answer": PHRASE}, RuntimeError(SECRET)),
    httpx.ConnectError(f"{PHRASE} {SECRET}", request=request()),
    httpx.HTTPStatusError(PHRASE, request=request(), response=httpx.Response(500, text=PHRASE)),
    KeyError(PHRASE),
    UnicodeDecodeError("utf-8", PHRASE.encode(), 0, 1, SECRET),
    ModelError(f"the model said {PHRASE} to {SECRET}"),  # quotes a library
    InputError(ReasonClass.WRONG_TYPE, f"{PHRASE} {SECRET}"),
    ExceptionGroup(PHRASE, [ValueError(SECRET)]),
]


def fail(error: BaseException) -> None:
    raise error


def raised(error: BaseException) -> BaseException:
    local = PHRASE  # a value in a frame
    try:
        try:
            fail(RuntimeError(local + SECRET))
        except RuntimeError as cause:
            raise error from cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize("error", FOREIGN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_error_is_told_by_class_causes_and_place(error, log_format, restored) -> None:
    stream = io.StringIO()
    configure_logging(TelemetrySettings(log_format=log_format), stream)
    caught = raised(error)
    structlog.get_logger().error("publish failed", exc_info=caught)
    structlog.get_logger().error("publish failed", error=caught)
    logging.getLogger("library").error("publish failed", exc_info=caught)
    text = stream.getvalue()
    assert text.count("publish failed") == 3
    assert text.count(type(error).__name__) >= 3
    assert text.count("RuntimeError") >= 3
    assert text.count("raised") >= 3  # the frame
    assert "canary" not in text


def test_an_exception_being_handled_is_found(lines: Lines) -> None:
    try:
        fail(ConfigurationError("settings: no such profile"))
    except ConfigurationError:
        structlog.get_logger().exception("cannot start")
    (line,) = lines()
    assert line["error"] == "radarstream.schemas.errors.ConfigurationError"
    assert line["detail"] == "settings: no such profile"


def test_library_messages_are_bridged_as_their_templates(lines: Lines) -> None:
    log = logging.getLogger("library.client")
    log.warning("Node %s connection failed -- refreshing %r", SECRET, PHRASE)
    log.warning(f"Got {PHRASE}")
    log.warning("Got " + PHRASE)
    log.warning(PHRASE.upper().lower())
    log.info("chatter")
    logging.getLogger("sqlalchemy.engine").error("plain words")
    said = [(line["event"], line["level"], line["logger"]) for line in lines()]
    template = ("Node %s connection failed -- refreshing %r", "warning", "library.client")
    withheld = ("message withheld", "warning", "library.client")
    assert said == [template, *[withheld] * 3, ("plain words", "error", "sqlalchemy.engine")]


def test_numbers_of_our_own_messages_are_shown(lines: Lines) -> None:
    log = logging.getLogger("radarstream.connectors.kafka.source")
    log.warning("partition %d of %s goes on at %s", 3, PHRASE, 99)
    log.warning("no arguments: 100 %")
    log.warning("%(text)s", {"text": PHRASE})
    log.warning("%d", PHRASE)
    said = ["partition 3 of … goes on at 99", "no arguments: 100 %", "%(text)s", "%d"]
    assert [line["event"] for line in lines()] == said


def test_faulty_records_and_warnings_say_nothing(stream, lines, capsys) -> None:
    logging.getLogger("library").error("%d", PHRASE)
    logging.getLogger("library").error(Talkative())
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(PHRASE, stacklevel=1)
    assert len(lines()) == 3
    assert "canary" not in stream.getvalue() + "".join(capsys.readouterr())


def test_uncaught_exceptions_are_lines_too(stream: io.StringIO, lines: Lines) -> None:
    error = raised(ValueError(PHRASE))
    sys.excepthook(type(error), error, error.__traceback__)

    thread = threading.Thread(target=fail, args=(ValueError(PHRASE),), name="poller")
    thread.start()
    thread.join()
    assert [(line["event"], line["error"]) for line in lines()] == [
        ("uncaught exception", "ValueError"),
        ("uncaught exception in a thread", "ValueError"),
    ]
    assert lines()[1]["thread"] == "poller"
    assert "canary" not in stream.getvalue()


def test_a_closed_stream_does_not_stop_the_job(restored: None) -> None:
    stream = io.StringIO()
    configure_logging(TelemetrySettings(), stream)
    stream.close()
    structlog.get_logger().info("answered")
    logging.getLogger("library").error("lost")


@given(st.text())
def test_whatever_is_logged_stays_on_one_printable_line(text: str) -> None:
    (shown,) = plain(text)
    assert shown.isprintable()
    assert len(shown) <= 200
    assert [*plain(shown)] == [shown]


class FakeStop:
    def install(self) -> None:
        """Leave the signals of the tests alone."""


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "configure_logging", lambda _: None)
    monkeypatch.setattr(running, "Stop", FakeStop)


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(
    ("error", "late", "raised", "logged"),
    [
        (ConfigurationError("kafka.ca_file: no file x"), False, ConfigurationError, ""),
        (BrokerError("away"), False, BrokerError, ""),
        (DatabaseUnavailableError("away"), False, DatabaseUnavailableError, ""),
        (BrokerError("away"), True, BrokerError, "failure"),
        (DatabaseUnavailableError("away"), True, DatabaseUnavailableError, "failure"),
        (EvidenceError("ours"), False, EvidenceError, "error"),
        (KeyError("foreign words"), False, JobFailedError, "error"),
    ],
)
def test_frames_are_for_defects_only(error, late, raised, logged, monkeypatch) -> None:
    """What the message says in full is not logged: the command line prints it. What fails after
    the start is in the log too.
    """

    class Failing:
        def run(self, **_: object) -> None:
            raise error

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Failing]:
        if not late:
            raise error
        yield Failing()

    monkeypatch.setattr(running, "opened_job", opened)
    with capture_logs() as said, pytest.raises(raised) as told:
        running.run_job(load_settings(profile="scripted"))
    assert [line["event"] for line in said] == ["failed"] * bool(logged)
    expected = {"failure": type(error).__name__, "error": error}
    assert all(line[logged] == expected[logged] for line in said)
    assert "foreign words" not in str(told.value)


PRIVATE = "what-a-page-says"


def test_a_database_is_quoted_by_its_code_alone(tmp_path: Path) -> None:
    open_engine(f"sqlite:///{tmp_path / 'state.db'}").dispose()
    engine = create_engine(f"sqlite:///file:{tmp_path / 'state.db'}?mode=ro&uri=true")
    statement = text("INSERT INTO search_credits (period, used) VALUES (:period, 1)")
    with pytest.raises(OperationalError) as raised, engine.begin() as connection:
        connection.execute(statement, {"period": PRIVATE})
    wrapped = RuntimeError(PRIVATE)
    wrapped.__cause__ = raised.value
    assert named(raised.value) == "OperationalError (database: SQLITE_READONLY)"
    assert named(wrapped) == "RuntimeError (database: SQLITE_READONLY)"
    engine.dispose()


def test_a_server_is_quoted_by_its_state() -> None:
    error = ProgrammingError("SELECT 1", {}, psycopg.errors.UndefinedTable(PRIVATE))
    assert named(error) == "ProgrammingError (database: SQLSTATE 42P01)"
