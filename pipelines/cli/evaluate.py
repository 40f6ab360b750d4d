"""`radarstream evaluate`: defences against attacks on one data set, at equal evidence."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Engine

from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli.evaluation_options import (
    ContenderFailedError,
    Documents,
    Limit,
    Out,
    Resume,
    Seed,
    command_line,
    opened,
    study_settings,
    words,
)
from radarstream.pipelines.cli.evaluation_progress import conducted
from radarstream.pipelines.cli.evaluation_tables import print_study
from radarstream.pipelines.cli.options import AsJson, ChosenProfile, Config, DryRun, TableFile
from radarstream.pipelines.cli.terminal import make_directory
from radarstream.pipelines.evaluation.attacks.conditions import (
    one_surface,
    parse_condition,
    product,
)
from radarstream.pipelines.evaluation.attacks.protocol import Condition
from radarstream.pipelines.evaluation.datasets import Dataset, load_dataset
from radarstream.pipelines.evaluation.defences.contenders import (
    parse_contenders,
    servable,
    spread_over_time,
    swept,
    with_relations,
)
from radarstream.pipelines.evaluation.defences.defences import Defences, evidence_of, rows_of
from radarstream.pipelines.evaluation.defences.records import Contender, DefencesRequest
from radarstream.pipelines.evaluation.defences.scorers import (
    NOISE,
    perturbation_of,
    scorer_settings,
)
from radarstream.pipelines.evaluation.frame_files import check_table, write_table
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.pages.defences.page import write_defences_page
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.signals.ports import Generator, Models
from radarstream.schemas.errors import ConfigurationError


def evaluate(
    dataset: Annotated[list[Path], typer.Option(help="Questions with documents and labels.")],
    defenses: Annotated[
        str, typer.Option(help="Defences: all, or e.g. radar,radar:pair_scale=0.3,vanilla.")
    ] = "all",
    attacks: Annotated[
        str, typer.Option(help="Attacks by name, each at every position; '' for none.")
    ] = "pia,poison",
    positions: Annotated[
        str, typer.Option(help="Ranks that are attacked: 1,10, or 1+2 for several at once.")
    ] = "1,10",
    condition: Annotated[
        list[str] | None,
        typer.Option(help="In place of attacks × positions, e.g. 'pia@1:late-3'; repeatable."),
    ] = None,
    schedule: Annotated[
        str, typer.Option(help="Steps that are attacked, e.g. late-3 or every-2; '' for all.")
    ] = "",
    adaptations: Annotated[
        str, typer.Option(help="Memory of static defences in a history.")
    ] = "none,cumulative,lightweight",
    k: Documents = 10,
    limit: Limit = None,
    out: Out = Path("build/evaluate"),
    reference: Annotated[
        str | None, typer.Option(help="Compare the others with this one; default: radar.")
    ] = None,
    seed: Seed = 0,
    sweep: Annotated[
        list[str] | None,
        typer.Option(help="Add one contender for each value: radar.similarity_threshold=0.1,0.2."),
    ] = None,
    nli_noise: Annotated[
        str, typer.Option(help="Share of relations replaced by noise: 0,0.1,0.3.")
    ] = "",
    relation_scorers: Annotated[
        str,
        typer.Option(
            help="Compare with these, too: answer_agreement, scripted, cross_encoder:NAME."
        ),
    ] = "",
    config: Config = None,
    profile: ChosenProfile = None,
    dry_run: DryRun = False,
    resume: Resume = True,
    judge: Annotated[
        str,
        typer.Option(help="Also score with a judge model: own, or TOML settings with a generator."),
    ] = "",
    score: Annotated[
        Definition, typer.Option(help="How answers are scored; both scores are shown.")
    ] = Definition.WHOLE_WORDS,
    table: TableFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare defences under attacks on a data set, all on the same evidence.

    OUT receives report.html, tables.md, results.json, rows.jsonl (one answer a line),
    evidence.jsonl (what every contender saw), study.json (provenance) and state.sqlite
    (answers of the models). The same command goes on where it was interrupted; more defences or
    conditions may be added later.
    """
    if table is not None:
        check_table(table)
    settings = study_settings(out, config, profile, dry_run=dry_run)
    data = load_dataset(dataset, settings.limits)
    contenders = contenders_of(
        data, defenses, sweep or [], words(nli_noise), words(relation_scorers), words(adaptations)
    )
    conditions = conditions_of(words(attacks), words(positions), condition or [], schedule, k)
    request = DefencesRequest(
        dataset=data,
        conditions=conditions,
        contenders=contenders,
        reference=reference,
        k=k,
        limit=limit,
        seed=seed,
        surface=conditions[-1].surface.value,
        definition=score,
        command=command_line(),
    )
    plugin = plugin_of(request, settings, out, insisted=defenses)
    judging = judge_model(judge, plugin.models, plugin.engine)
    with opened(plugin, plugin.models, out, resume=resume) as study:
        with conducted(study, request.command):
            board, frame = plugin.scored(study, judging)
        if table is not None:
            write_table(frame, table)
        rows, evidence = rows_of(study), evidence_of(study)
        headline = write_defences_page(out, study.record, rows, evidence, board, frame)
        print_study(study, board, headline, as_json=as_json)
    if failed := study.failed(contender.name for contender in plugin.request.contenders):
        raise ContenderFailedError(f"no answer without an error from {', '.join(failed)}")


