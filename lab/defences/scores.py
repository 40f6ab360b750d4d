"""The table of answers to results: what every contender is worth under every condition.

Rates are computed over the answers that did not fail; answers to one question are one cluster.
Differences compare the same answers only. They get McNemar's test where every question has one
answer, and sign flips over questions in histories.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.documents import DocumentScores, score_documents
from radarstream.lab.defences.dynamics import CELL, Dynamics, dynamics_of
from radarstream.lab.defences.planted import Planted, planted_curves
from radarstream.lab.defences.records import DefencesRecord, EvidenceRow, Row, counted
from radarstream.lab.study.comparison import Cell, Difference, compared
from radarstream.lab.study.halves import Half
from radarstream.lab.study.judging import judgements_in
from radarstream.lab.study.results import Cells, Result, by_cell, cell_of, results_by
from radarstream.lab.study.rows import COST, RowStore

RATES: Final = (
    "abstained", "correct", "fooled", "contained_correct", "contained_fooled",
    "exclusive_correct", "exclusive_fooled", "stale", "judge_correct", "judge_fooled",
)  # fmt: skip
STORAGE: Final = ("state_bytes", "state_most", "state_growth")  # bytes; the last a step
LONG_FORM: Final = ("judge_accuracy", "judge_relevance", "judge_coherence")  # 0 to 100


@dataclass(frozen=True, slots=True)
class Results:
    """Every cell with an answer, contenders in the order of the record and conditions within them.

    `attacked` has the cells of conditions that attack some of the steps, over these steps;
    `dynamics` is there for histories, `documents` where the evidence is known, and `planted` where
    conditions differ in the number of planted pages alone. `failure` is the first error.
    """

    contenders: tuple[str, ...]
    conditions: tuple[str, ...]
    reference: str
    static: bool
    half: Half
    questions: int
    cells: tuple[Result, ...]
    attacked: tuple[Result, ...] = ()
    dynamics: tuple[Dynamics, ...] = ()
    documents: tuple[DocumentScores, ...] = ()
    planted: tuple[Planted, ...] = ()
    failure: str | None = None

    def cell(self, contender: str, condition: str) -> Result | None:
        """A contender under a condition."""
        return cell_of(self.cells, contender, condition)


def frame_of(record: DefencesRecord, store: RowStore) -> pl.DataFrame:
    """The table of answers to the questions asked now, whoever answered them."""
    return study_frame(counted(store, record, Row), record, judgements_in(store))


def scored(record: DefencesRecord, store: RowStore, frame: pl.DataFrame) -> Results:
    """The results of a directory."""
    return results_of(frame, record, counted(store, record, EvidenceRow))


def results_of(
    frame: pl.DataFrame, record: DefencesRecord, evidence: Iterable[EvidenceRow] = ()
) -> Results:
    """The results of the table of answers; what has no row is left out."""
    static = not (frame["step"] > 0).any()
    grown = pl.col("state_bytes").diff() / pl.col("step").diff()
    frame = frame.with_columns(
        state_growth=grown.over(*CELL, "query_id"),
        state_most=pl.col("state_bytes").max().over(CELL),
    )
    cells = by_cell(frame)
    names = tuple(contender.name for contender in record.contenders)
    conditions = tuple(condition.name for condition in record.conditions)
    keys = [(name, where) for name in names for where in conditions if (name, where) in cells]
    means = ("documents", *STORAGE, *LONG_FORM, *COST)
    found = differences_in(cells, keys, record, static=static)
    some = partly_attacked(frame)
    return Results(
        contenders=names,
        conditions=conditions,
        reference=record.reference,
        static=static,
        half=record.half,
        questions=record.questions,
        cells=results_by(cells, keys, RATES, means, found),
        attacked=results_by(
            {key: some.get(key, cells[key]) for key in keys}, keys, ("correct", "fooled"), (), {}
        )
        if some
        else (),
        dynamics=() if static else dynamics_of(frame, keys),
        documents=score_documents(evidence, conditions),
        planted=planted_curves(frame, names, record.conditions),
        failure=frame["error"].drop_nulls().first(),  # type: ignore[arg-type]
    )


def differences_in(
    cells: Cells, keys: Sequence[Cell], record: DefencesRecord, *, static: bool
) -> Mapping[Cell, dict[str, Difference]]:
    """The differences to the reference; attack success only where there is an attack."""
    benign = {condition.name for condition in record.conditions if condition.attack == BENIGN}
    attacked = [key for key in keys if key[1] not in benign]
    found: dict[Cell, dict[str, Difference]] = {}
    for column, family in (("correct", keys), ("fooled", attacked)):
        moved = compared(
            cells, family, (column,), record.reference, static=static, seed=record.seed
        )
        for key, difference in moved.items():
            found.setdefault(key, {}).update(difference)
    return found


def partly_attacked(frame: pl.DataFrame) -> Cells:
    """The attacked steps of the cells where a schedule spares others."""
    whole = by_cell(frame)
    attacked = by_cell(frame.filter(pl.col("attack").is_not_null()))
    return {key: part for key, part in attacked.items() if len(part) < len(whole[key])}
