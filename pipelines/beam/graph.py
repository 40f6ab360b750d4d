r"""The graph of every job, top to bottom: raw records to defended answers.

    decode -> gather -> fold by query -> answers
       \_________\____________\-> dead letters -> outbox

State and outgoing events are in the database when the run has ended; the caller publishes them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from radarstream.connectors.state_table.queries.outbox import append
from radarstream.pipelines.beam.elements import Parked, Recorded
from radarstream.pipelines.beam.folding import Outcome, fold_queries, lane_of
from radarstream.pipelines.beam.model_stages import Element, InBatches
from radarstream.pipelines.beam.witnesses import witnesses_of
from radarstream.pipelines.build import shared_engine, shared_pipeline
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import dead_letter, decode_record, outbox_record
from radarstream.schemas.errors import InputError
from radarstream.schemas.records import OutboxRecord, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

NO_LOG = ""  # every record says its place in its log itself
READY = "ready"
DEAD = "dead"


class DefendSnapshots(beam.PTransform[PCollection[RawRecord], Any]):
    """RawRecords -> Outcomes, and DeadLetters before the fold; `live` refuses times
    in the future.
    """

    def __init__(self, settings: Settings, log_epoch: str, *, live: bool = False) -> None:
        super().__init__()
        self.settings = settings
        self.log_epoch = log_epoch
        self.live = live

    # Two outputs: flattened into one, all would be pickled on their way. Not annotated, as below.
    def expand(self, records):  # type: ignore[no-untyped-def]
        """Build the steps."""
        settings = self.settings
        gathered = records | "Gather" >> GatherEvidence(settings, live=self.live)
        dead = gathered[DEAD] | "ParkDead" >> beam.ParDo(ParkDead(settings))
        folded = (
            gathered[READY]
            | "KeyByQuery" >> beam.Map(key_by_query).with_output_types(tuple[str, Element])
            | "GroupByQuery" >> beam.GroupByKey()
            | "Fold" >> beam.ParDo(FoldQueries(settings, self.log_epoch)).with_output_types(Element)
        )
        return folded, dead


class GatherEvidence(beam.PTransform[PCollection[RawRecord], Any]):
    """RawRecords of any source -> Ready snapshots under `READY`, Parked records under `DEAD`.
    `model_hints` are Beam resource hints for the stage that asks models; whoever builds the fold
    gives it the same.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        live: bool = False,
        model_hints: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.live = live
        self.model_hints = dict(model_hints or {})

    # Annotated, Beam would warn at every start: it cannot name the type of several outputs.
    def expand(self, records):  # type: ignore[no-untyped-def]
        """Build the steps."""
        gathering = InBatches(self.settings)
        return (
            records
            | "Decode"
            >> beam.ParDo(Decode(self.settings, live=self.live)).with_output_types(Element)
            | "ReadAnswerRelate" >> gathering.with_resource_hints(**self.model_hints)
            | "Split"
            >> beam.FlatMap(split_dead).with_output_types(Element).with_outputs(DEAD, main=READY)
        )


class Decode(beam.DoFn):
    """RawRecord -> a Recorded snapshot or Parked."""

    def __init__(self, settings: Settings, *, live: bool) -> None:
        self.limits = settings.limits
        self.tolerance = timedelta(seconds=settings.job.clock_tolerance_s)
        self.live = live

    def process(self, record: RawRecord) -> Iterator[Recorded[SearchSnapshot] | Parked]:
        """Decode one record."""
        now = datetime.now(UTC) if self.live else None
        try:
            snapshot = decode_record(record, limits=self.limits, now=now, tolerance=self.tolerance)
            yield Recorded(replace(record, snapshot=None), snapshot)
        except InputError as error:
            yield Parked(record, dead_letter(record, error))


class ParkDead(beam.DoFn):
    """Write dead letters to the outbox, one transaction per bundle."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.records: list[OutboxRecord] = []

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.records = []

    def process(self, parked: Parked) -> Iterator[Any]:
        """Collect one dead letter, and tell of it."""
        self.collect(parked)
        yield parked.letter

    def collect(self, parked: Parked) -> None:
        """Take one dead letter to be written when the bundle ends."""
        self.records.append(outbox_record(parked.letter, lane=lane_of(parked.record)))

    def finish_bundle(self) -> None:
        """Write the bundle's dead letters."""
        append(shared_engine(self.settings), self.records)


class FoldQueries(beam.DoFn):
    """(query id, its Ready snapshots) -> Outcomes, queries advancing in lockstep."""

    def __init__(self, settings: Settings, log_epoch: str) -> None:
        self.settings = settings
        self.log_epoch = log_epoch
        self.queries: dict[str, list[Recorded[Ready]]] = {}

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.queries = {}

    def process(self, keyed: tuple[str, Iterable[Any]]) -> Iterator[Outcome]:
        """Collect one query's snapshots; fold when enough queries are there."""
        query_id, readies = keyed
        self.queries[query_id] = list(readies)
        if len(self.queries) >= self.settings.batch.queries:
            yield from self.fold()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Fold the rest."""
        window = GlobalWindow()
        for outcome in self.fold():
            yield WindowedValue(outcome, window.max_timestamp(), (window,))

    def fold(self) -> Iterator[Outcome]:
        """Fold what has been collected, so many queries at a time as the settings say."""
        collected, self.queries = list(self.queries.items()), {}
        pipeline, engine = shared_pipeline(self.settings), shared_engine(self.settings)
        witnesses = witnesses_of(self.settings)
        size = self.settings.batch.queries
        for start in range(0, len(collected), size):
            queries = dict(collected[start : start + size])
            yield from fold_queries(pipeline, engine, queries, self.log_epoch, witnesses)


def split_dead(element: Any) -> Iterator[Any]:
    """Send dead letters to their own output."""
    yield TaggedOutput(DEAD, element) if isinstance(element, Parked) else element


def key_by_query(item: Any) -> tuple[str, Recorded[Ready]]:
    """Key a snapshot by its query."""
    return item.value.chosen.snapshot.query.id, item
