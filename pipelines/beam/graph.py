r"""The graph of every job, and its runner in this process.

    decode -> gather -> fold by query -> answers
       \_________\____________\-> dead letters -> outbox

After a run, state and unsent events are in the database; the caller publishes them. Models get
batches of whole snapshots, without a shuffle. A replay runs the graph once over files, a job for
one batch after another: `MicroBatch` translates it once, which takes half a second. The runner
pickles the steps, so that records and outcomes pass through a slot of this module.
"""

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import apache_beam as beam
from apache_beam.coders import coder_impl
from apache_beam.coders.coders import FastCoder
from apache_beam.coders.typecoders import registry
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.runners.pipeline_utils import group_by_key_input_visitor
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from radarstream.connectors.state_table.queries.outbox import append
from radarstream.pipelines.beam.folding import (
    Outcome,
    Parked,
    Recorded,
    fold_queries,
    gathered,
    lane_of,
    witnesses_of,
)
from radarstream.pipelines.build import shared_engine, shared_pipeline
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import dead_letter, decode_record, outbox_record
from radarstream.schemas.errors import InputError
from radarstream.schemas.records import OutboxRecord, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

NO_LOG = ""  # every record has its place in a log
READY = "ready"
DEAD = "dead"


class Element:
    """The declared type of the elements between steps."""


class ElementCoder(FastCoder):
    """Pickles elements without estimating sizes, for which Beam's coder pickles them again."""

    encoder = staticmethod(partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL))

    def _create_impl(self) -> coder_impl.CoderImpl:
        return coder_impl.CallbackCoderImpl(self.encoder, pickle.loads, size_estimator=lambda _: 0)

    def is_deterministic(self) -> bool:
        """Return False: elements are not keys."""
        return False


registry.register_coder(Element, ElementCoder)


class InBatches(beam.PTransform[Any, Any]):
    """Gathers the evidence of batches of the configured size."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, elements: Any) -> Any:
        """Build the two steps."""
        size = self.settings.batch.snapshots
        batching = beam.BatchElements(min_batch_size=size, max_batch_size=size)
        return (
            elements
            | "Batch" >> batching
            | "Ask" >> beam.ParDo(Gather(self.settings)).with_output_types(Element)
        )


class Gather(beam.DoFn):
    """Gathers the evidence of each batch, with the pipeline that the process shares."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def start_bundle(self) -> None:
        """Look the pipeline up, once per bundle because comparing settings takes time."""
        self.pipeline = shared_pipeline(self.settings)

    def process(self, batch: Sequence[Any]) -> Sequence[Any]:
        """Gather one batch."""
        return gathered(self.pipeline, batch)


class DefendSnapshots(beam.PTransform[PCollection[RawRecord], Any]):
    """RawRecords -> Outcomes, and DeadLetters before the fold; `live` refuses future times."""

    def __init__(self, settings: Settings, log_epoch: str, *, live: bool = False) -> None:
        super().__init__()
        self.settings = settings
        self.log_epoch = log_epoch
        self.live = live

    # Two outputs, because flattening would pickle all elements. Not annotated, as below.
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
    """RawRecords of any source -> Ready snapshots under `READY`, Parked records under `DEAD`."""

    def __init__(self, settings: Settings, *, live: bool = False) -> None:
        super().__init__()
        self.settings = settings
        self.live = live

    # Not annotated, because Beam warns about the type of several outputs.
    def expand(self, records):  # type: ignore[no-untyped-def]
        """Build the steps."""
        return (
            records
            | "Decode"
            >> beam.ParDo(Decode(self.settings, live=self.live)).with_output_types(Element)
            | "ReadAnswerRelate" >> InBatches(self.settings)
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
        """Collect and emit one dead letter."""
        self.collect(parked)
        yield parked.letter

    def collect(self, parked: Parked) -> None:
        """Collect one dead letter until the end of the bundle."""
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
        """Collect one query's snapshots; fold if there are enough queries."""
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
        """Fold the collected snapshots, `batch.queries` queries at a time."""
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


def new_pipeline() -> beam.Pipeline:
    """Return an empty pipeline for the runner of this process."""
    # "DirectRunner" would try to download the binary of another runner.
    return beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))


def run_replay(
    settings: Settings, source: Callable[[], Iterable[RawRecord]], log_epoch: str
) -> None:
    """Replay every record of `source` (picklable) into the database of the settings.

    `log_epoch` names the input; a repeated replay of it folds nothing twice. Raises the project's
    errors, with the step's name appended.
    """
    pipeline = new_pipeline()
    (
        pipeline
        | "Start" >> beam.Impulse()
        | "ReadRecords" >> beam.FlatMap(lambda _: source())
        | "Defend" >> DefendSnapshots(settings, log_epoch)
    )
    try:
        pipeline.run().wait_until_finish()
    except RuntimeError as error:
        if interrupted(error):
            raise KeyboardInterrupt from error
        raise


def interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error; inside a step, Beam turns it into a RuntimeError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@dataclass(slots=True)
class Slot:
    """Records and outcomes of a run."""

    records: Sequence[RawRecord] = ()
    outcomes: list[Outcome] = field(default_factory=list)


SLOTS: dict[int, Slot] = {}
_numbers = count()


class MicroBatch:
    """Records -> their AnswerEvents and DeadLetters, which are in the database on return.

    Known records lead to nothing. Raises the errors of the steps, or RuntimeError from them. Not
    thread-safe.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.number = next(_numbers)
        pipeline = self._pipeline()
        # Private parts of Beam, which a test runs with the locked version.
        pipeline.visit(group_by_key_input_visitor(True))
        environment = FnApiRunner()._default_environment  # noqa: SLF001
        self.translated = pipeline.to_runner_api(default_environment=environment)

    def __call__(self, records: Sequence[RawRecord]) -> list[Outcome]:
        """Run the graph over the records."""
        slot = SLOTS[self.number] = Slot(records)
        try:
            graph = copy.deepcopy(self.translated)
            FnApiRunner().run_via_runner_api(graph, PipelineOptions([])).wait_until_finish()
        finally:
            del SLOTS[self.number]
        return slot.outcomes

    def _pipeline(self) -> beam.Pipeline:
        pipeline = new_pipeline()
        folded, dead = (
            pipeline
            | "Start" >> beam.Impulse()
            | "TakeRecords" >> beam.ParDo(TakeRecords(self.number))
            | "Defend" >> DefendSnapshots(self.settings, NO_LOG, live=True)
        )
        for name, outcomes in (("KeepFolded", folded), ("KeepDead", dead)):
            outcomes | name >> beam.ParDo(KeepOutcomes(self.number))
        return pipeline


class TakeRecords(beam.DoFn):
    """Impulse -> the slot's records."""

    def __init__(self, number: int) -> None:
        self.number = number

    def process(self, _: bytes) -> Iterator[RawRecord]:
        """Yield every record of the run."""
        yield from SLOTS[self.number].records


class KeepOutcomes(beam.DoFn):
    """Outcome -> the slot."""

    def __init__(self, number: int) -> None:
        self.number = number

    def process(self, outcome: Any) -> None:
        """Keep one outcome."""
        SLOTS[self.number].outcomes.append(outcome)
