"""The lag of a busy worker, and when the loop may say that it is up to date."""

from collections.abc import Callable, Mapping

import pytest
from prometheus_client import CollectorRegistry

from radarstream.connectors.kafka.offsets import Offsets
from radarstream.pipelines.job.telemetry.lag import Lag
from radarstream.schemas.records import LogPosition, RawRecord


class Broker:
    """Says what it is told to."""

    def __init__(self) -> None:
        self.offsets: Mapping[int, Offsets] = {}

    def __call__(self) -> Mapping[int, Offsets]:
        return self.offsets


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def lag(broker: Broker) -> Lag:
    return Lag(broker)


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
    lag: Lag, broker: Broker, exported: Callable[[], dict[str, float]]
) -> None:
    broker.offsets = {0: Offsets(0, 20, 5)}
    assert exported() == {}
    lag.assigned(frozenset({0}))
    assert exported() == {}  # nobody asked the broker yet: unknown is not zero
    lag.refresh()
    lag.polled(records(*range(5, 20)))
    assert exported() == {"0": 15}
    broker.offsets = {0: Offsets(0, 23, 5)}  # while a batch runs
    lag.refresh()
    assert exported() == {"0": 18}
    lag.committed({0: 20, 7: 1})
    assert exported() == {"0": 3}


def test_all_is_read_once_the_ends_that_the_broker_tells_were_polled(
    lag: Lag, broker: Broker
) -> None:
    lag.assigned(frozenset({0, 1}))
    assert not lag.all_read()  # not known
    broker.offsets = {0: Offsets(0, 3), 1: Offsets(0, 9, 9)}
    lag.refresh()
    assert not lag.all_read()
    lag.polled(records(0, 1))
    assert not lag.all_read()
    lag.polled(records(2))
    assert lag.all_read()  # polled and held back, or in a batch
    broker.offsets = {0: Offsets(0, 4), 1: Offsets(0, 9, 9)}
    lag.refresh()
    assert not lag.all_read()  # a loop that sees no new record has not read it
    lag.committed({0: 4})
    assert lag.all_read()
