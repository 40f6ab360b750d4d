"""Corpus poisoning ("Poison"): a fluent passage that claims the target as a fact."""

from collections.abc import Sequence
from typing import ClassVar

from pipelines.evaluation.attacks.protocol import attackable_labels, plant
from schemas.errors import ConfigurationError
from schemas.snapshot import SearchSnapshot

REPETITIONS = 10  # as in the published evaluations of RobustRAG, ReliabilityRAG and RADAR


class PlantedFalsehood:
    """The first false passage of the labels, repeated ten times, one a line."""

    name: ClassVar[str] = "poison"

    def poison(
        self, snapshot: SearchSnapshot, *, positions: Sequence[int], k: int | None = None
    ) -> SearchSnapshot:
        """See `Attack.poison`; also refuses labels without a false passage."""
        labels = attackable_labels(snapshot)
        if not labels.false_passages:
            raise ConfigurationError(f"{snapshot.id} has no false passage to plant")
        text = "\n".join([labels.false_passages[0]] * REPETITIONS)
        return plant(snapshot, text, attack=self.name, positions=positions, k=k)
