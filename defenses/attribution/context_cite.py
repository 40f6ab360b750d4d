"""ContextCite: a sparse linear model of how texts make the wrong answer likely."""

from hashlib import sha256
from typing import Annotated, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.outcome import (
    MaxTexts,
    judged,
    log_probs_from,
    passages,
    split_by,
    unseparated,
)
from radarstream.defenses.attribution.protocol import Attributing
from radarstream.defenses.kernels.lasso import lasso
from radarstream.defenses.kernels.log_odds import log_odds, total
from radarstream.defenses.protocol import Signal
from radarstream.schemas.attribution import Case
from radarstream.schemas.snapshot import STRICT

METHOD: Final = "context_cite"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ContextCite:
    """Leaves texts out at random and weighs each by what the answer's log-odds owe to it.

    From "ContextCite: Attributing Model Generation to Context" (NeurIPS 2024, section 3), with the
    settings of its published code: the log-odds of the answer under random halves of the context,
    per token of the answer, are explained by a Lasso over which texts were shown. The paper stops
    at weights; two-means in one dimension flags the higher group.

    The masks are drawn from a hash of question, answer and texts: the same case is always
    masked alike.

    Needs a model that tells token probabilities.

    Parameters
    ----------
    ablations
        How many random contexts are tried; equal ones are asked once.
    keep_probability
        Of each text in each context.
    lasso_alpha
        Price of a weight, on standardised masks and log-odds per token.
    max_texts
        How many texts are shown and judged, from the best on.
    """

    ablations: Annotated[int, Field(ge=1)] = 64
    keep_probability: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    lasso_alpha: Annotated[float, Field(ge=0.0)] = 0.01
    max_texts: MaxTexts = None

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})

    def attribute(self, case: Case) -> Attributing:
        """Ablate, fit, split. Raises EvidenceError on malformed input or probabilities."""
        case = judged(case, self.max_texts)
        shown = passages(case.texts)
        if len(set(shown)) < 2:
            return unseparated(METHOD, case.texts)
        masks = self.masks(case)
        contexts = [tuple(p for p, kept in zip(shown, mask, strict=True) if kept) for mask in masks]
        logs = yield from log_probs_from(contexts, case)
        tokens = logs.shape[1]
        outcomes = log_odds(total(logs)) / tokens
        weights = lasso(masks.astype(np.float64), outcomes, self.lasso_alpha) * tokens
        return split_by(METHOD, case.texts, weights)

    def masks(self, case: Case) -> NDArray[np.bool_]:
        """(ablations, n) which texts each context shows."""
        named = (case.query.text, case.answer, *(text.id for text in case.texts))
        seed = sha256(repr(named).encode("utf-8", "surrogatepass")).digest()
        rng = np.random.default_rng(int.from_bytes(seed))
        return np.asarray(rng.random((self.ablations, len(case.texts))) < self.keep_probability)
