"""Allowed lateness: hold records back until older ones of their partition have had their chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from schemas.records import LogPosition, RawRecord


@dataclass(slots=True)
class Lane:
    """One partition of one log: where it was read to, the newest event time seen, what waits.

    `held` has (event time, when it was taken, record) by offset, times in seconds.
    """

    epoch: str
    next_offset: int = -1
    newest_s: float = float("-inf")
    held: dict[int, tuple[float, float, RawRecord]] = field(default_factory=dict)


class HoldBack:
    """Releases records once their partition's event time has moved on by the lateness.

    A record is held while newer ones may still be preceded by older ones: until an event
    `lateness_s` younger than it was seen in its partition, and in a partition that is read to its
    end for `lateness_s` of waiting. Of two records of a partition the older one is never released
    after the newer one, or a fold could pass it by. `event_time` returns seconds, or None for what
    cannot be ordered and is released at once. With a lateness of 0 nothing is held.
    """

    def __init__(self, lateness_s: float, event_time: Callable[[RawRecord], float | None]) -> None:
        self.lateness_s = lateness_s
        self.event_time = event_time
        self.lanes: dict[int, Lane] = {}

    def take(
        self, records: Sequence[RawRecord], now_s: float, unread: Mapping[int, int]
    ) -> list[RawRecord]:
        """Take new records in and return what may be folded, of each partition the oldest first.

        `now_s` is a monotonic clock; `unread` says per partition how much of the log is left.
        """
        released = []
        for record in records:
            position = place(record)
            lane = self.lanes.get(position.partition)
            if lane is None or lane.epoch != position.epoch:
                if lane is not None:  # the log was created anew: what is held cannot be read again
                    released += self._until(lane, float("inf"))
                lane = self.lanes[position.partition] = Lane(position.epoch)
            lane.next_offset = position.offset + 1
            time_s = self.event_time(record) if self.lateness_s else None
            if time_s is None:
                released.append(record)
            else:
                lane.newest_s = max(lane.newest_s, time_s)
                lane.held.setdefault(position.offset, (time_s, now_s, record))
        for partition, lane in self.lanes.items():
            released += self._until(
                lane, self._horizon(lane, now_s, quiet=unread.get(partition) == 0)
            )
        return released

    def _horizon(self, lane: Lane, now_s: float, *, quiet: bool) -> float:
        """Return the event time up to which records are released now."""
        waited_s = [
            time_s
            for time_s, taken_s, _ in lane.held.values()
            if quiet and taken_s <= now_s - self.lateness_s
        ]
        return max([lane.newest_s - self.lateness_s, *waited_s])

    def _until(self, lane: Lane, horizon_s: float) -> list[RawRecord]:
        ripe = sorted(
            (time_s, offset) for offset, (time_s, _, _) in lane.held.items() if time_s <= horizon_s
        )
        return [lane.held.pop(offset)[2] for _, offset in ripe]

    def keep_only(self, partitions: frozenset[int]) -> None:
        """Drop what is held of partitions that another worker reads now."""
        for partition in self.lanes.keys() - partitions:
            del self.lanes[partition]

    def next_offsets(self) -> dict[int, int]:
        """Where a restart must read on, per partition: never past a record that is still held."""
        return {
            partition: min(lane.held, default=lane.next_offset)
            for partition, lane in self.lanes.items()
        }

    @property
    def held(self) -> int:
        """How many records are held back."""
        return sum(len(lane.held) for lane in self.lanes.values())


def place(record: RawRecord) -> LogPosition:
    """Return the record's place in its log; ValueError for a record that came from none."""
    if record.log is None:
        raise ValueError(f"{record.source}:{record.position} has no place in a log")
    return record.log
