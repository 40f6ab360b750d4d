"""What became of one answer, for plots and drill-down."""

import polars as pl

from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.scoring import Outcome as Fate

__all__ = ["Fate", "fates_of"]

Place = tuple[str, str, str, int]  # contender, condition, query id, step

WORDS = {
    Fate.CORRECT: "correct",
    Fate.BOTH: "correct, and states the target",
    Fate.FOOLED: "states the target",
    Fate.STALE: "stale: right at an earlier step",
    Fate.OTHER: "other answer",
    Fate.ABSTAINED: "abstained",
    Fate.UNLABELLED: "truth unknown",
    Fate.ERROR: "error, not scored",
}
MARKS = {
    Fate.CORRECT: "✓",
    Fate.BOTH: "±",
    Fate.FOOLED: "✕",
    Fate.STALE: "↺",
    Fate.OTHER: "≠",
    Fate.ABSTAINED: "–",
    Fate.UNLABELLED: "·",
    Fate.ERROR: "!",
}


def fates_of(frame: pl.DataFrame, definition: Definition) -> dict[Place, Fate]:
    """What became of every answer, by contender, condition, question and step."""
    columns = ("contender", "condition", "query_id", "step", definition.column("outcome"))
    return {row[:4]: Fate(row[4]) for row in frame.select(columns).rows()}
