"""`radarstream replay`: a search history through the pipeline, then a table and a report."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from radarstream.connectors.files.directories import hold_directory
from radarstream.connectors.state_table.database.engine import sqlite_url
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
from radarstream.pipelines.cli.terminal import note, print_path, print_table, printed, say
from radarstream.pipelines.job.replaying.running import (
    ANSWERS,
    REPORT,
    STATE,
    Results,
    first_dead_letter,
    replayed,
)
from radarstream.pipelines.job.replaying.source import NoAttack, ReplayInput
from radarstream.pipelines.pages.verdict_words import STATUSES, reranking_in_words
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.plugins import lab_installed, load_plugin
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.wording import counted_noun

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
    ingested), state.sqlite (memory and response cache) and run.json; the lab adds report.html, and
    baselines.jsonl for --baselines. Model answers of earlier replays into the same directory are
    reused. Without --resume the memory starts empty.
    """
    study: Any = _study(insisted=bool(attack or baselines or table))
    if table is not None:
        study.check_table(table)
    # Its state is kept beside its results, never in a job's database.
    settings = chosen.settings(database=sqlite_url(out / STATE))
    if defense is not None:  # without the options of another one
        settings = settings.model_copy(update={"defense": settings.defense.named(defense)})
    settings = reranking.over(rule.over(settings))
    poisoning = study.parse_attack(attack) if attack else NoAttack()
    with hold_directory(out):  # before the first change: another replay may be writing there
        # Baselines that cannot take part are refused before the first answer.
        contenders = study.contenders_of(baselines, settings, note) if baselines else ()
        try:
            source = ReplayInput(tuple(files), settings.limits, poisoning)
            results = replayed(settings, source, out, resume=resume, note=note, show=counted)
            if study is not None:
                results = study.conclude(results, contenders, settings, out, table)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
    if not printed(results.summary(), as_json):
        _print(results, out, study)
    if not results.answers:
        first = first_dead_letter(out)
        raise NoAnswersError(f"no snapshot was answered, see {out}{first}")


def _study(*, insisted: bool) -> Any:
    """The lab's part of a replay, if there. Raises ConfigurationError where it is insisted on."""
    return load_plugin("lab", "replay") if insisted or lab_installed() else None


def _print(results: Results, out: Path, study: Any) -> None:
    """Print the answers and their scores where the lab is installed, and what the run cost."""
    if study is not None:
        load_plugin("lab", "print_scored")(results)
    run = results.run
    stages = ((s.stage, s.requests, s.model_calls, s.cache_hits, f"{s.seconds:.2f}")
              for s in run.stages)  # fmt: skip
    columns = ("stage", "requests", "model calls", "cache hits", "seconds")
    print_table(columns, stages, title="cost")
    made = counted_noun(run.answers, "answer")
    taken = counted_noun(run.snapshots, "snapshot")
    dead = counted_noun(run.dead_letters, "dead letter")
    say(f"{made} from {taken} in {run.seconds:.1f} s, {dead}")
    if statuses := Counter(answer.status for answer in results.answers):
        counts = ", ".join(f"{STATUSES[name]} {count}" for name, count in statuses.most_common())
        say(f"answers by what they rest on: {counts}")
    if held := [answer.reranking for answer in results.answers if answer.reranking is not None]:
        everything = (one for reranking in held for one in reranking.candidates)
        say(reranking_in_words(Reranking(held[0].method, tuple(everything))))
    if results.dead_reasons:
        reasons = ", ".join(f"{reason} {count}" for reason, count in results.dead_reasons.items())
        say(f"dead letters by reason: {reasons}")
    if study is None:
        print_path("answers", out / ANSWERS)
        note("for scores, attacks and a report: pip install 'radarstream[lab]'")
    else:
        print_path("report", out / REPORT)
