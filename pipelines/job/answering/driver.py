"""The continuous job: poll, fold, publish, commit, in that order.

    log -> hold back -> batch (memory and events, one transaction a query) -> publish -> commit

If the job is killed between two steps, the next start reads from the last commit, folds no record
twice and publishes events not yet marked as sent. Tests can simulate all dependencies.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from time import perf_counter
from typing import Protocol, TypeVar

from radarstream.pipelines.beam.folding import Batch, Outcome
from radarstream.pipelines.beam.holding import HoldBack, place
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.job.telemetry.observing import Observer
from radarstream.pipelines.job.waiting import pause_s
from radarstream.pipelines.settings import JobSettings
from radarstream.schemas.errors import InputError, RadarstreamError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.records import RawRecord
from radarstream.schemas.times import Clock

ResultT = TypeVar("ResultT")
# Sends the unsent events of some lanes of the outbox, and returns their number.
Publish = Callable[[frozenset[int]], int]
IDLE_POLL_S = 1.0  # how long a poll waits for records
FIRST_BATCH = 4  # records; grows while batches take less than the configured time


class DeadShareError(RadarstreamError):
    """More than the permitted share of the last inputs became dead letters."""

    exit_code = 3


class SnapshotLog(Protocol):
    """A partitioned log of snapshot records that can be read again from the last commit."""

    def poll(self, *, max_records: int, max_bytes: int, timeout_s: float) -> list[RawRecord]:
        """New records with their `log` positions, offsets ascending within a partition; an empty
        list after the time-out. A single record may exceed `max_bytes`. Raises BrokerError; the
        next call continues.
        """

    def partitions(self) -> frozenset[int]:
        """The assigned partitions; `poll` may change them when workers share the topic."""

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        """Store per partition the offset to continue from. Raises BrokerError."""

    def unread(self) -> dict[int, int]:
        """Number of unpolled records per partition, as known at the last poll."""


@dataclass
class Driver:
    """Runs the loop until it is asked to stop or fails. By `failures.kind_of`, a "transient" error
    is retried, a "fatal" one ends the job, and after a "defect" `park` makes the record a dead
    letter.
    """

    log: SnapshotLog
    batch: Batch
    publish: Publish
    park: Callable[[RawRecord, InputError], DeadLetter]
    holding: HoldBack
    clock: Clock
    observer: Observer
    settings: JobSettings
    stopping: Callable[[], bool]
    random: Random = field(default_factory=Random)
    committed: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.batch_size = min(FIRST_BATCH, self.settings.batch_records)
        self.dead: deque[bool] = deque(maxlen=self.settings.dead_share_after)

    def run(self, *, drain: bool = False) -> None:
        """Run until asked to stop, or with `drain` until the end of the log."""
        while not self.stopping():
            try:
                self.step()
            except Exception as error:
                if self.stopping() and kind_of(error) == "transient":
                    self.observer.retried("stop", error)
                    return
                raise
            if drain and self.drained:
                break

    @property
    def drained(self) -> bool:
        """Whether all known records of the log are folded."""
        partitions, unread = self.log.partitions(), self.log.unread()
        return (
            bool(partitions)
            and partitions <= unread.keys()
            and not any(unread.values())
            and not self.holding.held
        )

    def step(self) -> int:
        """Process one batch: poll, fold, publish, commit. Return the number of polled records."""
        records = self.retried("poll", self.poll)
        unread, partitions = self.log.unread(), self.log.partitions()
        self.observer.polled(records)
        self.observer.assigned(partitions)
        self.holding.keep_only(partitions)
        # A partition may have gone to another worker since its records were polled.
        ours = [record for record in records if place(record).partition in partitions]
        for at in map(place, ours):
            if at.offset < self.committed.get(at.partition, 0):  # that commit was lost
                del self.committed[at.partition]
        ripe = self.holding.take(ours, self.clock.monotonic(), unread)
        self.observer.held_back(self.holding.held)
        outcomes = self.folded(ripe) if ripe else []
        sent = self.timed("publish", lambda: self.publish(partitions))
        self.observer.published(sent)
        self.commit()
        self.observer.outcomes(outcomes, self.clock.now())
        self.check_dead_share(outcomes)
        return len(records)

    def poll(self) -> list[RawRecord]:
        """Wait for a first record, then for the batch to fill."""
        limits = self.settings
        records = self.log.poll(
            max_records=self.batch_size,
            max_bytes=limits.batch_bytes,
            timeout_s=min(IDLE_POLL_S, limits.allowed_lateness_s or IDLE_POLL_S),
        )
        deadline = self.clock.monotonic() + limits.batch_seconds
        while records and not self.stopping():
            room = self.batch_size - len(records)
            space = limits.batch_bytes - sum(len(record.payload) for record in records)
            remaining = deadline - self.clock.monotonic()
            if room <= 0 or space <= 0 or remaining <= 0:
                break
            try:
                records += self.log.poll(max_records=room, max_bytes=space, timeout_s=remaining)
            except Exception as error:
                if kind_of(error) != "transient":
                    raise
                self.observer.retried("poll", error)
                break  # process the records that were polled
        return records

    def folded(self, records: Sequence[RawRecord]) -> list[Outcome]:
        """Run the graph; a record that breaks it alone becomes a dead letter."""
        started = self.clock.monotonic()
        try:
            outcomes = self.timed("batch", lambda: self.batch(records), len(records))
        except Exception as error:
            if kind_of(error) != "defect":
                raise
            defect = error
        else:
            self.fit_batch_size((self.clock.monotonic() - started) / len(records))
            return outcomes
        # Outside the handler: errors below must not be chained to this defect.
        if len(records) == 1:
            refusal = InputError(ReasonClass.INTERNAL_ERROR, type(defect).__name__)
            self.observer.broken(records[0], defect)
            return [self.retried("park", lambda: self.park(records[0], refusal))]
        middle = len(records) // 2
        return self.folded(records[:middle]) + self.folded(records[middle:])

    def fit_batch_size(self, seconds_a_record: float) -> None:
        """Aim at batches of the configured duration: slow models get small batches."""
        fitting = int(self.settings.batch_work_seconds / max(seconds_a_record, 1e-6))
        grown = min(fitting, 2 * self.batch_size, self.settings.batch_records)
        self.batch_size = max(1, grown)

    def commit(self) -> None:
        """Commit the offsets that changed since the last commit; retry failed ones next time."""
        moved = {
            partition: offset
            for partition, offset in self.holding.next_offsets().items()
            if self.committed.get(partition) != offset
        }
        if not moved:
            self.observer.committed({})
            return
        started = perf_counter()
        try:
            self.log.commit(moved)
        except Exception as error:  # the next poll waits for the broker, or finds a new worker
            if kind_of(error) != "transient":
                raise
            self.observer.retried("commit", error)
            return
        self.committed |= moved
        self.observer.took("commit", perf_counter() - started)
        self.observer.committed(moved)

    def check_dead_share(self, outcomes: Iterable[Outcome]) -> None:
        """Raise DeadShareError when too many of the last inputs became dead letters."""
        self.dead.extend(isinstance(outcome, DeadLetter) for outcome in outcomes)
        share, permitted = sum(self.dead) / max(1, len(self.dead)), self.settings.dead_share
        if len(self.dead) == self.dead.maxlen and share > permitted:
            raise DeadShareError(
                f"{share:.0%} of the last {len(self.dead)} inputs became dead letters; "
                f"{permitted:.0%} are permitted"
            )

    def timed(self, stage: str, work: Callable[[], ResultT], records: int = 0) -> ResultT:
        """Run one stage with retries; report the duration of the successful try."""

        def once() -> ResultT:
            started = perf_counter()
            result = work()
            self.observer.took(stage, perf_counter() - started, records)
            return result

        return self.retried(stage, once)

    def retried(self, stage: str, work: Callable[[], ResultT]) -> ResultT:
        """Retry transient errors with growing pauses; raise the error of the last try."""
        for attempt in range(self.settings.attempts - 1):
            try:
                return work()
            except Exception as error:
                if kind_of(error) != "transient" or self.stopping():
                    raise
                self.observer.retried(stage, error)
                self.clock.wait(pause_s(attempt, self.settings, self.random))
        return work()
