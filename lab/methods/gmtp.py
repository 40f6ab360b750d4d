"""GMTP: candidates that were found for improbable tokens are taken for planted."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Asking, Reordering, ask
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.lab.insights import (
    GRADIENTS,
    MASKED,
    Insights,
    MaskedQuery,
    SalienceQuery,
    TokenSalience,
)
from radarstream.lab.kernels.masked_tokens import lowest_mean, reference_mean, salient
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT

BoolArray = NDArray[np.bool_]


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Gmtp:
    """Hides the tokens that decide a similarity and asks how probable they were.

    "Safeguarding RAG Pipelines with GMTP: A Gradient-based Masked Token Probability Method for
    Poisoned Document Detection". Of the tokens whose gradient is longer than the mean, the longest
    `tokens` are hidden one at a time; a candidate stays where the mean of the `lowest`
    probabilities exceeds the cut. A candidate without such a token has mean 0 and is dropped, and
    all may be. What stays keeps its order. The published code may hide special tokens; this does
    not.

    Costs one gradient and at most `tokens` passes of a masked language model a candidate.

    Parameters
    ----------
    mode
        Where the cut is. "calibrated", as the paper: `share` of `reference`. "fixed": at
        `threshold`. "quantile": at the `quantile` of the pool, which drops that share of
        candidates, planted or not.
    tokens, lowest
        N and M of the paper.
    reference
        The mean probability of texts that answer their question, from `reference_from` over pairs
        of the corpus; it belongs to the models and to `tokens` and `lowest`. None takes the pool's
        own mean, which whoever plants most of the pool moves.
    share
        lambda.
    threshold
        Of "fixed". With -1, the default of the published class, nothing is dropped, since no
        probability is negative; .2 is its configuration's.
    quantile
        Of "quantile"; equal candidates stay together.
    """

    mode: Literal["calibrated", "fixed", "quantile"] = "calibrated"
    tokens: Annotated[int, Field(ge=1)] = 10
    lowest: Annotated[int, Field(ge=1)] = 5
    reference: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    share: Annotated[float, Field(ge=0.0)] = 0.1
    threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.2
    quantile: Annotated[float, Field(ge=0.0, le=1.0)] = 0.6

    needs: ClassVar[frozenset[str]] = frozenset({GRADIENTS, MASKED})

    def __post_init__(self) -> None:
        if self.lowest > self.tokens:
            raise ValueError("`lowest` must not be more than `tokens`")

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop what is below the cut. Raises EvidenceError on malformed input."""
        pool = checked_pool(pool)
        count = len(pool.documents)
        if not count:
            return reranked("gmtp", pool, ())
        hidden = yield from self.hidden([(pool.query.text, d.passage) for d in pool.documents])
        means = np.array([lowest_mean(probabilities, self.lowest) for probabilities in hidden])
        stays = self.stay(means, hidden)
        suspects = frozenset(np.flatnonzero(~stays).tolist())
        return reranked("gmtp", pool, range(count), suspects=suspects, scores=means)

    def reference_from(self, pairs: Sequence[tuple[str, str]]) -> Asking[float]:
        """`reference` as measured on pairs of a question and a text that answers it. Raises
        ValueError without a single token that decides.
        """
        return reference_mean((yield from self.hidden(pairs)), self.lowest)

    def hidden(self, pairs: Sequence[tuple[str, str]]) -> Asking[tuple[FloatArray, ...]]:
        """The probabilities of the hidden tokens of the passage of every pair with its question."""
        salient = yield from ask(Insights(tuple(SalienceQuery(*pair) for pair in pairs)))
        masked = tuple(
            MaskedQuery(passage, self.spans(tokens))
            for (_, passage), tokens in zip(pairs, salient, strict=True)
        )
        return (yield from ask(Insights(masked)))

    def spans(self, tokens: Sequence[TokenSalience]) -> tuple[tuple[int, int], ...]:
        """Where the tokens are that are hidden; tokens without a character are special ones.
        Nowhere if a gradient of the candidate is not finite, which drops it.
        """
        read = [token for token in tokens if token.start < token.stop]
        lengths = np.array([token.length for token in read])
        places = salient(lengths, self.tokens) if np.isfinite(lengths).all() else ()
        return tuple((read[place].start, read[place].stop) for place in places)

    def stay(self, means: FloatArray, hidden: Sequence[FloatArray]) -> BoolArray:
        """(n,) whether each candidate stays."""
        if self.mode == "quantile":
            return np.asarray((means >= np.quantile(means, self.quantile)) & (means > 0.0))
        return np.asarray(means > self.cut(hidden))

    def cut(self, hidden: Sequence[FloatArray]) -> float:
        """What the mean of a candidate that stays exceeds."""
        if self.mode == "fixed":
            return self.threshold
        known = any(len(probabilities) for probabilities in hidden)
        if self.reference is None:
            return self.share * reference_mean(hidden, self.lowest) if known else 0.0
        return self.share * self.reference
