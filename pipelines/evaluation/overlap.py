"""What the relation scorer was fitted on, and whether a data set asks the same questions again."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from radarstream.connectors.models.answer_agreement.scorer import COEFFICIENTS
from radarstream.pipelines.evaluation.halves import question_digest
from radarstream.pipelines.evaluation.wording import counted_noun

FITTED_SCORER = "answer-agreement-"  # how the model id of the scorer with coefficients begins


@dataclass(frozen=True, slots=True)
class Fit:
    """What a relation scorer was fitted on: in words, and the digests of the questions
    (`halves.question_digest`). A scorer that is not ours has neither.
    """

    words: str | None = None
    questions: frozenset[str] = frozenset()

    @staticmethod
    def of(scorer: str) -> "Fit":
        """The fit of a scorer by its model id."""
        if not scorer.startswith(FITTED_SCORER):
            return Fit()
        provenance = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))["provenance"]
        return Fit(provenance["fitted_on"], frozenset(provenance["questions_sha256"]))

    def overlap(self, questions: Iterable[str]) -> str | None:
        """A warning where some of the questions were fitted on; None otherwise."""
        asked = [question_digest(question) for question in questions]
        shared = sum(digest in self.questions for digest in asked)
        if not shared:
            return None
        return (
            f"The relation scorer was fitted on {shared} of the "
            f"{counted_noun(len(asked), 'question')} asked: defences that relate answers do better "
            "here than on other questions."
        )
