"""A search history through the pipeline, into a directory."""

import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from radarstream.connectors.files.jsonl_sink import FILES, JsonlSink
from radarstream.connectors.state_table.queries.memory import clear_run, log_epochs
from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.pipelines.build import shared_engine, shared_pipeline
from radarstream.pipelines.job.replaying import results
from radarstream.pipelines.job.replaying.attacking import Planting
from radarstream.pipelines.job.replaying.record import RunRecord, StageCost, begun, check_resumable
from radarstream.pipelines.job.replaying.source import ReplayInput, Survey, survey
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.metering import CallCounts
from radarstream.schemas.errors import ConfigurationError

LOG = logging.getLogger(__name__)
Note = Callable[[str], object]
Show = Callable[[str, int, Callable[[], int]], AbstractContextManager[None]]


def replayed(
    settings: Settings,
    source: ReplayInput,
    out: Path,
    *,
    resume: bool = False,
    note: Note = LOG.warning,
    show: Show = lambda *_: nullcontext(),
) -> results.Results:
    """Replay into a directory and read the results back. `note` takes what a user should know,
    `show` what is done, of how many, and what counts it.
    """
    # Wrong settings and input must not cost the results of an earlier replay.
    run = begun(settings, shared_pipeline(settings))
    resumes = _resumable_logs(settings, run, out) if resume else ()
    found = survey(source, out / results.SNAPSHOTS, resumes=resumes)
    note_skipped(found.attacks, note)
    if not resume:  # what models answered is kept
        clear_run(shared_engine(settings))
        for name in (*FILES.values(), results.RUN, results.REPORT, results.BASELINES):
            (out / name).unlink(missing_ok=True)
    run = replace(run, snapshots=found.snapshots, attacks=found.attacks)
    results.write_run(out, run)  # what --resume must be like
    try:
        run = _run_through(settings, source, found, out, run, show)
    except KeyboardInterrupt:
        note("interrupted: the same command with --resume goes on from here")
        raise
    results.write_run(out, run)
    return results.read_results(out)


def _resumable_logs(settings: Settings, run: RunRecord, out: Path) -> Collection[str]:
    """Which inputs the replay there has read. Raises ConfigurationError for another replay."""
    logs = log_epochs(shared_engine(settings))
    if (out / results.RUN).exists():
        check_resumable(results.read_run(out / results.RUN), run)
    elif logs:
        raise ConfigurationError(
            f"no {results.RUN} in {out} says which models and settings answered there: start over "
            "without --resume"
        )
    return logs


def note_skipped(attacks: Iterable[Planting], note: Note) -> None:
    """Say which snapshots an attack leaves alone, before the models are asked."""
    for attack in attacks:
        if attack.skipped:
            note(f"note: {attack}")


def _run_through(
    settings: Settings, source: ReplayInput, found: Survey, out: Path, run: RunRecord, show: Show
) -> RunRecord:
    """Run the pipeline, publish its events and record what it cost."""
    from radarstream.pipelines.beam.running import run_replay  # takes seconds

    guard, engine = shared_pipeline(settings), shared_engine(settings)
    generator = guard.models.generator
    # One generation per document, one for the undefended answer and one for the defended one.
    documents = found.documents
    if guard.reranker is not None:
        documents = min(documents, guard.keep * found.snapshots)
    total = documents + 2 * found.snapshots

    def done() -> int:
        return generator.calls + generator.hits if isinstance(generator, CallCounts) else 0

    started = perf_counter()
    with JsonlSink(out) as sink:
        publish_outbox(engine, sink)  # what an interrupted run had not yet published
        with show("model answers", total, done):
            run_replay(settings, source, found.digest)
        publish_outbox(engine, sink)
    return replace(
        run,
        stages=tuple(
            StageCost(name, t.calls + t.hits, t.calls, t.hits, t.seconds)
            for name, t in guard.meter.stages.items()
        ),
        answers=results.count_lines(out / results.ANSWERS),
        dead_letters=results.count_lines(out / results.DEAD_LETTERS),
        seconds=perf_counter() - started,
        finished=True,
    )
