"""What the job tells logs, metrics and health about itself."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import CapturingLogger

from pipelines.job.health import Health
from pipelines.job.metrics import JobMetrics
from pipelines.job.observing import Observer
from schemas.errors import BrokerError, ReasonClass
from schemas.events import AnswerEvent, DeadLetter
from schemas.records import LogPosition, RawRecord
from tests.wire_samples import ANSWER, DEAD_LETTER, OBSERVED_AT

NOW = OBSERVED_AT + timedelta(seconds=90)
OUTAGE = replace(DEAD_LETTER, reason=ReasonClass.MODEL_UNAVAILABLE, disposition="outage")
RECORD = RawRecord("e/t/0", 7, b"purple-canary", log=LogPosition("e", 0, 7))


@pytest.fixture
def health() -> Health:
    return Health(60.0, 600.0)


@pytest.fixture
def log() -> CapturingLogger:
    return CapturingLogger()


@pytest.fixture
def observing(health: Health, log: CapturingLogger) -> Callable[..., Observer]:
    return lambda depth=lambda: 0: Observer(log, JobMetrics(), health, outbox_depth=depth)


def checks(health: Health) -> object:
    return health.readiness()["checks"]


def test_a_database_that_is_away_while_its_outbox_is_counted_ends_nothing(
    observing: Callable[..., Observer], health: Health
) -> None:
    def away() -> int:
        raise OperationalError("SELECT count(*)", None, ConnectionError())

    observer = observing(away)
    observer.published(3)
    counted = observer.metrics.registry.get_sample_value
    assert counted("radarstream_events_published_total") == 3
    tried = {"operation": "outbox depth", "error": "OperationalError"}
    assert counted("radarstream_retries_total", tried) == 1
    assert checks(health) == {"broker": False, "database": False, "models": False}


def test_an_error_counts_against_what_failed(
    observing: Callable[..., Observer], health: Health
) -> None:
    observer = observing()
    observer.polled([RECORD], {0: 0})
    observer.published(1)
    observer.outcomes([ANSWER], NOW)
    assert health.ready
    observer.retried("publish", BrokerError("cannot publish events"))
    assert checks(health) == {"broker": False, "database": True, "models": True}
    observer.polled([], {0: 0})
    observer.retried("batch", RuntimeError("database"))
    assert checks(health) == {"broker": True, "database": False, "models": True}


def test_models_that_no_snapshot_got_an_answer_from_are_not_ready(
    observing: Callable[..., Observer], health: Health
) -> None:
    observer = observing()
    steps: list[tuple[list[AnswerEvent | DeadLetter], bool]] = [
        ([ANSWER], True),
        ([DEAD_LETTER], True),  # the record's own fault
        ([OUTAGE, OUTAGE], False),
        ([OUTAGE, ANSWER], True),
    ]
    for outcomes, ready in steps:
        observer.outcomes(outcomes, NOW)
        assert checks(health) == {"broker": False, "database": False, "models": ready}


def test_a_defect_is_told_with_its_record_and_its_exception(
    observing: Callable[..., Observer], log: CapturingLogger
) -> None:
    defect = KeyError("purple-canary")
    observing().broken(RECORD, defect)
    [call] = log.calls
    assert call.method_name == "error"
    assert call.kwargs == {"source": "e/t/0", "position": 7, "error": defect}
