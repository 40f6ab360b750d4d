"""`radarstream evaluate-sources`: what a ledger of sources is worth against a patient attacker."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli.evaluation_tables import drawn, parts
from radarstream.pipelines.cli.options import AsJson, ChosenProfile, Config, DryRun
from radarstream.pipelines.cli.terminal import (
    make_directory,
    print_json,
    print_path,
    printable,
    stderr,
    stdout,
)
from radarstream.pipelines.evaluation.provenance import code_revision
from radarstream.pipelines.evaluation.sources.study import study
from radarstream.pipelines.evaluation.sources.tables import as_markdown, tables_of
from radarstream.pipelines.evaluation.sources.worlds import WORLDS, Campaign
from radarstream.pipelines.evaluation.study.row_files import write_json
from radarstream.pipelines.pages.sources_study import write_sources_study
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError

COLUMN_CHARACTERS = 8
RESULTS, TABLES, STATE = "results.json", "tables.md", "state.sqlite"


def evaluate_sources(
    questions: Annotated[int, typer.Option(min=1, help="Questions in each world.")] = 20,
    steps: Annotated[int, typer.Option(min=2, max=13, help="Snapshots of each question.")] = 8,
    days: Annotated[float, typer.Option(help="Event time between two snapshots.")] = 7.0,
    attack: Annotated[
        str, typer.Option(help="What the attacker plants: poison, pia, …")
    ] = "poison",
    priors: Annotated[str, typer.Option(help="Values of RADAR's source_prior.")] = "0.5,1",
    out: Annotated[
        Path, typer.Option(help="Directory for results and the models' answers.")
    ] = Path("build/evaluate-sources"),
    seed: Annotated[int, typer.Option(help="Of the histories and of mistaken blame.")] = 0,
    config: Config = None,
    profile: ChosenProfile = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Play a constant attacker at position 1 with and without a ledger, and flag other sites.

    Every hit is confirmed by an oracle before the next step; texts are not quarantined, so that
    the ledger works alone. OUT receives report.html, tables.md, results.json and the models'
    answers.
    """
    campaign = Campaign(questions, steps, days, attack, seed)
    weights = parse_priors(priors)
    settings = load_settings(config, profile="scripted" if dry_run else profile)
    if "database" not in settings.model_fields_set:
        settings = settings.model_copy(update={"database": f"sqlite:///{out / STATE}"})
    make_directory(out)
    models = build_models(settings, shared_engine(settings))
    command = shlex.join(["radarstream", *sys.argv[1:]])

    def tell(what: str) -> None:
        stderr.print(what, highlight=False, markup=False)

    results = study(WORLDS, campaign, weights, settings.sources.rules, models, tell=tell)
    record = {
        "command": command,
        "code": code_revision(),
        "campaign": asdict(campaign),
        "priors": weights,
        "rules": asdict(settings.sources.rules),
        "models": list(models.ids.values()),
    }
    found = {"record": record, "results": asdict(results)}
    write_json(out / RESULTS, found)
    tables = tables_of(results)
    (out / TABLES).write_text(as_markdown(results, command), encoding="utf-8")
    facts = [("revision", record["code"]), ("seed", seed), *models.ids.items()]
    page = write_sources_study(out, results.attacks, tables, command=command, provenance=facts)
    if as_json:
        print_json(found)
        return
    for table in tables:
        for part in parts(table, stdout.width, COLUMN_CHARACTERS):
            stdout.print(drawn(part))
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        stdout.print(printable(note, 1_000), style="dim", markup=False, highlight=False)
    print_path("tables", out / TABLES)
    print_path("report", page)


def parse_priors(text: str) -> list[float]:
    """Read weights such as 0.5,1. Raises ConfigurationError."""
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"cannot read priors {text!r}: write them like 0.5,1") from None
    if not all(0.0 < weight <= 10.0 for weight in weights):
        raise ConfigurationError("priors must be above 0 and at most 10")
    return weights
