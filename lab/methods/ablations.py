"""ContextCite and leave one out: texts without which the wrong answer becomes less likely.

Both need a model that returns token probabilities. Their papers stop at scores; two-means in one
dimension flags the higher group.
"""

from collections.abc import Generator, Sequence
from hashlib import sha256
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Complete, LogProbs, Request, Signal, ask
from radarstream.lab.kernels.ablations import lasso, log_odds, total
from radarstream.lab.methods.attribution_baseline import Baseline, Judging
from radarstream.schemas.attribution import Case
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class LeaveOneOut(Baseline):
    """Scores a text by how much the answer's log-likelihood drops when the text is left out.

    What "AttriBoT: A Bag of Tricks for Efficiently Approximating Leave-One-Out Context Attribution"
    approximates, here without its tricks: exact, for one reading of the texts more than
    there are.

    Texts that say the same mask each other: without one of them the other still teaches the answer,
    so that neither drop tells anything.
    """

    method: ClassVar[str] = "leave_one_out"
    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})
    compares: ClassVar[bool] = True

    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Score the answer with all texts and without each."""
        contexts = [shown, *(shown[:i] + shown[i + 1 :] for i in range(len(shown)))]
        likelihoods = total((yield from log_probs_from(contexts, case)))
        return self.split(case.texts, likelihoods[0] - likelihoods[1:])


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ContextCite(Baseline):
    """Leaves texts out at random and weighs each by what the answer's log-odds owe to it.

    From "ContextCite: Attributing Model Generation to Context" (NeurIPS 2024, section 3), with the
    settings of its published code: the log-odds of the answer under random halves of the context,
    per token of the answer, are explained by a Lasso over which texts were shown.

    Parameters
    ----------
    ablations
        How many random contexts are tried; equal ones are asked once.
    keep_probability
        Of each text in each context.
    lasso_alpha
        Price of a weight, on standardised masks and log-odds per token.
    """

    ablations: Annotated[int, Field(ge=1)] = 64
    keep_probability: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    lasso_alpha: Annotated[float, Field(ge=0.0)] = 0.01

    method: ClassVar[str] = "context_cite"
    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})
    compares: ClassVar[bool] = True

    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Ablate, fit, split."""
        masks = self.masks(case)
        contexts = [tuple(p for p, kept in zip(shown, mask, strict=True) if kept) for mask in masks]
        logs = yield from log_probs_from(contexts, case)
        tokens = logs.shape[1]
        outcomes = log_odds(total(logs)) / tokens
        weights = lasso(masks.astype(np.float64), outcomes, self.lasso_alpha) * tokens
        return self.split(case.texts, weights)

    def masks(self, case: Case) -> NDArray[np.bool_]:
        """(ablations, n) which texts each context shows, drawn from a hash of question, answer and
        texts: the same case is always masked alike.
        """
        named = (case.query.text, case.answer, *(text.id for text in case.texts))
        seed = sha256(repr(named).encode("utf-8", "surrogatepass")).digest()
        rng = np.random.default_rng(int.from_bytes(seed))
        return np.asarray(rng.random((self.ablations, len(case.texts))) < self.keep_probability)


def log_probs_from(
    contexts: Sequence[tuple[str, ...]], case: Case
) -> Generator[Request, Any, FloatArray]:
    """(r, t) logarithms of the probability of each token of the answer, from each of r contexts.
    Equal contexts are asked once, so that a model's rounding cannot tell them apart.
    """
    places = {context: place for place, context in enumerate(dict.fromkeys(contexts))}
    rows = tuple(
        Complete(Task.ANSWER_FROM_DOCUMENTS, case.query.text, context, final=False)
        for context in places
    )
    logs = yield from ask(LogProbs(rows, case.answer))
    return np.asarray(logs[[places[context] for context in contexts]])
