"""What a defence leaves of the context of an answer."""

from radarstream.pipelines.evaluation.context_quality import (
    faithfulness_lex,
    recall_lex,
    relevancy_lex,
)
from radarstream.pipelines.evaluation.defences.records import EvidenceRow, Row
from radarstream.schemas.verdict import Reason


def context_of(row: Row, evidence: EvidenceRow) -> dict[str, float]:
    """The four scores of one answer by their names in the table of answers; nothing for an error or
    without a right answer.

    The closest right answer counts for recall. An abstention claims nothing.
    """
    answers = row.labels.answers
    if row.error is not None or not answers:
        return {}
    assert row.verdict is not None  # it did not fail
    selects = any(d.reason is not Reason.NOT_JUDGED for d in row.verdict.documents)
    kept = row.verdict.kept_ranks
    context = [d.passage for d in evidence.documents if not selects or d.rank in kept]
    response = row.response or ""
    return {
        "recall_lex": max(recall_lex(answer, context) for answer in answers),
        "relevancy_lex": relevancy_lex(evidence.question, answers, context),
        "answer_relevancy_lex": relevancy_lex(evidence.question, answers, [response]),
        "faithfulness_lex": faithfulness_lex(response, context),
    }
