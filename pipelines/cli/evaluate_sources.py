"""`radarstream evaluate-sources`: what the source ledger is worth against a patient attacker."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.connectors.models.tiers import limits, model_facts
from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli import studies
from radarstream.pipelines.cli.evaluation_tables import print_tables
from radarstream.pipelines.cli.options import (
    AsJson,
    DryModelOptions,
    TableFile,
)
from radarstream.pipelines.cli.terminal import print_json, print_path, say
from radarstream.pipelines.evaluation.frame import check_table, write_table
from radarstream.pipelines.evaluation.sources.results import Results, answer_table
from radarstream.pipelines.evaluation.sources.rows import AnswerRow
from radarstream.pipelines.evaluation.sources.study import (
    SourcesPlugin,
    SourcesRecord,
    SourcesRequest,
    as_stored,
    write_results,
)
from radarstream.pipelines.evaluation.sources.tables import tables_of
from radarstream.pipelines.evaluation.sources.worlds import WORLDS, Campaign
from radarstream.pipelines.evaluation.study.harness import TABLES, kept_in, opened
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.pages.sources_study import write_sources_study
from radarstream.schemas.errors import ConfigurationError


def evaluate_sources(
    *,
    questions: Annotated[int, Option(min=1, help="Questions in each world.")] = 20,
    steps: Annotated[int, Option(min=2, max=13, help="Snapshots of each question.")] = 8,
    days: Annotated[float, Option(help="Event time between two snapshots, in days.")] = 7.0,
    attack: Annotated[str, Option(help="What the attacker plants: poison, pia, …")] = "poison",
    priors: Annotated[str, Option(help="Values of RADAR's source_prior.")] = "0.5,1",
    out: studies.Out = Path("build/evaluate-sources"),
    seed: studies.Seed = 0,
    chosen: DryModelOptions,
    resume: studies.Resume = True,
    table: TableFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure RADAR with and without the source ledger, and false flags.

    Every successful attack is confirmed by an oracle before the next step; texts are not
    quarantined, so that the ledger works alone. OUT receives report.html, tables.md, results.json,
    rows.jsonl (one answer a line), attacks.jsonl and flags.jsonl (one simulated campaign a line),
    study.json (provenance) and state.sqlite (answers of the models). The same command continues
    where it was interrupted; other priors may be added later.
    """
    if table is not None:
        check_table(table)
    campaign = Campaign(questions, steps, days, attack, seed)
    weights = _parse_priors(priors)
    settings = kept_in(out, chosen.settings())
    request = SourcesRequest.of(WORLDS, campaign, weights, studies.command_line())
    models = build_models(settings, shared_engine(settings))
    plugin = SourcesPlugin(request, settings, models)
    with opened(plugin, models, out, resume=resume) as study, studies.conducted(study):
        results, page = write_report(out, study.record, study.store)
        if table is not None:
            write_table(answer_table(study.store.of(AnswerRow).values()), table)
    if as_json:
        print_json(as_stored(study.record, results))
        return
    tables = tables_of(results)
    print_tables(replace(shown, notes=()) for shown in tables)
    for text in dict.fromkeys(note for shown in tables for note in shown.notes):
        say(text, style="dim", wrap=True)
    print_path("tables", out / TABLES)
    print_path("report", page)


def write_report(out: Path, record: SourcesRecord, store: RowStore) -> tuple[Results, Path]:
    """Write the results, the tables and the report of what a directory holds."""
    results = write_results(out, record, store)
    provenance = [
        ("revision", record.revision),
        ("seed", record.campaign.seed),
        *model_facts(record.models),
    ]
    page = write_sources_study(
        out,
        results.attacks,
        tables_of(results),
        command=record.command,
        provenance=provenance,
        notes=limits(record.models),
    )
    return results, page


def _parse_priors(text: str) -> list[float]:
    """Read weights such as 0.5,1. Raises ConfigurationError."""
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"cannot read priors {text!r}: write them like 0.5,1") from None
    if not all(0.0 < weight <= 10.0 for weight in weights):
        raise ConfigurationError("priors must be above 0 and at most 10")
    return weights
