"""The graph on a runner: once over files, or over one batch after another. `MicroBatch` builds and
translates it once, which takes half a second. The runner pickles the steps, so records and outcomes
pass through a slot of this module.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.pipeline_utils import group_by_key_input_visitor
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from radarstream.pipelines.beam.folding import Outcome
from radarstream.pipelines.beam.graph import NO_LOG, DefendSnapshots
from radarstream.pipelines.settings import Settings
from radarstream.schemas.records import RawRecord


def new_pipeline() -> beam.Pipeline:
    """Return an empty pipeline for the runner of this process."""
    # "DirectRunner" would first try to download another runner's binary.
    return beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))


def run_replay(
    settings: Settings, source: Callable[[], Iterable[RawRecord]], log_epoch: str
) -> None:
    """Replay every record of `source` (picklable) into the database of the settings. `log_epoch`
    names the input: replaying it again folds nothing twice. Raises the project's errors, the step's
    name appended.
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
    """Whether Ctrl-C is behind an error: inside a step Beam makes it a RuntimeError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@dataclass(slots=True)
class Slot:
    """What the run at hand reads and what it has led to."""

    records: Sequence[RawRecord] = ()
    outcomes: list[Outcome] = field(default_factory=list)


SLOTS: dict[int, Slot] = {}
_numbers = count()


class MicroBatch:
    """Records -> the AnswerEvents and DeadLetters they led to, all in the database on return; known
    records lead to nothing. Raises what the steps raise, or RuntimeError from it. One thread at a
    time.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.number = next(_numbers)
        pipeline = self._pipeline()
        # Parts of Beam that are not public; a test runs them with the Beam that is locked.
        pipeline.visit(group_by_key_input_visitor(True))
        environment = FnApiRunner()._default_environment  # noqa: SLF001
        self.translated = pipeline.to_runner_api(default_environment=environment)

    def __call__(self, records: Sequence[RawRecord]) -> list[Outcome]:
        """Run the graph over the records; `batch` of the continuous job."""
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
        """Yield every record of the run at hand."""
        yield from SLOTS[self.number].records


class KeepOutcomes(beam.DoFn):
    """Outcome -> the slot."""

    def __init__(self, number: int) -> None:
        self.number = number

    def process(self, outcome: Any) -> None:
        """Keep one outcome."""
        SLOTS[self.number].outcomes.append(outcome)
