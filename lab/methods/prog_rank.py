"""ProGRank: candidates whose similarity hangs on a few disturbed units are moved down."""

from collections.abc import Sequence
from typing import Annotated, Final

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Asking, Reordering, ask
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.lab.insights import GRADIENTS, SURROGATE, Disturbance, Insights, ProbeQuery
from radarstream.lab.kernels.gradient_stability import (
    consistency_penalty,
    dispersion_penalty,
    gate,
    gate_centre,
    stability,
)
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT

MOST_LAYERS: Final = 64  # no encoder has more: a number beyond is a mistake


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ProgRank:
    """Takes off each similarity what the unsteadiness of its gradient costs.

    "ProGRank: Probe-Gradient Reranking to Defend Dense-Retriever RAG from Corpus Poisoning",
    equations 3 to 13. A passage that was optimised to be found owes its similarity to a few
    matches; the gradient of the similarity then changes from run to run while dropout and masked
    tokens disturb the encoder. Passages are left as they are. The defaults are the paper's; it
    names no value for `eps`, and no gate temperature.

    A passage whose gradient is not finite gets the most that a penalty can be. A single candidate
    is not tested. Costs `runs` gradients a candidate.

    Parameters
    ----------
    runs
        R, disturbed passes a candidate.
    layer
        L: the LayerNorm behind the attention of this layer is tested, counted from 0; encoders
        have 6 to 48 layers.
    disturbance
        What is drawn anew in every run: the encoder's "dropout", "tokens" masked out, or both.
    token_dropout
        The share of a passage's tokens that a run masks out.
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
    surrogate
        Whether another encoder than the retriever's is tested.
    seed
        Of the disturbances, with each question and passage.
    """

    runs: Annotated[int, Field(ge=2, le=1_000)] = 20
    layer: Annotated[int, Field(ge=0, lt=MOST_LAYERS)] = 3
    disturbance: Disturbance = Disturbance.MIXED
    token_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    tau: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    alpha: Annotated[float, Field(gt=0.0)] = 4.0
    ceiling: Annotated[float, Field(gt=0.0)] = 6.0
    eps: Annotated[float, Field(ge=1e-100, lt=1.0)] = 1e-8
    gate_temperature: Annotated[float, Field(gt=0.0)] = 1.0
    margin: Annotated[float, Field(ge=0.0)] | None = None
    surrogate: bool = False
    seed: Annotated[int, Field(ge=0)] = 0

    @property
    def needs(self) -> frozenset[str]:
        """Gradients, of the retriever's encoder or of another one."""
        return frozenset({SURROGATE if self.surrogate else GRADIENTS})

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Order by the defended score. Raises EvidenceError on malformed input."""
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

    def probe(self, question: str, passages: Sequence[str]) -> Asking[FloatArray]:
        """(m, R, R) inner products of the gradients of each passage; equal ones are asked once."""
        unique = {passage: place for place, passage in enumerate(dict.fromkeys(passages))}
        queries = tuple(
            ProbeQuery(
                question,
                passage,
                self.runs,
                self.layer,
                self.disturbance,
                self.token_dropout,
                self.seed,
            )
            for passage in unique
        )
        grams = yield from ask(Insights(queries, self.surrogate))
        return np.array([grams[unique[passage]] for passage in passages])

    def charged(self, similarities: FloatArray, centre: float, grams: FloatArray) -> FloatArray:
        """(m,) what is taken off each similarity: the share of both penalties that counts."""
        found = stability(grams, self.eps)
        dispersion = dispersion_penalty(
            found.deviations, tau=self.tau, alpha=self.alpha, ceiling=self.ceiling, eps=self.eps
        )
        penalties = consistency_penalty(found.consistency, self.eps) + dispersion
        return np.asarray(gate(similarities, centre, self.gate_temperature) * penalties)
