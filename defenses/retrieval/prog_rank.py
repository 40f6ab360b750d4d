"""ProGRank: candidates whose similarity hangs on a few disturbed units are moved down."""

from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.gradient_stability import (
    consistency_penalty,
    dispersion_penalty,
    gate,
    gate_centre,
    stability,
)
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.defenses.retrieval.probing import Probing
from radarstream.defenses.retrieval.protocol import Reordering
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ProgRank(Probing):
    """Takes off each similarity what the unsteadiness of its gradient costs.

    "ProGRank: Probe-Gradient Reranking to Defend Dense-Retriever RAG from Corpus Poisoning",
    equations 3 to 13. A passage that was optimised to be found owes its similarity to a few
    matches; the gradient of the similarity then changes from run to run while dropout and masked
    tokens disturb the encoder. Passages are left as they are. The defaults are the paper's; it
    names no value for `eps`, and no gate temperature.

    A passage whose gradient is not finite gets the most that a penalty can be. A single candidate
    is not tested. Costs `runs` gradients a candidate.

    The parameters of `Probing`, and these:

    Parameters
    ----------
    tau, alpha, ceiling
        Of the dispersion penalty: the quantile over the runs, how fast a deviation counts, and C,
        the most the penalty approaches.
    eps
        Keeps divisors and logarithms from 0; -log eps is the most of the consistency penalty.
    gate_temperature
        How steep the gate is: at 1 it lies between .12 and .88 for every cosine.
    margin
        Section 3.5: only candidates at most so far below mu are tested, and only they are chosen
        while there are `keep` of them. Others keep their similarity. None tests all.
    """

    tau: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    alpha: Annotated[float, Field(gt=0.0)] = 4.0
    ceiling: Annotated[float, Field(gt=0.0)] = 6.0
    eps: Annotated[float, Field(ge=1e-100, lt=1.0)] = 1e-8
    gate_temperature: Annotated[float, Field(gt=0.0)] = 1.0
    margin: Annotated[float, Field(ge=0.0)] | None = None

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Order by the defended score. Raises EvidenceError on malformed input or responses."""
        pool = checked_pool(pool)
        count = len(pool.documents)
        if count < 2:
            return reranked("prog_rank", pool, range(count))
        similarities = np.array(pool.similarities)
        centre = gate_centre(similarities)
        tested = self.tested(similarities, centre)
        penalties = np.full(count, np.nan)
        asked = [pool.documents[place].passage for place in tested]
        grams = yield from self.probe(pool.query.text, asked)
        penalties[tested] = self.charged(similarities[tested], centre, grams)
        scores = similarities - np.nan_to_num(penalties)
        order = sorted(range(count), key=lambda place: (np.isnan(penalties[place]), -scores[place]))
        return reranked("prog_rank", pool, order, scores=scores, penalties=penalties)

    def tested(self, similarities: FloatArray, centre: float) -> list[int]:
        """The places of the candidates that are tested; the nearest is always one."""
        reach = -np.inf if self.margin is None else centre - self.margin
        return [place for place, near in enumerate(similarities) if near >= reach]

    def charged(self, similarities: FloatArray, centre: float, grams: FloatArray) -> FloatArray:
        """(m,) what is taken off each similarity: the share of both penalties that counts."""
        found = stability(grams, self.eps)
        dispersion = dispersion_penalty(
            found.deviations, tau=self.tau, alpha=self.alpha, ceiling=self.ceiling, eps=self.eps
        )
        penalties = consistency_penalty(found.consistency, self.eps) + dispersion
        return np.asarray(gate(similarities, centre, self.gate_temperature) * penalties)
