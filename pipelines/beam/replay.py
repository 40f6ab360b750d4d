"""Replay: the graph over a bounded source, on a runner named explicitly."""

from collections.abc import Callable, Iterable

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from pipelines.beam.graph import DefendSnapshots
from pipelines.settings import Settings
from schemas.records import RawRecord


def run_replay(
    settings: Settings, source: Callable[[], Iterable[RawRecord]], log_epoch: str
) -> None:
    """Replay every record of `source` (picklable) into the database of the settings.

    `log_epoch` identifies the input: replaying the same input again folds nothing twice.
    """
    # "DirectRunner" would first try to download another runner's binary.
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([])) as pipeline:
        (
            pipeline
            | "Start" >> beam.Impulse()
            | "ReadRecords" >> beam.FlatMap(lambda _: source())
            | "Defend" >> DefendSnapshots(settings, log_epoch)
        )
