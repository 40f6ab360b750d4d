"""A replay on the terminal: answers by question and time, then the costs and the scores."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from radarstream.pipelines.cli.run_files import Results
from radarstream.pipelines.cli.terminal import cell, print_table, say, stdout
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
    run = results.run
    stdout.print(_answers_table(results))
    print_table(
        ("stage", "requests", "model calls", "cache hits", "seconds"),
        (
            (s.stage, s.requests, s.model_calls, s.cache_hits, f"{s.seconds:.2f}")
            for s in run.stages
        ),
        title="cost",
    )
    if scores := results.scores():
        stdout.print(_scores_table(scores))
    made = counted_noun(run.answers, "answer")
    taken = counted_noun(run.snapshots, "snapshot")
    dead = counted_noun(run.dead_letters, "dead letter")
    say(f"{made} from {taken} in {run.seconds:.1f} s, {dead}")
    if results.dead_reasons:
        reasons = ", ".join(f"{reason} {count}" for reason, count in results.dead_reasons.items())
        say(f"dead letters by reason: {reasons}")


def _answers_table(results: Results) -> Table:
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
        ranks = "+".join(map(str, labels.poisoned_ranks))
        rejected = sum(not document.kept for document in answer.verdict.documents)
        table.add_row(
            cell(answer.question if first else ""),
            f"{answer.observed_at:%Y-%m-%d}",
            cell(f"{labels.attack}@{ranks}" if labels.attack is not None else "", "red"),
            cell(", ".join(labels.answers[:3])),
            _judged(scored.get((UNDEFENDED, *key))),
            _judged(scored.get((DEFENDED, *key))),
            f"{rejected}/{len(answer.verdict.documents)}",
            _memory(answer),
        )
    return table


def _judged(row: Mapping[str, Any] | None) -> Text:
    """Colour an answer: green if right, red if it is the attacker's, plain if unknown."""
    if row is None or not row["answer"]:
        return cell("(no answer)", "dim")
    return cell(row["answer"], OUTCOME_STYLES[Outcome(row["outcome"])])


def _memory(answer: AnswerEvent) -> Text:
    """Say what became of the previous answer."""
    decision = answer.verdict.memory.decision
    return cell("" if decision is MemoryDecision.NONE else decision, MEMORY_STYLES[decision])


def _scores_table(scores: Mapping[tuple[str, str], Scores]) -> Table:
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
        rates = (found.accuracy(), found.attack_success())
        table.add_row(group, side, str(found.steps), *map(_rate, rates))
    return table


def _rate(rate: Rate) -> str:
    """Write a share with its interval."""
    if rate.value is None:
        return "-"
    low, high = rate.interval
    return f"{rate.value:5.0%}  [{low:.0%}, {high:.0%}]  ({rate.hits}/{rate.trials})"
