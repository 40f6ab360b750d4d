"""Rows of a study for tests of whatever is worked out from them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import polars as pl

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.records import EvidenceRow, Row
from radarstream.lab.defences.scores import DefenceResults, results_of
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import Cost
from radarstream.lab.study.specs import Spec
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Verdict

PIA = Condition("pia", (1,))
PARIS = Labels(answers=("Paris",), target="Lyon")


def row(
    text: str | None,
    *,
    contender: str = "radar",
    condition: str = "benign",
    question: str = "q0",
    step: int = 0,
    labels: Labels = PARIS,
    error: str | None = None,
    memory: MemoryVerdict | None = None,
    cost: Cost | None = None,
    state_bytes: int = 0,
) -> Row:
    """A row with the answer `text`; None abstains."""
    abstention = Abstention.NO_EVIDENCE if text is None else None
    verdict = Verdict(text or "", (), abstention, memory=memory or MemoryVerdict())
    return Row(
        contender=contender,
        condition=condition,
        query_id=question,
        step=step,
        observed_at=datetime(2015 + step, 12, 31, tzinfo=UTC),
        labels=labels,
        verdict=None if error else verdict,
        error=error,
        cost=cost or Cost(),
        state_bytes=state_bytes,
    )


def record(
    contenders: Sequence[str] = ("radar", "vanilla"),
    conditions: Sequence[Condition] = (Condition(), PIA),
    *,
    reference: str = "radar",
) -> StudyRecord:
    return StudyRecord(
        kind="defences",
        dataset="toy",
        dataset_digest="0" * 64,
        k=10,
        conditions=tuple(condition.name for condition in conditions),
        methods=tuple(Spec(name, name) for name in contenders),
        reference=reference,
        seed=7,
        settings={},
        models={},
        revision="unknown",
        command="radarstream evaluate",
    )


def scored(
    rows: Sequence[Row], settings: StudyRecord | None = None, evidence: Sequence[EvidenceRow] = ()
) -> tuple[DefenceResults, pl.DataFrame]:
    """The results of some rows, and the table of answers that they were computed from."""
    settings = settings or record()
    frame = study_frame(rows, settings)
    return results_of(frame, settings, evidence), frame
