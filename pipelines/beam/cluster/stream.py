"""The graph of an unbounded source, for runners with event time, keyed state and checkpoints.

    gather evidence -> fold in event-time order by query -> publish by lane

The stages that ask models and the core that folds are those of `pipelines.beam.graph`; what
differs is how a query's snapshots are put into order, and that publishing is a step of the graph.
"""

from collections.abc import Mapping
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection

from radarstream.pipelines.beam.cluster.ordered_fold import FoldInOrder, ParkDeadInOrder
from radarstream.pipelines.beam.cluster.publishing import OpenSink, PublishLanes
from radarstream.pipelines.beam.graph import DEAD, READY, GatherEvidence, key_by_query
from radarstream.pipelines.settings import Settings
from radarstream.schemas.records import RawRecord


class DefendStream(beam.PTransform[PCollection[RawRecord], PCollection[None]]):
    """RawRecords with a place in a log -> state rows and published events; gives nothing itself."""

    def __init__(
        self,
        settings: Settings,
        open_sink: OpenSink,
        *,
        live: bool = True,
        model_hints: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.open_sink = open_sink
        self.gather = GatherEvidence(settings, live=live, model_hints=model_hints)

    def expand(self, records: PCollection[RawRecord]) -> PCollection[None]:
        """Build the steps."""
        settings = self.settings
        gathered = records | "Gather" >> self.gather
        parked = gathered[DEAD] | "ParkDead" >> beam.ParDo(
            ParkDeadInOrder(settings)
        ).with_output_types(str)
        folded = (
            gathered[READY]
            | "KeyByQuery" >> beam.Map(key_by_query).with_output_types(tuple[str, Any])
            | "FoldInOrder" >> beam.ParDo(FoldInOrder(settings)).with_output_types(str)
        )
        published: PCollection[None] = (
            (folded, parked)
            | "Lanes" >> beam.Flatten()
            | "KeyByLane" >> beam.Map(key_by_lane).with_output_types(tuple[str, None])
            | "Publish" >> beam.ParDo(PublishLanes(settings, self.open_sink))
        )
        return published


def key_by_lane(lane: str) -> tuple[str, None]:
    """Key a lane by itself."""
    return lane, None
