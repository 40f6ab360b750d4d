"""`radarstream replay`: a search history through the pipeline, then a table and a report."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from radarstream.connectors.files.directory_lock import hold_directory
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.pipelines.build import shared_pipeline
from radarstream.pipelines.cli.answers_table import print_results
from radarstream.pipelines.cli.options import (
    AsJson,
    Attack,
    DryModelOptions,
    Histories,
    RerankerOptions,
    RuleOptions,
    TableFile,
)
from radarstream.pipelines.cli.progress import counted
from radarstream.pipelines.cli.terminal import note, print_json, print_path
from radarstream.pipelines.evaluation.attacks.schedule import Schedule
from radarstream.pipelines.evaluation.defences.contenders import parse_contenders, servable
from radarstream.pipelines.evaluation.frame import check_table, write_table
from radarstream.pipelines.evaluation.replay_input import ReplayInput
from radarstream.pipelines.job.replaying import results as run_results
from radarstream.pipelines.job.replaying.results import STATE, first_dead_letter
from radarstream.pipelines.job.replaying.running import replayed, with_baselines
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import RadarstreamError

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
    with hold_directory(out):  # before the first change: another replay may be writing there
        if contenders:  # those that cannot take part are refused before the first answer
            models = shared_pipeline(settings).models
            contenders, left_out = servable(contenders, models, insisted=baselines)
            for reason in left_out:
                note(f"note: {reason}")
        try:
            source = ReplayInput(tuple(files), settings.limits, Schedule.parse(attack))
            results = replayed(settings, source, out, resume=resume, note=note, show=counted)
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
        first = first_dead_letter(out)
        raise NoAnswersError(f"no snapshot was answered, see {out}{first}")


def _with_defense(settings: Settings, name: str | None) -> Settings:
    """The settings with a named defence, without the options of another one."""
    if name is None:
        return settings
    return settings.model_copy(update={"defense": settings.defense.named(name)})
