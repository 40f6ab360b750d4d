"""Micro-batches on Beam's own runner: cached or built anew, repeated, broken, interrupted."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.pipelines.beam import folding, graph
from radarstream.pipelines.beam.graph import MicroBatch
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import StateConflictError
from radarstream.schemas.records import LogPosition, RawRecord
from tests.builders import GIVE_ALL, OBSERVED_AT, make_snapshot, scripted_settings

CITIES = ("Rome", "Rome", "Oslo", "Oslo")


settings_in = partial(scripted_settings, batch={"queries": 2}, defense=GIVE_ALL)


def record(offset: int, payload: bytes) -> RawRecord:
    return RawRecord("e/t/3", offset, payload, log=LogPosition("e", 3, offset))


def records(steps: int = 3, queries: int = 3) -> list[RawRecord]:
    snapshots = [
        make_snapshot(
            [f"Output: {CITIES[step]}"] * 2 + ["Output: Nowhere"],
            query_id=f"cup-{query}",
            observed_at=OBSERVED_AT + timedelta(hours=step),
        )
        for step in range(steps)
        for query in range(queries)
    ]
    return [record(offset, encode(snapshot)) for offset, snapshot in enumerate(snapshots)]


def state(settings: Settings) -> tuple[Any, ...]:
    engine = shared_engine(settings)
    rows = load(engine, [f"cup-{query}" for query in range(3)])
    return rows, sorted((r.topic, r.event_id, r.data, r.lane) for _, r in pending(engine, 10_000))


GONE = OperationalError("UPDATE", {}, Exception("closed"), connection_invalidated=True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(GONE, "transient"), (StateConflictError("moved"), "transient"),
     (ZeroDivisionError(), "defect")],
)  # fmt: skip
def test_errors_keep_their_meaning_through_the_runner(tmp_path, monkeypatch, error, kind) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise error

    batch = MicroBatch(settings_in(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(folding, "commit_fold", failing)
        with pytest.raises(Exception) as raised:
            batch(records())
    assert (kind_of(raised.value), graph.SLOTS) == (kind, {})
    assert len(batch(records())) == 9  # nothing of the failed run stays behind
