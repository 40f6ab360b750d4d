"""`radarstream evaluate-attribution`: which texts taught a wrong answer."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli import studies
from radarstream.pipelines.evaluation.attribution.attributors import parse_attributors, servable
from radarstream.pipelines.evaluation.attribution.records import AttributionRecord
from radarstream.pipelines.evaluation.attribution.results import Results, score_table
from radarstream.pipelines.evaluation.attribution.rows import AttributionRow, EventRow
from radarstream.pipelines.evaluation.attribution.scenarios import parse_scenarios
from radarstream.pipelines.evaluation.attribution.study import (
    AttributionPlugin,
    AttributionRequest,
    as_stored,
    write_results,
)
from radarstream.pipelines.evaluation.attribution.tables import tables_of
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.frame import write_table
from radarstream.pipelines.evaluation.questions import Questions
from radarstream.pipelines.evaluation.study.harness import kept_in, opened
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.pages.attribution import write_study_page

SHOWN = ("scenarios", "micro", "removal", "clean", "cost")


def evaluate_attribution(
    *,
    dataset: Annotated[
        list[Path], Option(help="Questions with labels; their documents are the corpus.")
    ],
    attacks: Annotated[
        str,
        Option(
            help="Scenarios such as poisonedrag, injection-benign, hijack/noisy, benign-errors, "
            "or whole families: plain, adaptive, several, noisy, clean, all."
        ),
    ] = "plain",
    attributors: Annotated[
        str, Option(help="Attributors: all, or e.g. rag_origin,rag_origin:block=2,norm.")
    ] = "all",
    k: studies.Documents = 5,
    out: studies.Out = Path("build/evaluate-attribution"),
    run: studies.StudyOptions,
) -> None:
    """Compare attributors on wrong answers that attacks on a corpus cause, and on false complaints.

    OUT receives report.html, tables.md, results.json, events.jsonl (one question under one
    scenario a line), rows.jsonl (one attribution a line), study.json (provenance) and state.sqlite
    (answers of the models). The same command continues where it was interrupted; more attributors
    or scenarios may be added later.
    """
    settings = kept_in(out, run.settings())
    data = load_dataset(dataset, settings.limits)
    scenarios, specs = parse_scenarios(attacks), parse_attributors(attributors)
    models = build_models(settings, shared_engine(settings))
    benign = len(Questions.of(data, run.limit, run.half).corpus.entries)
    served, notes = servable(specs, models, benign, insisted=attributors)
    request = AttributionRequest(
        dataset=data,
        scenarios=scenarios,
        attributors=served,
        k=k,
        half=run.half,
        limit=run.limit,
        seed=run.seed,
        command=studies.command_line(),
        notes=notes,
    )
    plugin = AttributionPlugin(request, settings, models)
    with opened(plugin, models, out, resume=run.resume) as study:
        events, rows = study.store.of(EventRow), study.store.of(AttributionRow)

        def kept() -> str:
            found = counted_noun(len(events), "question"), counted_noun(len(rows), "attribution")
            return " and ".join(found)

        with studies.conducted(study, kept):
            results, _ = write_report(out, study.record, study.store)
            if run.table is not None:
                write_table(score_table(events, rows.values()), run.table)
    tables = tables_of(results, study.record.names)
    shown = [table for table in tables if table.key in SHOWN]
    found = {"record": study.record, "results": as_stored(study.record, results)}
    run.print(study, found, shown)
    studies.insist(study, (spec.name for spec in served), "no attribution without an error by")


def write_report(out: Path, record: AttributionRecord, store: RowStore) -> tuple[Results, Path]:
    """Write the results, the tables and the report of what a directory holds."""
    results = write_results(out, record, store)
    events, rows = store.of(EventRow).values(), store.of(AttributionRow).values()
    return results, write_study_page(out, record, events, rows, results)
