"""What the job tells logs, metrics and health about itself."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import CapturingLogger

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.telemetry.metrics import JobMetrics
from radarstream.pipelines.job.telemetry.observing import BatchProgress, Lag, Observer
from radarstream.pipelines.signals.metering import Meter
from radarstream.schemas.codec import encode, envelope
from radarstream.schemas.errors import BrokerError, ReasonClass
from radarstream.schemas.records import RawRecord
from tests.builders import logged, make_snapshot
from tests.wire_samples import ANSWER, DEAD_LETTER, OBSERVED_AT

NOW = OBSERVED_AT + timedelta(seconds=90)
OUTAGE = replace(DEAD_LETTER, reason=ReasonClass.MODEL_UNAVAILABLE, disposition="outage")
CLOCK_WRONG = replace(DEAD_LETTER, reason=ReasonClass.FUTURE_TIME, disposition="outage")
RECORD = logged(b"purple-canary", 7)


@pytest.fixture
def health() -> Health:
    return Health(60.0, 600.0)


@pytest.fixture
def log() -> CapturingLogger:
    return CapturingLogger()


@pytest.fixture
def observing(health: Health, log: CapturingLogger) -> Callable[..., Observer]:
    return lambda depth=lambda: 0, lag=dict: Observer(
        log, JobMetrics(), health, outbox_depth=depth, lag=Lag(lag)
    )


def counter(observer: Observer) -> Callable[..., Any]:
    """counter(observer)("retries_total", error="KeyError") -> the value of the sample."""
    of = observer.metrics.registry.get_sample_value
    return lambda name, **labels: of(f"radarstream_{name}", labels)


def made(health: Health) -> Any:
    return health.readiness()["checks"]


def checks(health: Health) -> object:
    return {name: passed for name, passed in made(health).items() if name != "partitions"}


def test_a_database_that_is_away_while_its_outbox_is_counted_ends_nothing(observing, health):
    def away() -> int:
        raise OperationalError("SELECT count(*)", None, ConnectionError())

    observer = observing(away)
    observer.published(3)
    value = counter(observer)
    assert value("events_published_total") == 3
    assert value("retries_total", operation="outbox depth", error="OperationalError") == 1
    assert checks(health) == {"broker": False, "database": False, "models": False}


def test_a_dead_letter_is_logged_with_its_id_and_the_query_if_it_is_known(observing, log) -> None:
    snapshot = make_snapshot(["Rex won."], query_id="cup")
    late = replace(
        DEAD_LETTER, reason=ReasonClass.LATE, payload_base64=b64encode(encode(snapshot)).decode()
    )
    junk = replace(late, payload_base64="?")
    observing().outcomes([late, DEAD_LETTER, junk], NOW)
    logged = [(c.args[0], c.kwargs["query_id"], c.kwargs["letter_id"]) for c in log.calls]
    queries = {"cup": late, None: DEAD_LETTER, "": junk}
    assert logged == [("dead_letter", q or None, envelope(x).id) for q, x in queries.items()]


def test_polling_publishing_committing_retrying_and_holding_back(observing, health) -> None:
    observer = observing(lambda: 3)
    value = counter(observer)
    before = value("last_commit_timestamp_seconds")
    for polled in ([logged(b"x" * 10, n) for n in range(3)], [RECORD], []):
        observer.polled(polled)
    assert (value("records_polled_total"), value("polled_bytes_total")) == (4, 30 + 13)
    observer.published(12)
    assert value("outbox_records") == 3
    observer.outbox_depth = lambda: 0
    observer.published(3)
    observer.committed({0: 15})
    observer.retried("publish", BrokerError("away"))
    observer.retried("publish", BrokerError("away"))
    observer.held_back(4)
    assert [value(n) for n in ("events_published_total", "outbox_records")] == [15, 0]
    assert value("commits_total") == 1
    assert value("last_commit_timestamp_seconds") > before
    assert value("retries_total", operation="publish", error="BrokerError") == 2
    assert value("held_back_records") == 4
    assert health.readiness()["checks"]["broker"] is False


def test_stages_are_timed_through_the_meter(observing) -> None:
    observer = observing()
    meter, value = Meter(observers=[observer.metrics.stage]), counter(observer)
    with meter.stage("atomic answers"):
        pass
    with pytest.raises(KeyError), meter.stage("atomic answers"):
        raise KeyError
    observer.took("batch", 2.0, 16)
    observer.took("commit", 0.01)
    assert value("stage_duration_seconds_count", stage="atomic answers") == 2
    assert value("stage_duration_seconds_sum", stage="atomic answers") > 0.0
    assert value("stage_duration_seconds_sum", stage="batch") == 2.0
    assert value("batch_records_sum") == 16
    assert value("stage_duration_seconds_count", stage="commit") == 1


class Counting:
    calls, answered = 100, 90


def test_a_long_batch_says_how_far_it_is(log) -> None:
    meter, model, seconds = Meter(), Counting(), [0.0]
    progress = BatchProgress(log, meter, model, 10.0, now=lambda: seconds[0])

    def batch(records: Sequence[RawRecord]) -> list[Any]:
        for n in range(3):
            with meter.stage("atomic answers", records=2):
                seconds[0] += 4.0
                model.calls, model.answered = 120, 90 + 5 * n
                progress.tell()
                progress.tell()
        with pytest.raises(KeyError), meter.stage("relations", records=6):
            raise KeyError
        seconds[0] = 25.0
        progress.tell()
        return []

    with meter.stage("atomic answers", records=50):  # of the batch before
        progress.tell()
    progress.of(batch)([logged(b"", n) for n in range(6)])
    seconds[0] = 1_000.0
    progress.tell()
    shared = {"records": 6, "model_calls": 20, "model_answers": 10}
    assert [(call.args, call.kwargs) for call in log.calls] == [
        (("batch_running",), shared | {"stage": "atomic answers", "done": 4, "seconds": 12.0}),
        (("batch_running",), shared | {"stage": "relations", "done": 0, "seconds": 25.0}),
    ]


def test_an_error_counts_against_what_failed(observing, health) -> None:
    observer = observing()
    observer.polled([RECORD])
    observer.assigned(frozenset({0}))
    observer.published(1)
    observer.outcomes([ANSWER], NOW)
    assert health.ready
    observer.retried("publish", BrokerError("cannot publish events"))
    assert checks(health) == {"broker": False, "database": True, "models": True}
    observer.polled([])
    observer.retried("batch", RuntimeError("database"))
    assert checks(health) == {"broker": True, "database": False, "models": True}


def test_models_that_no_snapshot_got_an_answer_from_are_not_ready(observing, health) -> None:
    observer = observing()
    for outcomes, ready in (
        ([ANSWER], True),
        ([DEAD_LETTER], True),  # the record's own fault
        ([OUTAGE, OUTAGE], False),
        ([OUTAGE, ANSWER], True),
        ([CLOCK_WRONG], True),  # an outage, but none of a model
    ):
        observer.outcomes(outcomes, NOW)
        assert checks(health) == {"broker": False, "database": False, "models": ready}


def test_a_defect_is_told_with_its_record_and_its_exception(observing, log) -> None:
    defect = KeyError("purple-canary")
    observing().broken(RECORD, defect)
    [call] = log.calls
    assert call.method_name == "error"
    assert call.kwargs == {"source": RECORD.source, "position": 7, "error": defect}


def test_a_worker_without_partitions_says_so_until_it_has_some(observing, health, log) -> None:
    observer, seconds = observing(), [0.0]
    observer.now, observer.group = lambda: seconds[0], "g"
    observer.since = observer.logged_at = 0.0
    value = counter(observer)
    for seconds[0] in range(26):
        observer.polled([])
        observer.assigned(frozenset())
    assert (made(health)["broker"], made(health)["partitions"]) == (True, False)
    assert value("assigned_partitions") == 0
    for seconds[0] in range(26, 50):
        observer.assigned(frozenset({2, 0}))
    observer.assigned(frozenset({2}))
    assert made(health)["partitions"]
    assert value("assigned_partitions") == 1
    said = [(call.args[0], call.kwargs) for call in log.calls]
    assert said == [
        ("waiting_for_partitions", {"group": "g", "seconds": 10}),
        ("waiting_for_partitions", {"group": "g", "seconds": 20}),
        ("running", {"state": "ready"}),
        ("partitions_assigned", {"group": "g", "partitions": [0, 2]}),
        ("partitions_assigned", {"group": "g", "partitions": [2]}),
    ]


def test_all_is_read_once_the_ends_that_the_broker_tells_were_polled() -> None:
    told: dict[int, Offsets] = {}  # by the broker when it is asked
    lag = Lag(lambda: dict(told))
    lag.assigned(frozenset({0, 1}))
    assert not lag.all_read()  # not known
    told |= {0: Offsets(0, 1), 1: Offsets(0, 9, 9)}
    lag.refresh()
    assert not lag.all_read()
    lag.polled([logged(b"", 0)])
    assert lag.all_read()  # polled and held back, or in a batch
    told |= {0: Offsets(0, 3), 1: Offsets(0, 9, 9)}
    lag.refresh()
    assert not lag.all_read()  # a loop that sees no new record has not read it
    lag.polled([logged(b"", 1)])
    assert not lag.all_read()
    lag.committed({0: 3})
    assert lag.all_read()
