"""The ordered step of an unbounded pipeline: fold a query's snapshots as event time moves on.

A snapshot waits in Beam state until the watermark says that nothing older of its query is to be
expected; then it is folded by the same core as everywhere else. Beam state holds only snapshots
that wait. What has been folded is known by the query's row in the database alone: a runner that
goes back to an older checkpoint hands snapshots over again, and the row tells that they are known.
"""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.coders import PickleCoder, VarIntCoder
from apache_beam.metrics.metric import Metrics
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import (
    BagStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from radarstream.connectors.state_table.queries.outbox import append
from radarstream.pipelines.beam.elements import Parked, Ready
from radarstream.pipelines.beam.folding import fold_queries, lane_of
from radarstream.pipelines.beam.witnesses import witnesses_of
from radarstream.pipelines.build import shared_engine, shared_guard
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import OutboxRecord

NO_LOG = ""  # every record says its place in its log itself
METRICS = "radarstream"
DUE_TIMER = TimerSpec("due", TimeDomain.WATERMARK)
WAITING = beam.DoFn.StateParam(BagStateSpec("waiting", PickleCoder()))
EARLIEST = beam.DoFn.StateParam(ReadModifyWriteStateSpec("earliest", VarIntCoder()))
DUE = beam.DoFn.TimerParam(DUE_TIMER)


class FoldInOrder(beam.DoFn):
    """(query id, Ready) -> the outbox lanes that have something to publish, as text.

    A snapshot of event time t is folded once the watermark passes t + `allowed_lateness_s`. One
    that comes later still is folded if its query's row is older, else it becomes a `late` dead
    letter. Queries whose time has come in the same bundle advance in lockstep. A lane is named
    after its events were committed, again when the same records are read again.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lateness_ms = round(settings.job.allowed_lateness_s * 1_000)
        self.queries: dict[str, list[Ready]] = {}

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.queries = {}

    def process(
        self,
        keyed: tuple[str, Ready],
        waiting: Any = WAITING,
        earliest: Any = EARLIEST,
        due: Any = DUE,
    ) -> None:
        """Let one snapshot wait for its time."""
        _, ready = keyed
        time_ms = ready.observed.snapshot.observed_at_ms
        waiting.add(ready)
        known = earliest.read()
        if known is None or time_ms < known:
            earliest.write(time_ms)
            due.set(self.due_at(time_ms))

    @on_timer(DUE_TIMER)
    def release(
        self,
        query_id: Any = beam.DoFn.KeyParam,
        fired_at: Any = beam.DoFn.TimestampParam,
        waiting: Any = WAITING,
        earliest: Any = EARLIEST,
        due: Any = DUE,
    ) -> None:
        """Take every snapshot whose time has come; set the timer for the next one."""
        readies = list(waiting.read())
        waiting.clear()
        earliest.clear()
        held = []
        for ready in readies:
            if self.due_at(ready.observed.snapshot.observed_at_ms) <= fired_at:
                self.queries.setdefault(query_id, []).append(ready)
            else:
                waiting.add(ready)
                held.append(ready.observed.snapshot.observed_at_ms)
        if held:
            earliest.write(min(held))
            due.set(self.due_at(min(held)))

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Fold what the bundle's timers released, then name the lanes it went to."""
        queries, self.queries = self.queries, {}
        guard, engine = shared_guard(self.settings), shared_engine(self.settings)
        witnesses = witnesses_of(self.settings)
        batch = self.settings.batch.queries
        names = list(queries)
        for start in range(0, len(names), batch):
            chunk = {name: queries[name] for name in names[start : start + batch]}
            for outcome in fold_queries(guard, engine, chunk, NO_LOG, witnesses):
                kind = "answers" if isinstance(outcome, AnswerEvent) else "dead_letters"
                Metrics.counter(METRICS, kind).inc()
        records = (ready.observed.record for readies in queries.values() for ready in readies)
        yield from at_end_of_window({lane_of(record) for record in records})

    def due_at(self, time_ms: int) -> Timestamp:
        """When a snapshot may be folded. Whole milliseconds: runners cut timers down to them."""
        return Timestamp(micros=(time_ms + self.lateness_ms) * 1_000)


class ParkDeadInOrder(beam.DoFn):
    """Parked -> the outbox lanes that have a dead letter to publish, once it is committed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.records: list[OutboxRecord] = []

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.records = []

    def process(self, parked: Parked) -> None:
        """Collect one dead letter."""
        self.records.append(outbox_record(parked.letter, lane=lane_of(parked.record)))
        Metrics.counter(METRICS, "dead_letters").inc()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Write the bundle's dead letters, then name their lanes."""
        append(shared_engine(self.settings), self.records)
        lanes, self.records = {record.lane for record in self.records}, []
        yield from at_end_of_window(lanes)


def at_end_of_window(lanes: set[int]) -> Iterator[WindowedValue]:
    """Emit lanes at the end of a bundle."""
    window = GlobalWindow()
    for lane in sorted(lanes):
        yield WindowedValue(str(lane), window.max_timestamp(), (window,))
