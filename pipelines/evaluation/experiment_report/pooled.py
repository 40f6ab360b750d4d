"""The ranking of contenders, as pages know it."""

from radarstream.pipelines.evaluation.experiment.ranking import (
    Pooled,
    Ranking,
    covered_cells,
    rank,
)

__all__ = ["Pooled", "Ranking", "covered_cells", "rank"]
