"""How retrieval defences that probe an encoder ask for the gradients of their candidates."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import ProbeGradients, Signal
from radarstream.defenses.responses import Asking, ask
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.gradients import Disturbance, ProbeQuery
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Probing:
    """What is probed, as ProGRank does it (equation 3).

    Parameters
    ----------
    runs
        R, disturbed passes a candidate.
    layer
        L: the LayerNorm behind the attention of this layer is tested, counted from 0.
    disturbance
        What is drawn anew in every run: the encoder's "dropout", "tokens" masked out, or both.
    token_dropout
        The share of a passage's tokens that a run masks out.
    surrogate
        Whether another encoder than the retriever's is tested.
    seed
        Of the disturbances, with each question and passage.
    """

    runs: Annotated[int, Field(ge=2, le=1_000)] = 20
    layer: Annotated[int, Field(ge=0)] = 3
    disturbance: Disturbance = Disturbance.MIXED
    token_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    surrogate: bool = False
    seed: Annotated[int, Field(ge=0)] = 0

    @property
    def needs(self) -> frozenset[Signal]:
        """Gradients, of the retriever's encoder or of another one."""
        by = Signal.SURROGATE_GRADIENTS if self.surrogate else Signal.SIMILARITY_GRADIENTS
        return frozenset({by})

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
        grams = yield from ask(ProbeGradients(queries, self.surrogate))
        return np.asarray(grams[[unique[passage] for passage in passages]])
