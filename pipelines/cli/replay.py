"""`radarstream replay`: a search history through the pipeline, then a table and a report."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from typer import Option

from radarstream.connectors.files.directory_lock import hold_directory
from radarstream.connectors.files.jsonl_sink import FILES, JsonlSink
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.connectors.state_table.queries.memory import clear_run, log_epochs
from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.pipelines.build import shared_engine, shared_guard
from radarstream.pipelines.cli import results as run_results
from radarstream.pipelines.cli.options import (
    AsJson,
    Attack,
    DryModelOptions,
    Histories,
    RerankerOptions,
    RuleOptions,
    TableFile,
)
from radarstream.pipelines.cli.progress import counting, shown
from radarstream.pipelines.cli.results import REPORT, RUN, SNAPSHOTS, STATE, Results, print_results
from radarstream.pipelines.cli.terminal import make_directory, note, print_json, print_path
from radarstream.pipelines.evaluation.attacks.schedule import Planting, Schedule
from radarstream.pipelines.evaluation.defences.baselines import (
    BASELINES,
    Answered,
    baseline_rows,
)
from radarstream.pipelines.evaluation.defences.contenders import parse_contenders, servable
from radarstream.pipelines.evaluation.defences.records import Contender
from radarstream.pipelines.evaluation.frame import check_table, write_table
from radarstream.pipelines.evaluation.replay_input import ReplayInput, Survey, survey
from radarstream.pipelines.evaluation.run_record import RunRecord, StageCost, begun, check_resumable
from radarstream.pipelines.evaluation.study.row_files import encode_line, write_whole
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.metering import CallCounts
from radarstream.schemas.errors import ConfigurationError, RadarstreamError

INTERRUPTED = 130  # what shells report for Ctrl-C


class NoAnswersError(RadarstreamError):
    """A replay ended without a single answer."""


def replay(
    *,
    files: Histories,
    out: Annotated[Path, Option(help="Directory for results and state.")] = Path("build/replay"),
    chosen: DryModelOptions,
    defense: Annotated[str | None, Option(help="Defence to use.")] = None,
    reranking: RerankerOptions,
    rule: RuleOptions,
    attack: Attack = "",
    baselines: Annotated[
        str, Option(help="Also answer with these, e.g. majority,vanilla_claims; '' for none.")
    ] = "",
    resume: Annotated[bool, Option(help="Continue a replay that was interrupted.")] = False,
    table: TableFile = None,
    as_json: AsJson = False,
) -> None:
    """Replay a search history and defend every answer.

    OUT receives answers.jsonl, attribution.jsonl, deadletter.jsonl, snapshots.jsonl (what was
    ingested), state.sqlite (memory and response cache), run.json and report.html; --baselines adds
    baselines.jsonl. Model answers of earlier replays into the same directory are reused. Without
    --resume the memory starts empty.
    """
    if table is not None:
        check_table(table)
    # Its state is kept beside its results, never in a job's database.
    settings = chosen.settings(database=sqlite_url(out / STATE))
    settings = rule.over(_with_defense(settings, defense))
    settings = reranking.over(settings)
    contenders = parse_contenders(baselines, settings.defense)
    make_directory(out)
    with hold_directory(out):  # before the first change: another replay may be writing there
        if contenders:  # those that cannot take part are refused before the first answer
            models = shared_guard(settings).models
            contenders, left_out = servable(contenders, models, insisted=baselines)
            for reason in left_out:
                note(f"note: {reason}")
        try:
            results = replayed(settings, tuple(files), Schedule.parse(attack), out, resume)
            if contenders:
                results = with_baselines(results, contenders, settings, out)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        file = run_results.write_report(out, results)
        if table is not None:
            write_table(results.frame, table)
    if as_json:
        print_json(results.summary())
    else:
        print_results(results)
        print_path("report", file)
    if not results.answers:
        first = run_results.first_dead_letter(out)
        raise NoAnswersError(f"no snapshot was answered, see {out}{first}")


def replayed(
    settings: Settings, files: tuple[Path, ...], schedule: Schedule, out: Path, resume: bool
) -> Results:
    """Replay into a directory that no other replay writes to, and read the results back."""
    # Wrong settings and input must not cost the results of an earlier replay.
    run = begun(settings, shared_guard(settings))
    source = ReplayInput(files, settings.limits, schedule)
    resumes = _resumable_logs(settings, run, out) if resume else ()
    found = survey(source, out / SNAPSHOTS, resumes=resumes)
    note_skipped(found.attacks)
    if not resume:  # what models answered is kept
        clear_run(shared_engine(settings))
        for name in (*FILES.values(), RUN, REPORT, BASELINES):
            (out / name).unlink(missing_ok=True)
    run = replace(run, snapshots=found.snapshots, attacks=found.attacks)
    run_results.write_run(out, run)  # what --resume must be like
    try:
        run = _run_through(settings, source, found, out, run)
    except KeyboardInterrupt:
        note("interrupted: the same command with --resume goes on from here")
        raise
    run_results.write_run(out, run)
    return run_results.read_results(out)


def with_baselines(
    results: Results, contenders: Sequence[Contender], settings: Settings, out: Path
) -> Results:
    """The results with the answers of baselines to the snapshots that were answered, which are also
    written down. What they cost is one more stage of the run.
    """
    generator = shared_guard(settings).models.generator
    histories: defaultdict[str, list[Answered]] = defaultdict(list)
    for event in results.answers:
        histories[event.query_id].append((results.seen(event), event.step))

    def calls() -> tuple[int, int]:
        counts = generator if isinstance(generator, CallCounts) else None
        return (counts.calls, counts.hits) if counts else (0, 0)

    started, (made, hit) = perf_counter(), calls()
    rows = baseline_rows(
        contenders,
        histories.values(),
        shared_guard(settings).models,
        settings.reading,
        batch=settings.batch.snapshots,
    )
    seconds, (asked, found) = perf_counter() - started, calls()
    write_whole(out / BASELINES, b"".join(map(encode_line, rows)))
    asked, found = asked - made, found - hit
    stage = StageCost("baselines", asked + found, asked, found, seconds)
    run = replace(results.run, stages=(*results.run.stages, stage))
    run_results.write_run(out, run)
    return replace(results, run=run, baselines=tuple(rows))


def _resumable_logs(settings: Settings, run: RunRecord, out: Path) -> Collection[str]:
    """Which inputs the replay in a directory has read. Raises ConfigurationError for a replay that
    was not like this one, or of which nobody knows.
    """
    logs = log_epochs(shared_engine(settings))
    if (out / RUN).exists():
        check_resumable(run_results.read_run(out / RUN), run)
    elif logs:
        raise ConfigurationError(
            f"no {RUN} in {out} says which models and settings answered there: start over without "
            "--resume"
        )
    return logs


def note_skipped(attacks: Iterable[Planting]) -> None:
    """Say which snapshots an attack leaves alone, before the models are asked."""
    for attack in attacks:
        if attack.skipped:
            note(f"note: {attack}")


def _with_defense(settings: Settings, name: str | None) -> Settings:
    """The settings with a named defence, without the options of another one."""
    if name in (None, settings.defense.name):
        return settings
    chosen = settings.defense.model_copy(update={"name": name, "options": {}})
    return settings.model_copy(update={"defense": chosen})


def _run_through(
    settings: Settings, source: ReplayInput, found: Survey, out: Path, run: RunRecord
) -> RunRecord:
    """Run the pipeline, publish its events and record what it cost."""
    from radarstream.pipelines.beam.running import run_replay  # takes seconds

    guard, engine = shared_guard(settings), shared_engine(settings)
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
        with shown(counting("model answers", total, done)):
            run_replay(settings, source, found.digest)
        publish_outbox(engine, sink)
    return replace(
        run,
        stages=tuple(
            StageCost(name, t.calls + t.hits, t.calls, t.hits, t.seconds)
            for name, t in guard.meter.stages.items()
        ),
        answers=run_results.count_lines(out / run_results.ANSWERS),
        dead_letters=run_results.count_lines(out / run_results.DEAD_LETTERS),
        seconds=perf_counter() - started,
        finished=True,
    )
