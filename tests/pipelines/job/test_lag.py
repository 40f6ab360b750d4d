"""The lag of a busy worker, and when the loop may say that it is up to date."""

from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.pipelines.job.telemetry.lag import Lag
from radarstream.schemas.records import LogPosition, RawRecord


@pytest.fixture
def told() -> dict[int, Offsets]:
    """What the broker tells when it is asked."""
    return {}


@pytest.fixture
def lag(told: dict[int, Offsets]) -> Lag:
    return Lag(lambda: dict(told))


@pytest.fixture
def exported(lag: Lag) -> Callable[[], dict[str, float]]:
    registry = CollectorRegistry()
    registry.register(lag)

    def read() -> dict[str, float]:
        (family,) = registry.collect()
        assert family.name == "radarstream_consumer_lag_records"
        return {sample.labels["partition"]: sample.value for sample in family.samples}

    return read


def records(*offsets: int, partition: int = 0) -> list[RawRecord]:
    return [RawRecord("e/t/0", n, b"", log=LogPosition("e", partition, n)) for n in offsets]


def test_it_is_what_is_not_committed_whatever_was_polled(
    lag: Lag, told: dict[int, Offsets], exported: Callable[[], dict[str, float]]
) -> None:
    told |= {0: Offsets(0, 20, 5)}
    assert exported() == {}
    lag.assigned(frozenset({0}))
    assert exported() == {}  # nobody asked the broker yet: unknown is not zero
    lag.refresh()
    lag.polled(records(*range(5, 20)))
    assert exported() == {"0": 15}
    told |= {0: Offsets(0, 23, 5)}  # while a batch runs
    lag.refresh()
    assert exported() == {"0": 18}
    lag.committed({0: 20, 7: 1})
    assert exported() == {"0": 3}


def test_all_is_read_once_the_ends_that_the_broker_tells_were_polled(
    lag: Lag, told: dict[int, Offsets]
) -> None:
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
