"""Keyword match: texts from which alone the model says what it wrongly said."""

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.baseline import Baseline, Judging
from radarstream.defenses.keywords import phrases
from radarstream.defenses.protocol import Complete, CompleteAll
from radarstream.defenses.responses import ask
from radarstream.schemas.attribution import Case
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class KeywordMatch(Baseline):
    """Flags a text if the answer from it alone shares a word or phrase with the wrong answer.

    RobustRAG ("Certifiably Robust RAG against Retrieval Corruption", Algorithm 1) turned into an
    attributor, as "Who Taught the Lie?" (RAGOrigin, section 6.1.3) compares itself with it. Words
    and phrases are found by `defenses.keywords`; a text from which the model does not answer is
    not flagged. `score` is the number of shared phrases.

    Words of the question count when both answers repeat them, which flags honest texts where the
    model answers in sentences.
    """

    method: ClassVar[str] = "keyword_match"

    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Answer from every text alone."""
        requests = tuple(
            Complete(Task.ATOMIC_ANSWER, case.query.text, (passage,), final=False)
            for passage in shown
        )
        answers = yield from ask(CompleteAll(requests))
        wrong = phrases(case.answer)
        shared = [0 if a.abstained else len(wrong & phrases(a.text)) for a in answers]
        scores = np.array(shared, dtype=np.float64)
        return self.flagged(scores > 0.0, case.texts, scores)
