"""Which polled records wait before they are folded: for the clock, and for older ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec.decoding import CLOCK_SKEW, decoded
from radarstream.schemas.codec.event_time import event_time
from radarstream.schemas.records import LogPosition, RawRecord

NEAR_S = CLOCK_SKEW.total_seconds()  # so far ahead of the clock nothing waits
AHEAD_BYTES = 32 * 2**20
Waiting = dict[int, tuple[float, float, RawRecord]]


@dataclass(slots=True)
class Lane:
    """One partition of one log: where it was read to, the newest event time seen, what waits.

    `ahead` waits for the clock, then `held` for older records. Both have (event time, when it was
    taken, record) by offset, times in seconds.
    """

    epoch: str
    next_offset: int = -1
    newest_s: float = -inf
    ahead: Waiting = field(default_factory=dict)
    held: Waiting = field(default_factory=dict)


@dataclass
class HoldBack:
    """Releases records once the clock is near their event time and older ones had their chance.

    Ahead of the clock: a record more than `NEAR_S` and at most `tolerance_s` ahead of the wall
    clock waits until that has come near, or for `tolerance_s` if the clock stands or goes back.
    Further ahead than that, or with no room for it in `ahead_bytes`, it is released at once: the
    decoder decides. With a tolerance of 0 nothing waits for the clock.

    Lateness: a record is held while newer ones may still be preceded by older ones: until an event
    `lateness_s` younger than it was seen in its partition, and in a partition that is read to its
    end for `lateness_s` of waiting. With a lateness of 0 nothing is held.

    Of two records of a partition that wait, the older one is never released after the newer one,
    or a fold could pass it by. `event_time` returns seconds, or None for what cannot be ordered
    and is released at once. `read` is asked once for each record that comes in: what it returns
    takes the record's place from then on.
    """

    lateness_s: float
    event_time: Callable[[RawRecord], float | None]
    tolerance_s: float = 0.0
    ahead_bytes: int = AHEAD_BYTES
    read: Callable[[RawRecord], RawRecord] = lambda record: record
    lanes: dict[int, Lane] = field(default_factory=dict)

    def take(
        self,
        records: Sequence[RawRecord],
        now_s: float,
        unread: Mapping[int, int],
        wall_s: float = inf,
    ) -> list[RawRecord]:
        """Take new records in and return what may be folded, of each partition the oldest first.

        `now_s` is a monotonic clock, `wall_s` the wall clock in seconds since 1970; `unread` says
        per partition how much of the log is left.
        """
        released = []
        room = self.ahead_bytes - sum(
            len(record.payload)
            for lane in self.lanes.values()
            for _, _, record in lane.ahead.values()
        )
        for record in map(self.read, records):
            position = place(record)
            lane = self.lanes.get(position.partition)
            if lane is None or lane.epoch != position.epoch:
                if lane is not None:  # the log was created anew: what waits cannot be read again
                    released += popped(lane.held | lane.ahead, inf)
                lane = self.lanes[position.partition] = Lane(position.epoch)
            lane.next_offset = position.offset + 1
            time_s = self.event_time(record)
            lead_s = -inf if time_s is None else time_s - wall_s
            if time_s is None or lead_s <= NEAR_S:
                released += self._arrived(lane, record, time_s, now_s)
            elif lead_s <= self.tolerance_s and len(record.payload) <= room:
                room -= len(record.payload)
                lane.ahead.setdefault(position.offset, (time_s, now_s, record))
            else:
                released.append(record)
        for partition, lane in self.lanes.items():
            # Who waited for as long as the tolerance goes, also where the clock stands.
            near_s = horizon(lane.ahead, wall_s + NEAR_S, now_s - self.tolerance_s)
            for record in popped(lane.ahead, near_s):
                released += self._arrived(lane, record, self.event_time(record), now_s)
            quiet_since_s = now_s - self.lateness_s if unread.get(partition) == 0 else -inf
            ripe_s = horizon(lane.held, lane.newest_s - self.lateness_s, quiet_since_s)
            released += popped(lane.held, ripe_s)
        return released

    def _arrived(
        self, lane: Lane, record: RawRecord, time_s: float | None, now_s: float
    ) -> list[RawRecord]:
        """Hold a record whose time has come for older ones, or return it."""
        if time_s is None or not self.lateness_s:
            return [record]
        lane.newest_s = max(lane.newest_s, time_s)
        lane.held.setdefault(place(record).offset, (time_s, now_s, record))
        return []

    def keep_only(self, partitions: frozenset[int]) -> None:
        """Drop what waits of partitions that another worker reads now."""
        for partition in self.lanes.keys() - partitions:
            del self.lanes[partition]

    def next_offsets(self) -> dict[int, int]:
        """Where a restart must read on, per partition: never past a record that still waits."""
        return {
            partition: min(lane.held.keys() | lane.ahead.keys(), default=lane.next_offset)
            for partition, lane in self.lanes.items()
        }

    @property
    def held(self) -> int:
        """How many records are held back for older ones."""
        return sum(len(lane.held) for lane in self.lanes.values())

    @property
    def ahead(self) -> int:
        """How many records wait for the clock."""
        return sum(len(lane.ahead) for lane in self.lanes.values())

    def lead_s(self, wall_s: float) -> float:
        """How many seconds the furthest record that waits for the clock is ahead of it."""
        times = [time_s for lane in self.lanes.values() for time_s, _, _ in lane.ahead.values()]
        return max(times, default=wall_s) - wall_s


def hold_back(settings: Settings) -> HoldBack:
    """Return what holds records back, as the settings want it."""
    job, limits = settings.job, settings.limits

    def read(record: RawRecord) -> RawRecord:
        # With no lateness nothing is ordered by the event time: decoding can wait.
        return decoded(record, limits=limits) if job.allowed_lateness_s else record

    return HoldBack(
        job.allowed_lateness_s,
        event_time_of,
        tolerance_s=job.clock_tolerance_s,
        ahead_bytes=job.batch_bytes,
        read=read,
    )


def event_time_of(record: RawRecord) -> float | None:
    """Event time in seconds since 1970, as decoded or else as the bytes seem to say; or None."""
    if record.reason is not None:
        return None
    snapshot = record.snapshot
    time = snapshot.observed_at if snapshot else event_time(record.payload)
    return time.timestamp() if time else None


def horizon(waiting: Waiting, time_s: float, taken_s: float) -> float:
    """Return the event time up to which records are released.

    That is `time_s`, or later where a record waits that was taken at `taken_s` or before.
    """
    return max([time_s, *(t for t, taken, _ in waiting.values() if taken <= taken_s)])


def popped(waiting: Waiting, horizon_s: float) -> list[RawRecord]:
    """Take out what is not younger than the horizon, the oldest first."""
    ripe = sorted(
        (time_s, offset) for offset, (time_s, _, _) in waiting.items() if time_s <= horizon_s
    )
    return [waiting.pop(offset)[2] for _, offset in ripe]


def place(record: RawRecord) -> LogPosition:
    """Return the record's place in its log; ValueError for a record that came from none."""
    if record.log is None:
        raise ValueError(f"{record.source}:{record.position} has no place in a log")
    return record.log
