"""A process that folds a six-record log into the state table and dies where it is told.

Arguments: database URL, file that stands for a topic, attempt number, failpoint `place@step`.
"""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.schemas.records import Envelope, OutboxRecord

STEPS = 6


@dataclass
class FileSink:
    """Durable lines `event id, payload`; kills its own process at its failpoint."""

    path: Path
    failpoint: str = ""

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        die_at("before publish", self.failpoint)
        with self.path.open("a") as file:
            for number, record in enumerate(records):
                if number == 1:
                    file.flush()
                    die_at("amid publish", self.failpoint)
                file.write(f"{record.event_id} {record.data.decode()}\n")
            file.flush()
            os.fsync(file.fileno())
        die_at("before mark", self.failpoint)


def die_at(place: str, failpoint: str) -> None:
    if place == failpoint:
        os.kill(os.getpid(), signal.SIGKILL)


def event(step: int, name: str, payload: str) -> OutboxRecord:
    envelope = Envelope(
        id=f"q-1/{step}{name}", type="t", source="s", partitionkey="q-1", dataschema="urn:x"
    )
    return OutboxRecord("answers.defended", envelope, payload.encode())


def main(url: str, topic: str, attempt: str, failpoint: str) -> None:
    place, _, at_step = failpoint.partition("@")
    engine = open_engine(url)
    publish_outbox(engine, FileSink(Path(topic)))
    row = load(engine, ["q-1"]).get("q-1")
    for step in range(row.step + 1 if row else 1, STEPS + 1):
        here = place if str(step) == at_step else ""
        die_at("before commit", here)
        state = (row.state if row else b"") + bytes([step])
        new = MemoryRow("q-1", "radar", step, step * 1_000, "log", 0, step, state)
        # The attempt stands for a model that answers differently when it is asked again.
        payload = f"{state.hex()}:attempt-{attempt}"
        row = commit_fold(engine, row, new, [event(step, "", payload), event(step, "/1", payload)])
        publish_outbox(engine, FileSink(Path(topic), here))


if __name__ == "__main__":
    main(*sys.argv[1:])
