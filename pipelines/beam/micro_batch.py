"""The graph built once, then run over one handful of records after another.

Building and translating the graph takes half a second, running the translated one a tenth of that.
Records go in and outcomes come out through a slot of this process: the runner executes the steps
in-process, on copies that were pickled, so that only a module can be shared with them.
"""

import copy
from collections.abc import Iterator, Sequence
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


@dataclass(slots=True)
class Slot:
    """What the run at hand reads and what it has led to."""

    records: Sequence[RawRecord] = ()
    outcomes: list[Outcome] = field(default_factory=list)


SLOTS: dict[int, Slot] = {}
_numbers = count()


class MicroBatch:
    """Records -> the AnswerEvents and DeadLetters they led to, all in the database on return.

    Errors come out as the steps raised them, or as a RuntimeError with the error as its cause.
    Records that were folded before lead to nothing. One thread at a time.
    """

    def __init__(self, settings: Settings, *, cached: bool = True) -> None:
        self.settings = settings
        self.number = next(_numbers)
        self.options = PipelineOptions([])
        self.translated = self._translated() if cached else None

    def __call__(self, records: Sequence[RawRecord]) -> list[Outcome]:
        """Run the graph over the records; `batch` of the continuous job."""
        slot = SLOTS[self.number] = Slot(records)
        try:
            if self.translated is None:
                self._pipeline().run().wait_until_finish()
            else:
                run = FnApiRunner().run_via_runner_api(copy.deepcopy(self.translated), self.options)
                run.wait_until_finish()
        finally:
            del SLOTS[self.number]
        return slot.outcomes

    def _pipeline(self) -> beam.Pipeline:
        # "DirectRunner" would first try to download another runner's binary.
        pipeline = beam.Pipeline(runner=FnApiRunner(), options=self.options)
        (
            pipeline
            | "Start" >> beam.Impulse()
            | "TakeRecords" >> beam.ParDo(TakeRecords(self.number))
            | "Defend" >> DefendSnapshots(self.settings, NO_LOG, live=True)
            | "KeepOutcomes" >> beam.ParDo(KeepOutcomes(self.number))
        )
        return pipeline

    def _translated(self) -> Any:
        """Translate the graph, or return None: this relies on parts of Beam that are not public."""
        pipeline = self._pipeline()
        try:
            pipeline.visit(group_by_key_input_visitor(True))
            environment = FnApiRunner()._default_environment  # noqa: SLF001
            return pipeline.to_runner_api(default_environment=environment)
        except (AttributeError, TypeError):
            return None


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

    def process(self, outcome: Outcome) -> None:
        """Keep one outcome."""
        SLOTS[self.number].outcomes.append(outcome)
