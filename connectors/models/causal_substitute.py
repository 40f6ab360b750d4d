"""Shell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CausalSubstitute:
    """Left to right."""

    model_path: Path | None = None
    threads: int | None = None

    @property
    def model_id(self) -> str:
        """Weights."""
        return "substitute"

    def masked(self, queries: Sequence[Any]) -> Any:
        """To come."""
        raise NotImplementedError
