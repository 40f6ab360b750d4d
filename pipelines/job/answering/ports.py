"""What the job's driver asks of the world; connectors and tests match structurally."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import OutboxRecord, RawRecord


class SnapshotLog(Protocol):
    """A partitioned log of snapshot records that can be read again from the last commit."""

    def poll(self, *, max_records: int, max_bytes: int, timeout_s: float) -> list[RawRecord]:
        """Return new records, offsets ascending within a partition; none after the time-out.

        Every record has its `log` position. `max_bytes` may be exceeded by one record. Raises
        BrokerError; the next call goes on where the last good one ended.
        """
        ...

    def partitions(self) -> frozenset[int]:
        """Partitions read at present; may change in `poll` when workers share the topic."""
        ...

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        """Remember per partition where to read on after a restart. Raises BrokerError."""
        ...

    def unread(self) -> dict[int, int]:
        """Records per partition that were not yet polled, as far as the last poll could tell."""
        ...


class EventSink(Protocol):
    """Where events go."""

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        """Return only when every record is durable. Raises BrokerError when any is not."""
        ...


class Batch(Protocol):
    """The graph, over a handful of records."""

    def __call__(self, records: Sequence[RawRecord]) -> list[AnswerEvent | DeadLetter]:
        """Fold the records into the state table and the outbox, and tell what happened.

        All or nothing per query; calling again with the same records folds nothing twice.
        """
        ...


class JobObserver(Protocol):
    """Hears what the job does, for logs, metrics and health; must not raise."""

    def polled(self, records: Sequence[RawRecord]) -> None:
        """Tell that the log was read; also the loop's sign of life."""
        ...

    def assigned(self, partitions: frozenset[int]) -> None:
        """Tell which partitions are read at present, after every poll; maybe none."""
        ...

    def held_back(self, count: int, ahead: int, lead_s: float) -> None:
        """Tell how many records wait for older ones, and how many for the clock.

        `lead_s` is how far the furthest of those is ahead of it, in seconds.
        """
        ...

    def took(self, stage: str, seconds: float, records: int = 0) -> None:
        """Tell how long a good try of "batch" (with its records), "publish" or "commit" took."""
        ...

    def published(self, count: int) -> None:
        """Tell how many events reached their topics."""
        ...

    def committed(self, next_offsets: Mapping[int, int]) -> None:
        """Tell that these offsets are committed; none: that nothing was left to commit."""
        ...

    def outcomes(self, outcomes: Sequence[AnswerEvent | DeadLetter], now: datetime) -> None:
        """Tell what a batch led to, after its events were published."""
        ...

    def retried(self, stage: str, error: BaseException) -> None:
        """Tell that a stage failed and is tried again."""
        ...

    def broken(self, record: RawRecord, error: BaseException) -> None:
        """Tell that a record broke the graph: a defect of ours."""
        ...


class Clock(Protocol):
    """Time, so that tests can do without it."""

    def now(self) -> datetime:
        """The wall clock, aware, UTC: for ages and for event times in the future only."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        ...

    def wait(self, seconds: float) -> None:
        """Pause; returns early when the job is asked to stop."""
        ...
