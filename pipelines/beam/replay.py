"""Replay: the graph over a bounded source, on a runner named explicitly."""

from collections.abc import Callable, Iterable

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from radarstream.pipelines.beam.graph import DefendSnapshots
from radarstream.pipelines.settings import Settings
from radarstream.schemas.records import RawRecord


def run_replay(
    settings: Settings, source: Callable[[], Iterable[RawRecord]], log_epoch: str
) -> None:
    """Replay every record of `source` (picklable) into the database of the settings.

    `log_epoch` identifies the input: replaying the same input again folds nothing twice. The
    project's errors come out as they were raised, with the step's name appended.
    """
    # "DirectRunner" would first try to download another runner's binary.
    pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))
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
