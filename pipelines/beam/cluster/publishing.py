"""The last step on a cluster: publish what the folds have left in the outbox."""

from collections.abc import Callable
from typing import Any

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.metrics.metric import Metrics
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec

from radarstream.connectors.state_table.queries.outbox import Sink, publish_outbox
from radarstream.pipelines.beam.cluster.ordered_fold import METRICS
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings

# Nothing is kept in it, but runners give a key with state to one worker at a time, so that a lane
# is published by one, in order.
OWNER = beam.DoFn.StateParam(ReadModifyWriteStateSpec("owner", VarIntCoder()))
OpenSink = Callable[[Settings], Sink]


class PublishLanes(beam.DoFn):
    """(lane, anything) -> nothing; every unsent event of the lanes of a bundle is published.

    At least once, under the same ids with the same payloads. A lane is named after its events
    were committed. A runner that snapshots a job only between bundles therefore never has a
    snapshot that lies past an unpublished event: when publishing fails the bundle fails, and what
    is read again names the lane again. `open_sink` must be picklable; it is called once a worker.
    """

    def __init__(self, settings: Settings, open_sink: OpenSink) -> None:
        self.settings = settings
        self.open_sink = open_sink
        self.sink: Sink | None = None
        self.lanes: set[int] = set()

    def setup(self) -> None:
        """Open the sink, once a worker."""
        self.sink = self.open_sink(self.settings)

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.lanes = set()

    def process(
        self,
        keyed: tuple[str, None],
        owner: Any = OWNER,  # noqa: ARG002 see OWNER
    ) -> None:
        """Note that a lane has something to publish."""
        self.lanes.add(int(keyed[0]))

    def finish_bundle(self) -> None:
        """Publish the lanes; returns when everything is durable. Raises BrokerError."""
        lanes, self.lanes = self.lanes, set()
        if lanes and self.sink is not None:
            sent = publish_outbox(shared_engine(self.settings), self.sink, lanes=lanes)
            Metrics.counter(METRICS, "published").inc(sent)

    def teardown(self) -> None:
        """Close the sink."""
        close = getattr(self.sink, "close", None)
        if close is not None:
            close()
        self.sink = None
