"""RAGForensics: a language model reads text after text and says which want the answer."""

from typing import Annotated, ClassVar, Final

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.outcome import MaxTexts, flagged_where, judged, unseparated
from radarstream.defenses.attribution.protocol import Attributing
from radarstream.defenses.protocol import Complete, Signal
from radarstream.defenses.responses import ask
from radarstream.schemas.attribution import Case
from radarstream.schemas.prompt import YES, Task
from radarstream.schemas.snapshot import STRICT

METHOD: Final = "rag_forensics"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RagForensics:
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
    max_texts
        How many texts are walked at most.
    """

    benign: Annotated[int, Field(ge=1)] | None = None
    max_texts: MaxTexts = None

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def attribute(self, case: Case) -> Attributing:
        """Judge texts one by one. Raises EvidenceError on malformed input or verdicts."""
        case = judged(case, self.max_texts)
        if len(case.texts) < 2:
            return unseparated(METHOD, case.texts)
        enough = case.k if self.benign is None else self.benign
        flags: list[bool] = []
        for text in case.texts:
            parts = (text.document.passage, case.answer)
            verdict = yield from ask(
                Complete(Task.JUDGE_INDUCEMENT, case.query.text, parts, final=False)
            )
            flags.append(verdict.text == YES)
            if flags.count(False) == enough:
                break
        mask = np.array(flags)
        return flagged_where(mask, METHOD, case.texts[: len(flags)], mask.astype(np.float64))
