"""Questions that the relation scorer was fitted on, and a data set asks again."""

import json
from collections.abc import Iterable

from radarstream.connectors.models.answer_agreement.scorer import COEFFICIENTS
from radarstream.pipelines.evaluation.halves import question_digest
from radarstream.pipelines.evaluation.wording import counted_noun

FITTED_SCORER = "answer-agreement-"  # how the model id of the scorer with coefficients begins


def fitted_questions(scorer: str) -> frozenset[str]:
    """The digests (`question_digest`) of the questions that a relation scorer was fitted on.

    `scorer` is its model id; a scorer that is not ours has none that are known.
    """
    if not scorer.startswith(FITTED_SCORER):
        return frozenset()
    table = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    return frozenset(table["provenance"].get("fitted_questions", ()))


def overlap_note(questions: Iterable[str], scorer: str) -> str | None:
    """A warning where a relation scorer was fitted on some of the questions; None otherwise."""
    asked = [question_digest(question) for question in questions]
    shared = len(fitted_questions(scorer).intersection(asked))
    if not shared:
        return None
    return (
        f"The relation scorer was fitted on {shared} of the "
        f"{counted_noun(len(asked), 'question')} asked: defences that relate answers do better "
        "here than on other questions."
    )
