"""Scripted models for tests of the pipeline: they count, obey a script, and fail on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Prompt, Task


def last_words(prompt: Prompt) -> str:
    """Answers with what most passages say after their last colon; the first on ties."""
    claims = [passage.rsplit(":", 1)[-1].strip(" .") for passage in prompt.passages]
    return max(claims, key=claims.count, default="I don't know")


def scripted_models(**generator: Any) -> Models:
    """Scripted models whose generator reads claims like "The winner: Rome."."""
    options = {"script": last_words, **generator}
    return Models(ScriptedGenerator(**options), ScriptedRelations(), ScriptedEmbedder())


@dataclass
class FixedRows:
    """A scorer or embedder that returns one array, whatever is asked."""

    rows: FloatArray
    model_id: str = "fixed"
    log: list[tuple[Any, ...]] = field(default_factory=list)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        self.log.append(tuple(pairs))
        return self.rows

    def embed(self, texts: Sequence[str]) -> FloatArray:
        self.log.append(tuple(texts))
        return self.rows


def tasks(models: Models) -> list[tuple[Task, int]]:
    """What the generator was asked for, call by call, with the size of the batch."""
    log = models.generator.log  # type: ignore[attr-defined]
    return [(batch[0].task, len(batch)) for batch in log]


def nan_rows(count: int, columns: int) -> FloatArray:
    rows = np.full((count, columns), 1.0 / columns)
    rows[-1, -1] = np.nan
    return rows
