"""The protocol of attributors: defences' sibling, a pure generator over one case."""

from collections.abc import Generator
from typing import Any, Protocol

from radarstream.defenses.protocol import Request, Signal
from radarstream.schemas.attribution import Attribution, Case

# The response's type follows from the request's, as for defences.
Attributing = Generator[Request, Any, Attribution]


class Attributor(Protocol):
    """Names the texts that taught a wrong answer.

    Holds no model, clock, file or random number generator; `pipelines` fulfils its requests.
    """

    @property
    def needs(self) -> frozenset[Signal]:
        """What models must offer beyond completions, relations and embeddings."""

    def attribute(self, case: Case) -> Attributing:
        """Score the texts and flag those that taught the answer.

        Deterministic; leaves its argument unchanged. Invariant to the order in which requests of
        one batch are answered. No texts, or one: nothing is flagged.
        """
