"""`radarstream evaluate [KIND]`: studies, of defences unless another kind is named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer import Option

from radarstream.lab.cli import studies
from radarstream.lab.cli.evaluate_attribution import evaluate_attribution
from radarstream.lab.cli.evaluate_retrieval import evaluate_retrieval
from radarstream.lab.cli.evaluate_service import evaluate_service
from radarstream.lab.cli.evaluation_tables import brief, print_headline, print_tables
from radarstream.lab.cli.studies import words
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.planted import KEY
from radarstream.lab.defences.records import DefencesRequest
from radarstream.lab.defences.request import (
    conditions_of,
    contenders_of,
    plugin_of,
)
from radarstream.lab.pages.defences.page import DEFENCES
from radarstream.lab.study.harness import REPORT, kept_in
from radarstream.lab.study.scoring import Definition
from radarstream.pipelines.cli.commands import Commands, with_options
from radarstream.pipelines.cli.options import RerankerOptions
from radarstream.pipelines.cli.terminal import print_path

SHOWN = ("rates", "rates_on_attacked_steps", "judged", "dynamics", "cost")


def evaluate_defences(
    *,
    defenses: Annotated[
        str,
        Option(
            help="Defences: all, or e.g. radar,radar:pair_scale=0.3,vanilla; production is what "
            "the settings say."
        ),
    ] = "all",
    attacks: Annotated[
        str, Option(help="Attacks by name, each at every position; '' for none.")
    ] = "pia,poison",
    positions: Annotated[
        str, Option(help="Ranks that are attacked: 1,10, or 1+2 for several at once.")
    ] = "1,10",
    condition: Annotated[
        list[str] | None,
        Option(help="In place of attacks × positions, e.g. 'pia@1:late-3'; repeatable."),
    ] = None,
    schedule: Annotated[
        str, Option(help="Steps that are attacked, e.g. late-3 or every-2; '' for all.")
    ] = "",
    adaptations: Annotated[
        str, Option(help="How defences without a memory meet a history.")
    ] = "none,cumulative,lightweight",
    k: studies.Documents = 10,
    out: studies.Out = Path("build/evaluate"),
    reference: Annotated[
        str | None, Option(help="Compare the others with this one; default: radar.")
    ] = None,
    relation_scorers: Annotated[
        str,
        Option(
            help="Also compare with these relation scorers: answer_agreement, language_model, "
            "scripted, cross_encoder:NAME."
        ),
    ] = "",
    reader: Annotated[
        str,
        Option(
            help="Who reads: the models of the settings, or 'labels', a perfect reader by the "
            "labels of the data; labels:misses=0.1,invents=0.05 errs."
        ),
    ] = "",
    reranking: RerankerOptions,
    run: studies.StudyOptions,
    judge: studies.Judge = "",
    score: Annotated[
        Definition, Option(help="How answers are scored; both scores are shown.")
    ] = Definition.WHOLE_WORDS,
) -> None:
    """Compare defences under attacks on a data set, all on the same evidence.

    OUT receives report.html, tables.md, results.json, rows.jsonl (one answer a line),
    evidence.jsonl (what every contender saw), study.json (provenance) and state.sqlite
    (answers of the models). The same command continues where it was interrupted; more defences or
    conditions may be added later.
    """
    settings = (replace(run, dry_run=True) if reader else run).settings()
    settings = kept_in(out, reranking.over(settings))
    data = run.data(settings)
    scorers = words(relation_scorers)
    contenders = contenders_of(data, settings.defense, defenses, words(adaptations), scorers)
    conditions = conditions_of(words(attacks), words(positions), condition or [], schedule, k)
    request = DefencesRequest(
        **run.asked(data),
        conditions=conditions,
        contenders=contenders,
        reference=reference,
        k=k,
        surface=conditions[-1].surface.value,
        definition=score,
    )
    by_labels = LabelReader.of(reader, run.seed) if reader else None
    plugin = plugin_of(request, settings, insisted=defenses, reader=by_labels)
    judging = studies.judge_model(judge, plugin.models, plugin.engine)
    study, report = run.perform(out, plugin, DEFENCES, plugin.judged, judging)
    if not run.as_json:
        found = (t for t in report.tables if t.key in SHOWN or t.key.startswith(KEY))
        print_tables(map(brief, found))
        print_headline(report.page.sentence, report.page.more)
        print_path("report", out / REPORT)
    names = (contender.name for contender in plugin.request.contenders)
    studies.insist(study, names, "no answer without an error from")


KINDS: Final[dict[str, Callable[..., None]]] = {
    "defences": evaluate_defences,
    "retrieval": evaluate_retrieval,
    "attribution": evaluate_attribution,
    "service": evaluate_service,
}


class Group(Commands):
    """The kinds of studies, the first of them where none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the kind."""
        named = args and args[0] in (*KINDS, "--help")
        return super().parse_args(ctx, args if named else [next(iter(KINDS)), *args])


app = typer.Typer(help="Compare defences (or retrieval, attribution, service) under attacks.")
for name, kind in KINDS.items():
    app.command(name)(with_options(kind))
