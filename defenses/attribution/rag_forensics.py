"""RAGForensics: a language model reads text after text and says which want the answer."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.baseline import Baseline, Judging
from radarstream.defenses.protocol import Complete
from radarstream.defenses.responses import ask
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
