"""`radarstream evaluate`: defences against attacks on one data set, at equal evidence."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.pipelines.cli import studies
from radarstream.pipelines.cli.evaluation_tables import brief, print_headline, print_tables
from radarstream.pipelines.cli.options import (
    RerankerOptions,
)
from radarstream.pipelines.cli.studies import words
from radarstream.pipelines.cli.terminal import print_json, print_path, say
from radarstream.pipelines.evaluation.attacks.protocol import TOP
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.defences.breaking_tables import KEY, sentences, title_of
from radarstream.pipelines.evaluation.defences.defences import (
    Defences,
    DefenceStudy,
    as_stored,
    evidence_of,
    rows_of,
)
from radarstream.pipelines.evaluation.defences.records import DefencesRequest
from radarstream.pipelines.evaluation.defences.request import (
    breaking_conditions,
    conditions_of,
    contenders_of,
    other_relations,
    plugin_of,
    with_and_without_memory,
)
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.evaluation.frame import write_table
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.simulation.plain import plain_pages
from radarstream.pipelines.evaluation.study.harness import kept_in, opened
from radarstream.pipelines.pages.defences.headline import Headline
from radarstream.pipelines.pages.defences.page import REPORT, write_defences_page
from radarstream.pipelines.signals.ports import Generator
from radarstream.schemas.errors import ConfigurationError

ATTACKS = {False: "pia,poison", True: "poison-varied"}  # by default, for breaking points
ADAPTATIONS = {False: "none,cumulative,lightweight", True: "none"}
BREAKING_POINTS = (KEY, "cost")  # how the keys of its tables begin
SHOWN = ("rates", "rates_on_attacked_steps", "judged", "dynamics", "cost")


def evaluate(
    *,
    dataset: Annotated[
        list[Path] | None,
        Option(
            help="Questions with documents and labels. For --breaking-point by default pages that "
            "say the answer plainly."
        ),
    ] = None,
    defenses: Annotated[
        str,
        Option(
            help="Defences: all, or e.g. radar,radar:pair_scale=0.3,vanilla; production is what "
            "the settings say."
        ),
    ] = "all",
    attacks: Annotated[
        str | None,
        Option(
            help="Attacks by name, each at every position; '' for none. Default: pia,poison; for "
            "--breaking-point poison-varied."
        ),
    ] = None,
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
    breaking_point: Annotated[
        bool,
        Option(
            "--breaking-point", help="In place of positions: more and more documents, sites, steps."
        ),
    ] = False,
    amounts: Annotated[
        str,
        Option(
            help="Numbers of documents for --breaking-point. Default: 1,2,3,4,5,6,8,10 and on to k."
        ),
    ] = "",
    placement: Annotated[
        str, Option(help="Where --breaking-point plants documents: top or random ranks.")
    ] = TOP,
    adaptations: Annotated[
        str | None,
        Option(
            help="How defences without a memory meet a history. Default: "
            "none,cumulative,lightweight; none for --breaking-point, also for those with a memory."
        ),
    ] = None,
    k: studies.Documents = 10,
    out: studies.Out = Path("build/evaluate"),
    reference: Annotated[
        str | None, Option(help="Compare the others with this one; default: radar.")
    ] = None,
    sweep: Annotated[
        list[str] | None,
        Option(help="Add one contender for each value, e.g. radar.similarity_threshold=0.1,0.2."),
    ] = None,
    nli_noise: Annotated[
        str, Option(help="Shares of relations to replace by noise, e.g. 0,0.1,0.3.")
    ] = "",
    relation_scorers: Annotated[
        str,
        Option(
            help="Also compare with these relation scorers: answer_agreement, language_model, "
            "scripted, cross_encoder:NAME."
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
    settings = run.settings()
    settings = kept_in(out, reranking.over(settings))
    if not dataset and not breaking_point:
        raise ConfigurationError("say which --dataset to evaluate on")
    data = load_dataset(dataset, settings.limits) if dataset else plain_pages(k)
    ways = words(ADAPTATIONS[breaking_point] if adaptations is None else adaptations)
    varied = other_relations(words(relation_scorers), words(nli_noise))
    contenders = contenders_of(data, settings.defense, defenses, ways, sweep or [], varied)
    named = words(ATTACKS[breaking_point] if attacks is None else attacks)
    if breaking_point:
        contenders = with_and_without_memory(contenders, data)
    if breaking_point and not condition:
        conditions = breaking_conditions(data, named, words(amounts), placement, schedule, k)
    else:
        conditions = conditions_of(named, words(positions), condition or [], schedule, k)
    request = DefencesRequest(
        dataset=data,
        conditions=conditions,
        contenders=contenders,
        reference=reference,
        k=k,
        half=run.half,
        limit=run.limit,
        seed=run.seed,
        surface=conditions[-1].surface.value,
        definition=score,
        command=studies.command_line(),
    )
    plugin = plugin_of(request, settings, insisted=defenses)
    judging = studies.judge_model(judge, plugin.models, plugin.engine)
    with (
        opened(plugin, plugin.models, out, resume=run.resume) as study,
        studies.conducted(study, told=breaking_point),
    ):
        board, found = _written(plugin, study, judging, run)
    _print(study, board, found, breaking_point=breaking_point, as_json=run.as_json)
    names = (contender.name for contender in plugin.request.contenders)
    studies.insist(study, names, "no answer without an error from")


def _written(
    plugin: Defences, study: DefenceStudy, judging: Generator | None, run: studies.StudyOptions
) -> tuple[Scoreboard, Headline]:
    """The results of a study that has run, after its page and its table were written."""
    board, frame = plugin.scored(study, judging)
    if run.table is not None:
        write_table(frame, run.table)
    rows, evidence = rows_of(study), evidence_of(study)
    return board, write_defences_page(study.out, study.record, rows, evidence, board, frame)


def _print(
    study: DefenceStudy, board: Scoreboard, found: Headline, *, breaking_point: bool, as_json: bool
) -> None:
    """Print the results: tables, what they say, and where the page is."""
    if as_json:
        results = as_stored(study.record, board)
        print_json({"record": study.record, "results": results, "headline": found})
        return
    keys: tuple[str, ...] = SHOWN
    if breaking_point:
        keys = tuple(t.key for t in tables_of(board) if t.key.startswith(BREAKING_POINTS))
    print_tables(brief(shown) for shown in tables_of(board) if shown.key in keys)
    if breaking_point:
        print_breaking_points(board)
    print_headline(found)
    print_path("report", study.out / REPORT)


def print_breaking_points(board: Scoreboard) -> None:
    """Print where each defence breaks, in words."""
    for found in board.escalations:
        say(title_of(found), style="bold", wrap=True)
        for sentence in sentences(found):
            say(sentence, wrap=True)