def plugin_of(
    request: DefencesRequest, settings: Settings, out: Path, *, insisted: str = "all"
) -> Defences:
    """The plug-in of a request with its models, in a directory that is made for it.

    Contenders that the models cannot serve are left out, unless they are `insisted` on by name.
    Raises ConfigurationError where none is left.
    """
    make_directory(out)
    engine = shared_engine(settings)
    models = build_models(settings, engine)
    served, left_out = servable(request.contenders, models, insisted=insisted)
    if not served:
        raise ConfigurationError("; ".join(["no defence to evaluate", *left_out]))
    data = request.dataset
    notes = (data.complaint, without_documents(data, request.limit), *left_out)
    served_request = replace(
        request, contenders=tuple(served), notes=(*request.notes, *filter(None, notes))
    )
    return Defences(served_request, settings, engine, models)


def contenders_of(
    data: Dataset,
    defenses: str,
    sweeps: list[str],
    noise: list[str],
    scorers: list[str],
    adaptations: list[str],
) -> tuple[Contender, ...]:
    """Everyone who competes, each once."""
    contenders = parse_contenders(defenses)
    for scorer in scorers:
        scorer_settings(scorer)
    for rate in noise:
        perturbation_of(NOISE + rate, seed=0)
    varied = [*scorers, *(NOISE + rate for rate in noise if float(rate) > 0.0)]
    contenders += with_relations(contenders, varied)
    for sweep in sweeps:
        contenders += swept(sweep)
    spread = spread_over_time(contenders, adaptations)  # also to refuse unknown adaptations
    if not data.static:
        contenders = spread
    return tuple(dict.fromkeys(contenders))


def conditions_of(
    attacks: list[str], positions: list[str], conditions: list[str], schedule: str, k: int
) -> tuple[Condition, ...]:
    """The clean condition and the attacked ones, all on one surface and within the first k."""
    found = product(attacks, positions, schedule)
    if conditions and schedule:
        raise ConfigurationError("--condition says when by itself, as in pia@1:late-3")
    if conditions:
        found = one_surface(dict.fromkeys([Condition(), *map(parse_condition, conditions)]))
    for condition in found:
        condition.check_depth(k)
    return found


def without_documents(data: Dataset, limit: int | None) -> str | None:
    """How many of the asked questions bring no documents, if any."""
    bare = sum(not any(s.documents for s in history) for history in data.histories[:limit])
    if not bare:
        return None
    return f"questions without any documents of their own: {bare} (a corpus is another --dataset)"


def judge_model(judge: str, models: Models, engine: Engine) -> Generator | None:
    """The generator that judges, behind the run's cache; None if none is wanted."""
    if judge in ("", "own"):
        return models.generator if judge else None
    return build_models(load_settings(Path(judge)), engine).generator
