"""RAGForensics and keyword match: what a language model makes of each text alone."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.keywords import phrases
from radarstream.defenses.protocol import Complete, CompleteAll, ask
from radarstream.lab.methods.attribution_baseline import Baseline, Judging
from radarstream.schemas.attribution import Case
from radarstream.schemas.prompt import YES, Task
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RagForensics(Baseline):
    """Asks of each ranked text whether it tries to induce the answer, until enough are benign.

    From "Traceback of Poisoning Attacks to Retrieval-Augmented Generation" (RAGForensics):
    texts are walked from the best on, each judged by itself after a short
    explanation, whether the answer is true or not. The last label of a reply counts; a reply
    without one is benign. The texts judged are the scope: at most the flagged ones and `benign`
    more.

    The judge is shown the answer that was given. The authors' program shows it the attacker's
    target, which nobody knows outside an evaluation; to compare with it, attribute a case
    whose answer is the target.

    Parameters
    ----------
    benign
        Texts judged benign that end the walk; None for as many as the answer was generated from.
    """

    benign: Annotated[int, Field(ge=1)] | None = None

    method: ClassVar[str] = "rag_forensics"

    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Judge texts one by one."""
        enough = case.k if self.benign is None else self.benign
        flags: list[bool] = []
        for passage in shown:
            asked = (passage, case.answer)
            verdict = yield from ask(
                Complete(Task.JUDGE_INDUCEMENT, case.query.text, asked, final=False)
            )
            flags.append(verdict.text == YES)
            if flags.count(False) == enough:
                break
        mask = np.array(flags)
        return self.flagged(mask, case.texts[: len(flags)], mask.astype(np.float64))


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
