"""Shell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radarstream.connectors.models.local_torch import insist_on_torch
from radarstream.connectors.models.local_weights import model_directory, weights_digest
from radarstream.connectors.models.sentence_embedder import minilm_directory


class GradientEncoder:
    """Gradients of a sentence encoder from weights on this disk."""

    def __init__(self, model: str | Path | None = None) -> None:
        self._name = model

    @property
    def directory(self) -> Path:
        """Directory of the weights; ConfigurationError when there are none."""
        return minilm_directory() if self._name is None else model_directory(self._name)

    @property
    def model_id(self) -> str:
        """Weights."""
        return f"gradients@{weights_digest(self.directory)}"

    def check(self) -> None:
        """Raise ConfigurationError where libraries or weights are missing; loads nothing."""
        insist_on_torch()
        _ = self.directory

    def probe(self, queries: Sequence[Any]) -> Any:
        """To come."""
        raise NotImplementedError

    def saliences(self, queries: Sequence[Any]) -> Any:
        """To come."""
        raise NotImplementedError
