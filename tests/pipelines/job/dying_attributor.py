"""A worker that kills its own process at a place it is told: database, file of events, place."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.pipelines.job.incidents import attributing, settling
from radarstream.pipelines.job.incidents.settling import LANE
from radarstream.schemas.records import OutboxRecord
from tests.pipelines.job.attributing_rig import worker_on

PLACES = ("investigated", "amid the transaction", "settled", "published", "nowhere")


def main(url: str, topic: str, place: str) -> None:
    def die_at(here: str) -> None:
        if here == place:
            os.kill(os.getpid(), signal.SIGKILL)

    class FileSink:
        def publish(self, records: Sequence[OutboxRecord]) -> None:
            with Path(topic).open("a") as file:
                file.writelines(f"{r.event_id} {r.data.decode()}\n" for r in records)
            die_at("published")

    def dying(owner: Any, name: str, here: str) -> None:
        """Have a function end at a place."""
        work = getattr(owner, name)

        def done(*given: Any, **named: Any) -> Any:
            found = work(*given, **named)
            die_at(here)
            return found

        setattr(owner, name, done)

    engine = open_engine(url)
    worker = worker_on(engine)
    dying(worker, "investigated", "investigated")
    dying(attributing, "settle", "settled")
    dying(settling.quarantine, "switch", "amid the transaction")
    while worker.step():
        publish_outbox(engine, FileSink(), lanes={LANE})
    publish_outbox(engine, FileSink(), lanes={LANE})


if __name__ == "__main__":
    main(*sys.argv[1:])
