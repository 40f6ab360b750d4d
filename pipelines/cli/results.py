"""A run on the terminal: question by year, then the scores and the costs."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from radarstream.pipelines.cli.run_files import Results
from radarstream.pipelines.cli.terminal import cell, stdout
from radarstream.pipelines.evaluation.frame import DEFENDED, UNDEFENDED
from radarstream.pipelines.evaluation.rates import Rate, Scores
from radarstream.pipelines.evaluation.scoring import Definition, Outcome
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import MemoryDecision

MEMORY_STYLES = {
    MemoryDecision.RETAINED: "green",
    MemoryDecision.FALSIFIED: "yellow",
    MemoryDecision.NONE: "dim",
}
OUTCOME_STYLES = {
    Outcome.CORRECT: "green",
    Outcome.FOOLED: "bold red",
    Outcome.BOTH: "bold red",
    Outcome.OTHER: "yellow",
    Outcome.STALE: "yellow",
    Outcome.ABSTAINED: "dim",
    Outcome.UNLABELLED: "",
}
UNBROKEN = {"as of", "cut", "memory"}  # short: a narrow terminal folds the others


def print_results(results: Results) -> None:
    """Print everything a person wants to see first."""
    stdout.print(answers_table(results))
    stdout.print(costs_table(results))
    scores = results.scores()
    if scores:
        stdout.print(scores_table(scores))
    run = results.run
    made = counted_noun(run.answers, "answer")
    taken = counted_noun(run.snapshots, "snapshot")
    dead = counted_noun(run.dead_letters, "dead letter")
    stdout.print(f"{made} from {taken} in {run.seconds:.1f} s, {dead}", highlight=False)
    if results.dead_reasons:
        reasons = ", ".join(f"{reason} {count}" for reason, count in results.dead_reasons.items())
        stdout.print(f"dead letters by reason: {reasons}", highlight=False, soft_wrap=True)


def answers_table(results: Results) -> Table:
    """One row per question and step."""
    table = Table(title="answers", header_style="bold")
    for name in ("question", "as of", "attack", "truth", "undefended", "defended", "cut", "memory"):
        table.add_column(name, overflow="fold", no_wrap=name in UNBROKEN)
    scored = {
        (row["contender"], row["query_id"], row["step"]): row
        for row in results.frame.rows(named=True)
    }
    previous = None
    for answer in results.answers:
        labels = results.snapshots[answer.snapshot_id].labels or Labels()
        key = (answer.query_id, answer.step)
        first = answer.query_id != previous
        if first and previous is not None:
            table.add_section()
        previous = answer.query_id
        table.add_row(
            cell(answer.question if first else ""),
            f"{answer.observed_at:%Y-%m-%d}",
            cell(attack_words(labels), "red"),
            cell(", ".join(labels.answers[:3])),
            judged(scored.get((UNDEFENDED, *key))),
            judged(scored.get((DEFENDED, *key))),
            cut_words(answer),
            memory_words(answer),
        )
    return table


def attack_words(labels: Labels) -> str:
    """Name the attack and where it was planted."""
    if labels.attack is None:
        return ""
    return f"{labels.attack}@{'+'.join(map(str, labels.poisoned_ranks))}"


def judged(row: Mapping[str, Any] | None) -> Text:
    """Colour an answer: green if right, red if it is the attacker's, plain if unknown."""
    if row is None or not row["answer"]:
        return cell("(no answer)", "dim")
    return cell(row["answer"], OUTCOME_STYLES[Outcome(row["outcome"])])


def cut_words(answer: AnswerEvent) -> str:
    """Say how many documents were not trusted, of how many."""
    documents = answer.verdict.documents
    return f"{sum(not d.kept for d in documents)}/{len(documents)}"


def memory_words(answer: AnswerEvent) -> Text:
    """Say what became of the previous answer."""
    decision = answer.verdict.memory.decision
    words = "" if decision is MemoryDecision.NONE else decision.value
    return cell(words, MEMORY_STYLES[decision])


def scores_table(scores: Mapping[tuple[str, str], Scores]) -> Table:
    """Accuracy and attack success, defended beside undefended."""
    definition = Definition.WHOLE_WORDS
    table = Table(title=f"scores by {definition.label} [95 %]", caption=definition.meaning)
    for name in ("snapshots", "answer", "steps", "accuracy", "attack success"):
        table.add_column(name)
    previous = None
    for (group, side), found in scores.items():
        if previous not in (None, group):
            table.add_section()
        previous = group
        table.add_row(group, side, *score_cells(found))
    return table


def score_cells(scores: Scores) -> tuple[str, str, str]:
    """Steps, accuracy and attack success of one row."""
    return str(scores.steps), rate_words(scores.accuracy()), rate_words(scores.attack_success())


def rate_words(rate: Rate) -> str:
    """Write a share with its interval."""
    if rate.value is None:
        return "-"
    low, high = rate.interval
    return f"{rate.value:5.0%}  [{low:.0%}, {high:.0%}]  ({rate.hits}/{rate.trials})"


def costs_table(results: Results) -> Table:
    """What each stage asked of the models."""
    table = Table("stage", "requests", "model calls", "cache hits", "seconds", title="cost")
    for stage in results.run.stages:
        figures = (stage.requests, stage.model_calls, stage.cache_hits)
        table.add_row(stage.stage, *map(str, figures), f"{stage.seconds:.2f}")
    return table
