"""`radarstream evaluate attribution`: which texts taught a wrong answer."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attribution.attributors import parse_attributors, served
from radarstream.lab.attribution.scenarios import parse_scenarios
from radarstream.lab.attribution.study import AttributionPlugin, AttributionRequest
from radarstream.lab.cli import studies
from radarstream.lab.pages.attribution import ATTRIBUTION
from radarstream.lab.study.harness import kept_in
from radarstream.pipelines.build import build_models, shared_engine


def evaluate_attribution(
    *,
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
    data = run.data(settings)
    scenarios, specs = parse_scenarios(attacks), parse_attributors(attributors)
    models = build_models(settings, shared_engine(settings))
    benign = len(Questions.of(data, run.limit, run.half).corpus.entries)
    kept, notes = served(specs, models, benign, insisted=attributors)
    request = AttributionRequest(
        **run.asked(data), scenarios=scenarios, attributors=kept, k=k, notes=notes
    )
    study, report = run.perform(out, AttributionPlugin(request, settings, models), ATTRIBUTION)
    run.show(study, report)
    studies.insist(study, (spec.name for spec in kept), "no attribution without an error by")
