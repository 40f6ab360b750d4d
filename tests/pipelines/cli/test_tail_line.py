"""A line of `radarstream tail`: a reader is warned of thin and disputed answers."""

from dataclasses import replace

import pytest

from radarstream.pipelines.cli.tail import _answer_line
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.retrieval import JudgedCandidate, Reranking
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import Abstention, DocumentVerdict, MemoryDecision, Reason
from tests.wire_samples import ANSWER, OBSERVED_AT

NO_CONSENSUS = Abstention.NO_CONSENSUS
GIVEN = replace(ANSWER, abstention=None, answer="Zürich", changed=None, standing=None)


@pytest.mark.parametrize(
    ("status", "support", "says"),
    [
        (AnswerStatus.CORROBORATED, Support(4, 1, rival_answer="Bern"),
         "corroborated: 4 independent sites say so, 1 says Bern"),
        (AnswerStatus.SINGLE_SOURCE, Support(1), "SINGLE SOURCE: 1 independent site says so"),
        (AnswerStatus.DISPUTED, Support(2, 1, 0.0, 0.1, "Bern\n\x1b[2J", 1, 2),
         "DISPUTED: 2 independent sites say so, 1 says Bern ‹U+001B›[2J; 1 more lying site could "
         "silence it, 2 could change it"),
        (AnswerStatus.REMEMBERED, Support(memory=1.0),
         "remembered: no site says so; the memory agrees"),
    ]
)  # fmt: skip
def test_what_an_answer_rests_on(status: AnswerStatus, support: Support, says: str) -> None:
    line = _answer_line(replace(GIVEN, status=status, support=support))
    assert f"Zürich  {says}" in line.plain
    assert "kept" not in line.plain  # one count of documents beside an answer
    warned = [span for span in line.spans if "yellow" in str(span.style)]
    assert bool(warned) is says[:3].isupper()


def test_the_answer_that_stands_is_shown_beside_an_abstention() -> None:
    standing = StandingAnswer("Basel", OBSERVED_AT)
    line = _answer_line(replace(ANSWER, status=AnswerStatus.ABSTAINED, standing=standing))
    assert "Basel stands, unconfirmed since 2025-06-01 12:00" in line.plain
    assert "memory" not in line.plain


@pytest.mark.parametrize(("abstention", "word"), [(None, "falsified"), (NO_CONSENSUS, "stands")])
def test_a_previous_answer_is_given_up_only_for_another(abstention, word) -> None:
    rejected = replace(ANSWER.verdict.memory, decision=MemoryDecision.FALSIFIED)
    verdict = replace(ANSWER.verdict, memory=rejected)
    event = replace(GIVEN, abstention=abstention, verdict=verdict)
    assert f"memory {word}" in _answer_line(event).plain


def test_dropped_candidates_are_told_apart_from_cut_documents() -> None:
    reasons = {98: Reason.OUTRANKED, 99: Reason.SUSPECT}
    dropped = [JudgedCandidate(rank, rank, False, 0.1, why) for rank, why in reasons.items()]
    cut = [DocumentVerdict(n, False, why) for n, why in ({4: Reason.CUT} | reasons).items()]
    verdict = replace(ANSWER.verdict, documents=(*ANSWER.verdict.documents, *cut))
    reranking = Reranking("wary", (JudgedCandidate(1, 7, True, 0.9), *dropped))
    line = _answer_line(replace(GIVEN, support=None, verdict=verdict, reranking=reranking)).plain
    assert "kept 1 cut 1" in line
    assert "wary dropped 2 of 3 candidates (1 outranked, 1 suspect)" in line
