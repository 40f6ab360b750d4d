"""`radarstream evaluate-attribution`: who names the texts that taught a wrong answer."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from radarstream.connectors.files.directory_lock import hold_directory
from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli.evaluate import STATE, ContenderFailedError
from radarstream.pipelines.cli.evaluation_progress import resumable, shown
from radarstream.pipelines.cli.evaluation_tables import print_table
from radarstream.pipelines.cli.options import AsJson, ChosenProfile, Config, DryRun
from radarstream.pipelines.cli.terminal import (
    make_directory,
    print_json,
    print_path,
    printable,
    stderr,
)
from radarstream.pipelines.evaluation.attribution.records import (
    RESULTS,
    TABLES,
    parse_attributors,
    servable,
    start_over,
)
from radarstream.pipelines.evaluation.attribution.results import Results, results_of
from radarstream.pipelines.evaluation.attribution.scenarios import parse_scenarios
from radarstream.pipelines.evaluation.attribution.staging import Questions
from radarstream.pipelines.evaluation.attribution.study import Request, Study
from radarstream.pipelines.evaluation.attribution.tables import as_markdown, tables_of
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.study.row_files import write_json
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.pages.attribution.page import STUDY, write_study_page
from radarstream.pipelines.pages.attribution.view import study_view
from radarstream.pipelines.settings import load_settings

SHOWN = ("scenarios", "micro", "removal", "clean", "cost")


def evaluate_attribution(
    dataset: Annotated[
        list[Path], typer.Option(help="Questions with labels; their documents are the corpus.")
    ],
    attacks: Annotated[
        str,
        typer.Option(
            help="Scenarios such as poisonedrag, injection-benign, hijack/noisy, benign-errors, "
            "or whole families: plain, adaptive, several, noisy, clean, all."
        ),
    ] = "plain",
    attributors: Annotated[
        str, typer.Option(help="Who competes: all, or e.g. rag_origin,rag_origin:block=2,norm.")
    ] = "all",
    k: Annotated[int, typer.Option("-k", min=1, help="Texts an answer is generated from.")] = 5,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first N questions, over the documents of so many."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Directory for results and the models' answers.")
    ] = Path("build/evaluate-attribution"),
    seed: Annotated[int, typer.Option(help="Seed of benign samples and of intervals.")] = 0,
    config: Config = None,
    profile: ChosenProfile = None,
    dry_run: DryRun = False,
    resume: Annotated[
        bool, typer.Option(help="Keep rows that are there; else only the models' answers.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Compare attributors on wrong answers that attacks on a corpus cause, and on false reports.

    OUT receives report.html, tables.md, results.json, events.jsonl (one question under one
    scenario a line), rows.jsonl (one attribution a line), study.json (provenance) and state.sqlite
    (answers of the models). The same command goes on where it was interrupted; more attributors or
    scenarios may be added later.
    """
    settings = load_settings(config, profile="scripted" if dry_run else profile)
    if "database" not in settings.model_fields_set:
        settings = settings.model_copy(update={"database": f"sqlite:///{out / STATE}"})
    data = load_dataset(dataset, settings.limits.as_limits())
    scenarios, specs = parse_scenarios(attacks), parse_attributors(attributors)
    make_directory(out)
    models = build_models(settings, shared_engine(settings))
    benign = len(Questions.of(data, limit).corpus.entries)
    served, notes = servable(specs, models, benign, insisted=attributors)
    request = Request(
        dataset=data,
        scenarios=scenarios,
        attributors=served,
        k=k,
        limit=limit,
        seed=seed,
        command=shlex.join(["radarstream", *sys.argv[1:]]),
        notes=notes,
    )
    with hold_directory(out):
        if not resume:
            start_over(out)
        study = Study(request, settings, models, out)
        with resumable(lambda: kept(study), out, request.command):
            run(study)
            results = concluded(study)
    if as_json:
        print_json({"record": study.record.as_json(), "results": asdict(results)})
    else:
        print_study(study, results)
    check_rows(study)


def kept(study: Study) -> str:
    """How much there is."""
    events, rows = study.found()
    return f"{counted_noun(len(events), 'question')} and {counted_noun(len(rows), 'attribution')}"


def run(study: Study) -> None:
    """Run to the end, showing how far it is."""
    with shown(study.progress):
        study.run()
    for note in study.record.notes:
        stderr.print(printable(f"note: {note}", 500), markup=False, highlight=False)


def concluded(study: Study) -> Results:
    """Score the rows and write the results down."""
    record = study.record
    events, rows = study.found()
    names = [spec.name for spec in record.attributors]
    results = results_of(events, rows, names, record.scenarios, seed=record.seed)
    write_json(study.out / RESULTS, asdict(results))
    (study.out / TABLES).write_text(as_markdown(results, names), encoding="utf-8")
    write_study_page(study.out, study_view(record, events, rows, results))
    return results


def print_study(study: Study, results: Results) -> None:
    """Print what a person wants to see first."""
    for table in tables_of(results, [spec.name for spec in study.record.attributors]):
        if table.key in SHOWN:
            print_table(table)
    print_path("tables", study.out / TABLES)
    print_path("report", study.out / STUDY)


def check_rows(study: Study) -> None:
    """Raise ContenderFailedError when an attributor of this run failed on every event."""
    _, rows = study.found()
    tried = {row.attributor for row in rows}
    sound = {row.attributor for row in rows if row.error is None}
    failed = [s.name for s in study.request.attributors if s.name in tried - sound]
    if failed:
        raise ContenderFailedError(f"no attribution without an error by {', '.join(failed)}")
