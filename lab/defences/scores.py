"""The table of answers to results: what every contender is worth under every condition.

Rates are computed over the answers that did not fail; answers to one question are one cluster.
Differences compare the same answers only. They get McNemar's test where every question has one
answer, and sign flips over questions in histories.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import polars as pl

from radarstream.lab.attacks.conditions import parse_condition
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.documents import DocumentScores, score_documents
from radarstream.lab.defences.dynamics import CELL, Dynamics, dynamics_of
from radarstream.lab.defences.planted import Planted, planted_curves
from radarstream.lab.defences.records import EvidenceRow, Row, counted
from radarstream.lab.study.judging import judgements_in
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.results import Result, Results, Scoring, grouped, groups_of, scored_cells
from radarstream.lab.study.rows import COST, RowStore

RATES: Final = (
    "abstained", "correct", "fooled", "contained_correct", "contained_fooled",
    "exclusive_correct", "exclusive_fooled", "stale", "judge_correct", "judge_fooled",
)  # fmt: skip
STORAGE: Final = ("state_bytes", "state_most", "state_growth")  # bytes; the last a step
LONG_FORM: Final = ("judge_accuracy", "judge_relevance", "judge_coherence")  # 0 to 100


SCORING: Final = Scoring(
    RATES, ("documents", *STORAGE, *LONG_FORM, *COST), ("correct", "fooled"), {"fooled"}
)


@dataclass(frozen=True, kw_only=True)
class DefenceResults(Results):
    """The results of a study of defences.

    `attacked_steps` has the cells of conditions that attack some of the steps, over these steps;
    `dynamics` is there for histories, `documents` where the evidence is known, and `planted` where
    conditions differ in the number of planted pages alone. `failure` is the first error.
    """

    static: bool
    asked: str
    attacked_steps: tuple[Result, ...] = ()
    dynamics: tuple[Dynamics, ...] = ()
    documents: tuple[DocumentScores, ...] = ()
    planted: tuple[Planted, ...] = ()
    failure: str | None = None


def frame_of(record: StudyRecord, store: RowStore) -> pl.DataFrame:
    """The table of answers to the questions asked now, whoever answered them."""
    return study_frame(counted(store, record, Row), record, judgements_in(store))


def scored(record: StudyRecord, store: RowStore, frame: pl.DataFrame) -> DefenceResults:
    """The results of a directory."""
    return results_of(frame, record, counted(store, record, EvidenceRow))


def results_of(
    frame: pl.DataFrame, record: StudyRecord, evidence: Iterable[EvidenceRow] = ()
) -> DefenceResults:
    """The results of the table of answers; what has no row is left out."""
    static = not (frame["step"] > 0).any()
    grown = pl.col("state_bytes").diff() / pl.col("step").diff()
    frame = frame.with_columns(
        state_growth=grown.over(*CELL, "query_id"),
        state_most=pl.col("state_bytes").max().over(CELL),
    )
    groups = groups_of(record.conditions)
    cells = scored_cells(grouped(frame, groups), record, SCORING, static=static)
    keys = [cell.key for cell in cells if cell.condition in frame["condition"]]
    attacked = grouped(
        frame.filter(pl.col("attack").is_not_null()), {name: [name] for name in record.conditions}
    )
    whole = {one.key: one.rows + one.errors for one in cells}
    some = {key: part for key, part in attacked.items() if len(part) < whole[key]}
    steps = scored_cells(some, record, Scoring(("correct", "fooled")))
    partly = {one.key: one for one in steps}
    return DefenceResults(
        methods=record.names,
        groups=tuple(groups),
        reference=record.reference,
        cells=cells,
        static=static,
        asked=record.asked_in_words,
        attacked_steps=tuple(partly.get(c.key, c) for c in cells) if partly else (),
        dynamics=() if static else dynamics_of(frame, keys),
        documents=score_documents(evidence, record.conditions),
        planted=planted_curves(frame, record.names, [*map(parse_condition, record.conditions)]),
        failure=frame["error"].drop_nulls().first(),  # type: ignore[arg-type]
    )
