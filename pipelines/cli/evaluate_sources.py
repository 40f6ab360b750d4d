"""`radarstream evaluate-sources`: what the source ledger is worth against a patient attacker."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli import studies
from radarstream.pipelines.evaluation.sources.study import SourcesPlugin, SourcesRequest
from radarstream.pipelines.evaluation.sources.worlds import WORLDS, Campaign
from radarstream.pipelines.evaluation.study.harness import kept_in
from radarstream.pipelines.pages.sources_study import SOURCES
from radarstream.schemas.errors import ConfigurationError


def evaluate_sources(
    *,
    questions: Annotated[int, Option(min=1, help="Questions in each world.")] = 20,
    steps: Annotated[int, Option(min=2, max=13, help="Snapshots of each question.")] = 8,
    days: Annotated[float, Option(help="Event time between two snapshots, in days.")] = 7.0,
    attack: Annotated[str, Option(help="What the attacker plants: poison, pia, …")] = "poison",
    priors: Annotated[str, Option(help="Values of RADAR's source_prior.")] = "0.5,1",
    out: studies.Out = Path("build/evaluate-sources"),
    run: studies.RunOptions,
) -> None:
    """Measure RADAR with and without the source ledger, and false flags.

    Every successful attack is confirmed by an oracle before the next step; texts are not
    quarantined, so that the ledger works alone. OUT receives report.html, tables.md, results.json,
    rows.jsonl (one answer a line), attacks.jsonl and flags.jsonl (one simulated campaign a line),
    study.json (provenance) and state.sqlite (answers of the models). The same command continues
    where it was interrupted; other priors may be added later.
    """
    campaign = Campaign(questions, steps, days, attack, run.seed)
    weights = _parse_priors(priors)
    settings = kept_in(out, run.settings())
    request = SourcesRequest.of(WORLDS, campaign, weights, studies.command_line())
    models = build_models(settings, shared_engine(settings))
    study, report = run.perform(out, SourcesPlugin(request, settings, models), SOURCES)
    run.show(study, report)


def _parse_priors(text: str) -> list[float]:
    """Read weights such as 0.5,1. Raises ConfigurationError."""
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"cannot read priors {text!r}: write them like 0.5,1") from None
    if not all(0.0 < weight <= 10.0 for weight in weights):
        raise ConfigurationError("priors must be above 0 and at most 10")
    return weights
