"""How well single documents are read, from the evidence of a study."""

from dataclasses import replace
from datetime import UTC, datetime

from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.documents import documents_table, score_documents
from radarstream.lab.defences.records import EvidenceRow
from radarstream.lab.defences.scores import score_cells
from radarstream.lab.defences.tables import tables_of
from radarstream.lab.study.rates import Rate
from radarstream.pipelines.signals.scoring import Definition
from radarstream.schemas.snapshot import Document, Labels
from tests.lab.study_rows import record, row

SEEN = EvidenceRow(
    condition="benign",
    query_id="q0",
    question="Which city?",
    step=0,
    observed_at=datetime(2020, 1, 1, tzinfo=UTC),
    documents=tuple(Document(rank, "x" * 10 * rank, title="of 4") for rank in (1, 2, 3, 4)),
    labels=Labels(answers=("Rome",), target="Oslo", poisoned_ranks=(2,)),
    answers=("It is Rome.", "Oslo", None, "Romeo"),
)


def test_single_documents_are_scored_apart_from_planted_ones() -> None:
    unanswered = replace(SEEN, query_id="other", answers=())
    elsewhere = replace(SEEN, condition="poison@9")
    rows, asked = [elsewhere, SEEN, unanswered], ("benign", "pia@1")
    (found,) = score_documents(rows, asked, Definition.WHOLE_WORDS)
    assert found.condition == "benign"
    assert (found.correct, found.abstained, found.fooled) == (Rate(1, 3), Rate(1, 3), Rate(1, 1))
    assert found.characters == 5 + 25
    (contained,) = score_documents(rows, asked, Definition.CONTAINED)
    assert contained.correct == Rate(2, 3)
    cells = documents_table([found]).rows[0].cells
    assert [str(cell) for cell in cells] == ["33 [1 of 3]", "33 [1 of 3]", "100 [1 of 1]", "30"]


def test_the_table_is_there_where_the_evidence_is_known() -> None:
    frame = study_frame([row("Rome")], record())
    scored = score_cells(frame, record(), evidence=[SEEN])
    assert [found.condition for found in scored.documents] == ["benign"]
    assert tables_of(scored)[-1].key == "documents"
    assert "documents" not in [t.key for t in tables_of(score_cells(frame, record()))]
