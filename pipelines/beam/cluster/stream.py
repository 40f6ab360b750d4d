"""The graph of the job on a cluster, for runners with keyed state and checkpoints.

    gather evidence -> fold by query -> publish by lane

The stages before the fold, and the fold, are those of `graph`. Records come one after the other,
ordered at the source, and publishing is a step. Beam state holds nothing of a snapshot: the query's
row in the database tells what was folded, also after a return to an older checkpoint.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import PCollection
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from radarstream.connectors.state_table.queries.outbox import Sink, publish_outbox
from radarstream.pipelines.beam import graph
from radarstream.pipelines.beam.elements import Parked, Recorded
from radarstream.pipelines.beam.folding import lane_of
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import Settings
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import RawRecord

METRICS = "radarstream"
# Nothing is kept in it, but runners give a key with state to one worker at a time: a query is
# folded by one and a lane published by one, each in order.
OWNER = beam.DoFn.StateParam(ReadModifyWriteStateSpec("owner", VarIntCoder()))
OpenSink = Callable[[], Sink]


class DefendStream(beam.PTransform[PCollection[RawRecord], PCollection[None]]):
    """RawRecords with a place in a log -> state rows and published events; gives nothing itself."""

    def __init__(
        self,
        settings: Settings,
        open_sink: OpenSink,
        *,
        live: bool = True,
        model_hints: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.open_sink = open_sink
        self.gather = graph.GatherEvidence(settings, live=live, model_hints=model_hints)

    def expand(self, records: PCollection[RawRecord]) -> PCollection[None]:
        """Build the steps."""
        settings = self.settings
        gathered = records | "Gather" >> self.gather
        fold = beam.ParDo(FoldByQuery(settings)).with_output_types(str)
        parked = gathered[graph.DEAD] | "ParkDead" >> beam.ParDo(
            ParkDeadInOrder(settings)
        ).with_output_types(str)
        folded = (
            gathered[graph.READY]
            | "KeyByQuery" >> beam.Map(graph.key_by_query).with_output_types(tuple[str, Any])
            | "Fold" >> fold.with_resource_hints(**self.gather.model_hints)
        )
        published: PCollection[None] = (
            (folded, parked)
            | "Lanes" >> beam.Flatten()
            | "KeyByLane" >> beam.Map(lambda lane: (lane, None)).with_output_types(tuple[str, None])
            | "Publish" >> beam.ParDo(PublishLanes(settings, self.open_sink))
        )
        return published


class FoldByQuery(graph.FoldQueries):
    """(query id, Ready) -> the outbox lanes that have something to publish, as text.

    Snapshots of a bundle are folded by event time, its queries in lockstep; one older than its
    query's row becomes a `late` dead letter. A lane is named after its events were committed.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, graph.NO_LOG)
        self.waiting = 0
        self.lanes: set[int] = set()

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        super().start_bundle()
        self.waiting, self.lanes = 0, set()

    def process(  # type: ignore[override]
        self,
        keyed: tuple[str, Recorded[Ready]],
        owner: Any = OWNER,  # noqa: ARG002 see OWNER
    ) -> None:
        """Collect one snapshot; fold when as many as a batch may have are there."""
        query_id, ready = keyed
        self.queries.setdefault(query_id, []).append(ready)
        self.lanes.add(lane_of(ready.record))
        self.waiting += 1
        if self.waiting >= self.settings.job.batch_records:
            self.fold_collected()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Fold the rest, then name the lanes."""
        self.fold_collected()
        yield from at_end_of_window(self.lanes)

    def fold_collected(self) -> None:
        """Fold what has been collected."""
        self.waiting = 0
        for outcome in self.fold():
            kind = "answers" if isinstance(outcome, AnswerEvent) else "dead_letters"
            Metrics.counter(METRICS, kind).inc()


class ParkDeadInOrder(graph.ParkDead):
    """Parked -> the outbox lanes that have a dead letter to publish, once it is committed."""

    def process(self, parked: Parked) -> None:  # type: ignore[override]
        """Collect one dead letter."""
        self.collect(parked)
        Metrics.counter(METRICS, "dead_letters").inc()

    def finish_bundle(self) -> Iterator[WindowedValue]:  # type: ignore[override]
        """Write the bundle's dead letters, then name their lanes."""
        super().finish_bundle()
        yield from at_end_of_window({record.lane for record in self.records})


def at_end_of_window(lanes: set[int]) -> Iterator[WindowedValue]:
    """Emit lanes at the end of a bundle."""
    window = GlobalWindow()
    for lane in sorted(lanes):
        yield WindowedValue(str(lane), window.max_timestamp(), (window,))


class PublishLanes(beam.DoFn):
    """(lane, anything) -> nothing; publishes every unsent event of a bundle's lanes, at least once.

    If publishing fails the bundle fails, and reading again names the lane again: no snapshot of the
    job lies past an unpublished event. `open_sink` must be picklable; it is called once a worker.
    """

    def __init__(self, settings: Settings, open_sink: OpenSink) -> None:
        self.settings = settings
        self.open_sink = open_sink
        self.sink: Sink | None = None
        self.lanes: set[int] = set()

    def setup(self) -> None:
        """Open the sink, once a worker."""
        self.sink = self.open_sink()

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.lanes = set()

    def process(
        self,
        keyed: tuple[str, None],
        owner: Any = OWNER,  # noqa: ARG002 see OWNER
    ) -> None:
        """Note that a lane has something to publish."""
        self.lanes.add(int(keyed[0]))

    def finish_bundle(self) -> None:
        """Publish the lanes; returns when everything is durable. Raises BrokerError."""
        lanes, self.lanes = self.lanes, set()
        if lanes and self.sink is not None:
            sent = publish_outbox(shared_engine(self.settings), self.sink, lanes=lanes)
            Metrics.counter(METRICS, "published").inc(sent)

    def teardown(self) -> None:
        """Close the sink."""
        close = getattr(self.sink, "close", None)
        if close is not None:
            close()
        self.sink = None
