"""The lag of a busy worker, and when the loop may say that it is up to date."""

import pytest

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.pipelines.job.telemetry.observing import Lag
from radarstream.schemas.records import LogPosition, RawRecord


@pytest.fixture
def told() -> dict[int, Offsets]:
    """What the broker tells when it is asked."""
    return {}


@pytest.fixture
def lag(told: dict[int, Offsets]) -> Lag:
    return Lag(lambda: dict(told))


def records(*offsets: int, partition: int = 0) -> list[RawRecord]:
    return [RawRecord("e/t/0", n, b"", log=LogPosition("e", partition, n)) for n in offsets]


def test_all_is_read_once_the_ends_that_the_broker_tells_were_polled(lag, told) -> None:
    lag.assigned(frozenset({0, 1}))
    assert not lag.all_read()  # not known
    told |= {0: Offsets(0, 3), 1: Offsets(0, 9, 9)}
    lag.refresh()
    assert not lag.all_read()
    lag.polled(records(0, 1))
    assert not lag.all_read()
    lag.polled(records(2))
    assert lag.all_read()  # polled and held back, or in a batch
    told |= {0: Offsets(0, 4), 1: Offsets(0, 9, 9)}
    lag.refresh()
    assert not lag.all_read()  # a loop that sees no new record has not read it
    lag.committed({0: 4})
    assert lag.all_read()
