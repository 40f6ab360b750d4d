"""Micro-batches on Beam's own runner: cached or built anew, repeated, broken, interrupted."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.state_table.queries import outbox
from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.pipelines.beam import folding, graph, running
from radarstream.pipelines.beam.running import MicroBatch
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ModelError, StateConflictError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import LogPosition, RawRecord
from tests.builders import GIVE_ALL, OBSERVED_AT, make_snapshot

CITIES = ("Rome", "Rome", "Oslo", "Oslo")


def settings_in(directory: Path) -> Settings:
    database = f"sqlite:///{directory / 'state.db'}"
    return load_settings(
        profile="scripted", database=database, batch={"queries": 2}, defense=GIVE_ALL
    )


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
    queued = sorted((r.topic, r.event_id, r.data, r.lane) for _, r in pending(engine, 10_000))
    return rows, queued


def test_what_is_good_is_answered_and_the_rest_is_parked_in_its_lane(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    batch = MicroBatch(settings)
    everything = [*records(), record(9, b"{")]
    outcomes = batch(everything[:4]) + batch(everything[4:])
    assert sum(isinstance(outcome, AnswerEvent) for outcome in outcomes) == 9
    assert len(outcomes) == 10
    assert {lane for *_, lane in state(settings)[1]} == {3}


def database_gone(*_: Any, **__: Any) -> None:
    error = OperationalError("UPDATE", {}, Exception("server closed the connection"))
    error.connection_invalidated = True
    raise error


def conflict(*_: Any, **__: Any) -> None:
    raise StateConflictError("moved")


def defect(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "kind"), [(database_gone, "transient"), (conflict, "transient"), (defect, "defect")]
)
def test_errors_keep_their_meaning_through_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Any, kind: str
) -> None:
    batch = MicroBatch(settings_in(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(folding, "commit_fold", error)
        with pytest.raises(Exception) as raised:
            batch(records())
    assert kind_of(raised.value) == kind
    assert running.SLOTS == {}
    assert len(batch(records())) == 9  # nothing of the failed run stays behind


def test_dead_letters_are_durable_before_a_fold_passes_their_records_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a crash between the two would make the parked record look like a repetition."""
    complete = ScriptedGenerator.complete

    def fails_on_the_first_step(self: ScriptedGenerator, prompts: Any) -> Any:
        if any("Output: Rome" in p for prompt in prompts for p in prompt.passages):
            raise ModelError("down")
        return complete(self, prompts)

    order: list[str] = []
    monkeypatch.setattr(ScriptedGenerator, "complete", fails_on_the_first_step)
    noted(monkeypatch, graph, "append", order)
    noted(monkeypatch, folding, "commit_fold", order)
    outcomes = MicroBatch(settings_in(tmp_path))(records(steps=4))
    assert len(outcomes) == 12
    assert order == ["append", *["commit_fold"] * 3]


def noted(patch: pytest.MonkeyPatch, owner: Any, name: str, order: list[str]) -> None:
    original = getattr(owner, name)

    def wrapped(*arguments: Any) -> Any:
        order.append(name)
        return original(*arguments)

    patch.setattr(owner, name, wrapped)


def test_no_record_leads_to_nothing(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assert MicroBatch(settings)([]) == []
    assert outbox.depth(shared_engine(settings)) == 0
