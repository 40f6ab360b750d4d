"""A replay on the terminal: a line for each answer below its question, and scores."""

from collections.abc import Mapping, Sequence
from itertools import compress, groupby
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from radarstream.lab.cli.evaluation_tables import print_tables
from radarstream.lab.defences.planted import replay_table
from radarstream.lab.replay import SIDES, Scored
from radarstream.lab.study.scoring import DEFENDED, UNDEFENDED, Outcome
from radarstream.pipelines.cli.terminal import cell, say, stdout
from radarstream.pipelines.pages.verdict_words import STATUSES, memory_in_words
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Labels, SearchSnapshot

MEMORY_STYLES = {"retained": "green", "falsified": "yellow"}
OUTCOME_STYLES = {
    Outcome.CORRECT: "green",
    Outcome.FOOLED: "bold red",
    Outcome.BOTH: "bold red",
    Outcome.OTHER: "yellow",
    Outcome.STALE: "yellow",
    Outcome.ABSTAINED: "dim",
    Outcome.UNLABELLED: "",
}
WIDE = 150  # columns of a terminal that has room for the answers of baselines


def print_scored(results: Scored) -> None:
    """Print a line for each answer below its question: its truth, outcome and status, and what
    became of the memory; then the scores. Columns that would be empty are left out, and baselines
    where the terminal is narrow.
    """
    answers, snapshots, frame = results.answers, results.snapshots, results.frame
    baselines = results.sides[len(SIDES) :]
    texts = ("truth", UNDEFENDED, *(baselines if stdout.width >= WIDE else ()), DEFENDED)
    heads = ("as of", "attack", *texts, "status", "cut", "memory")
    scored = {
        (row["contender"], row["query_id"], row["step"]): row for row in frame.rows(named=True)
    }
    rows = [_cells(answer, snapshots[answer.snapshot_id], scored, texts[1:]) for answer in answers]
    filled = [any(cells[column].plain for cells in rows) for column in range(len(heads))]
    heads = tuple(compress(heads, filled))
    rows = [list(compress(cells, filled)) for cells in rows]
    whole = [max(len(cells[n].plain) for cells in rows) for n in range(len(heads))]
    columns = [
        Column(head, ratio=1, min_width=len(UNDEFENDED), overflow="fold")
        if head in texts
        else Column(head, width=max(len(head), width), overflow="fold")
        for head, width in zip(heads, whole, strict=True)
    ]
    for question, found in groupby(
        zip(answers, rows, strict=True), key=lambda pair: pair[0].question
    ):
        say(question, style="bold", wrap=True)
        width = min(stdout.width, WIDE)
        table = Table(*(c.copy() for c in columns), box=None, padding=(0, 1, 0, 0), width=width)
        for _, cells in found:
            table.add_row(*cells)
        stdout.print(table)
    if results.curves:
        print_tables([replay_table(results.curves)])


def _cells(
    answer: AnswerEvent,
    snapshot: SearchSnapshot,
    scored: Mapping[tuple[str, str, int], Mapping[str, Any]],
    sides: Sequence[str],
) -> list[Text]:
    """The cells of an answer, in the order of the columns."""
    labels = snapshot.labels or Labels()
    ranked = answer.reranking  # attacks name ranks of the search results
    planted = [ranked.found_rank(r) if ranked else r for r in labels.poisoned_ranks]
    ranks = "+".join(map(str, planted))
    rejected = sum(not document.kept for document in answer.seen)
    word = memory_in_words(answer)
    return [
        cell(f"{answer.observed_at:%Y-%m-%d}"),
        cell(f"{labels.attack}@{ranks}" if labels.attack is not None else "", "red"),
        cell(", ".join(labels.answers[:3])),
        *(_judged(scored.get((side, answer.query_id, answer.step))) for side in sides),
        cell(STATUSES[answer.status]),
        cell(f"{rejected}/{len(answer.seen)}"),
        cell(word, MEMORY_STYLES.get(word, "dim")),
    ]


def _judged(row: Mapping[str, Any] | None) -> Text:
    """Colour an answer: green if right, red if it is the attacker's, plain if unknown."""
    if row is None:
        return cell("")
    if not row["answer"]:
        return cell("(no answer)", "dim")
    return cell(row["answer"], OUTCOME_STYLES[Outcome(row["outcome"])])
