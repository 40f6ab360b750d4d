"""Holds polled records back until older ones have arrived."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec.decoding import decoded
from radarstream.schemas.records import LogPosition, RawRecord
from radarstream.schemas.times import event_time

Waiting = dict[int, tuple[float, float, RawRecord]]


@dataclass(slots=True)
class Lane:
    """One partition: its next offset, its newest event time, and the held records by offset."""

    epoch: str
    next_offset: int = -1
    newest_s: float = -inf
    held: Waiting = field(default_factory=dict)


@dataclass
class HoldBack:
    """Holds a record until one that is `lateness_s` newer arrives in its partition, or none for
    that time; with 0, it holds nothing.

    Older records are released first. `event_time` returns seconds, or None for a record to release
    at once. `read` may replace each incoming record.
    """

    lateness_s: float
    event_time: Callable[[RawRecord], float | None]
    read: Callable[[RawRecord], RawRecord] = lambda record: record
    lanes: dict[int, Lane] = field(default_factory=dict)

    def take(
        self, records: Sequence[RawRecord], now_s: float, unread: Mapping[int, int]
    ) -> list[RawRecord]:
        """Add records and return those to fold; `unread` has the records left by partition."""
        released = []
        for record in map(self.read, records):
            position = place(record)
            lane = self.lanes.get(position.partition)
            if lane is None or lane.epoch != position.epoch:
                if lane is not None:  # a new log; held records cannot be read again
                    released += popped(lane.held, inf)
                lane = self.lanes[position.partition] = Lane(position.epoch)
            lane.next_offset = position.offset + 1
            time_s = self.event_time(record)
            if time_s is None or not self.lateness_s:
                released.append(record)
                continue
            lane.newest_s = max(lane.newest_s, time_s)
            lane.held.setdefault(position.offset, (time_s, now_s, record))
        for partition, lane in self.lanes.items():
            quiet_since_s = now_s - self.lateness_s if unread.get(partition) == 0 else -inf
            ripe_s = horizon(lane.held, lane.newest_s - self.lateness_s, quiet_since_s)
            released += popped(lane.held, ripe_s)
        return released

    def keep_only(self, partitions: frozenset[int]) -> None:
        """Drop the held records of other partitions."""
        for partition in self.lanes.keys() - partitions:
            del self.lanes[partition]

    def next_offsets(self) -> dict[int, int]:
        """Return where a restart continues by partition: at the first held record, if any."""
        return {
            partition: min(lane.held, default=lane.next_offset)
            for partition, lane in self.lanes.items()
        }

    @property
    def held(self) -> int:
        """The number of held records."""
        return sum(len(lane.held) for lane in self.lanes.values())


def hold_back(settings: Settings) -> HoldBack:
    """Return a HoldBack for the settings."""
    job, limits = settings.job, settings.limits

    def read(record: RawRecord) -> RawRecord:
        # Without lateness the event time is not needed, and decoding can wait.
        return decoded(record, limits=limits) if job.allowed_lateness_s else record

    return HoldBack(job.allowed_lateness_s, event_time_of, read=read)


def event_time_of(record: RawRecord) -> float | None:
    """Return the event time in seconds since 1970, decoded or from the bytes; or None."""
    if record.reason is not None:
        return None
    snapshot = record.snapshot
    time = snapshot.observed_at if snapshot else event_time(record.payload)
    return time.timestamp() if time else None


def horizon(waiting: Waiting, time_s: float, taken_s: float) -> float:
    """Return the event time up to which records are released: `time_s`, or the newest of records
    that were taken at `taken_s` or before.
    """
    return max([time_s, *(t for t, taken, _ in waiting.values() if taken <= taken_s)])


def popped(waiting: Waiting, horizon_s: float) -> list[RawRecord]:
    """Remove and return the records up to the horizon, the oldest first."""
    ripe = sorted(
        (time_s, offset) for offset, (time_s, _, _) in waiting.items() if time_s <= horizon_s
    )
    return [waiting.pop(offset)[2] for _, offset in ripe]


def place(record: RawRecord) -> LogPosition:
    """Return the record's place in its log. Raises ValueError if it has none."""
    if record.log is None:
        raise ValueError(f"{record.source}:{record.position} has no place in a log")
    return record.log
