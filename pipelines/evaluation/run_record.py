"""What a run was and what it cost: stored beside its results, shown in its report."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage's totals. `requests` = `model_calls` + `cache_hits`; seconds are wall clock."""

    stage: str
    requests: int
    model_calls: int
    cache_hits: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Provenance and totals of one replay."""

    settings: dict[str, Any]
    revision: str
    models: dict[str, str]
    stages: tuple[StageCost, ...]
    snapshots: int
    answers: int
    dead_letters: int
    seconds: float
