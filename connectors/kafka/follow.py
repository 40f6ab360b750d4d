"""Read one topic as a bystander: nothing is committed unless asked, and reading can end.

with follow(options, "snapshots.deadletter", stop_at_end=True) as records:
    for record in records:
        ...
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from connectors.kafka.options import KafkaOptions

Start = Literal["earliest", "latest", "committed"]


@dataclass(frozen=True, slots=True)
class FollowedRecord:
    """One record as the broker gave it; everything in it is untrusted.

    `value` is None for a tombstone. `timestamp` is when it was written, aware and UTC, not event
    time. Of headers with the same name the last one counts.
    """

    partition: int
    offset: int
    timestamp: datetime
    key: bytes | None
    headers: dict[str, bytes]
    value: bytes | None


@contextmanager
def follow(
    options: KafkaOptions,
    topic: str,
    *,
    start: Start = "earliest",
    group: str | None = None,
    stop_at_end: bool = False,
    wait_s: float | None = None,
) -> Iterator[Iterator[FollowedRecord | None]]:
    """Iterate over the records of all partitions of `topic` (named without the prefix).

    Records come in order within a partition. `start`: the "earliest" kept record, the "latest"
    end of each partition, or what `group` has "committed" (earliest where it has not).
    `stop_at_end` ends the iteration once every partition was read up to the end it had when that
    end was first seen; otherwise it goes on for ever. With `wait_s`, None is yielded whenever
    nothing came for that many seconds, so that the caller can look at the clock or stop.
    Raises BrokerError, also for a topic that does not exist, and ConfigurationError.
    """
    raise NotImplementedError
    yield
