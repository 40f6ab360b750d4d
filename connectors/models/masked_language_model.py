"""Shell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radarstream.connectors.models.local_torch import insist_on_torch
from radarstream.connectors.models.local_weights import model_directory, weights_digest


class MaskedLanguageModel:
    """A masked language model from weights on this disk."""

    def __init__(self, model: str | Path) -> None:
        self._name = model

    @property
    def model_id(self) -> str:
        """Weights."""
        return f"masked@{weights_digest(model_directory(self._name))}"

    def check(self) -> None:
        """Raise ConfigurationError where libraries or weights are missing; loads nothing."""
        insist_on_torch()
        model_directory(self._name)

    def masked(self, queries: Sequence[Any]) -> Any:
        """To come."""
        raise NotImplementedError
