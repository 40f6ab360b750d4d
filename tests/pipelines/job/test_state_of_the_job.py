"""Which database a job works with, and which snapshots it holds back, with a real broker."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topic_reader import partition_offsets
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.groups import (
    enter,
    insist_on_offsets,
    note_offsets,
)
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.job import waiting
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.schemas.codec import decode_dead_letter
from radarstream.schemas.errors import ConfigurationError, ReasonClass
from tests.brokers import Broker
from tests.builders import make_snapshot
from tests.clocks import until
from tests.end_to_end.running_job import events, produce, produce_raw, snapshots
from tests.pipelines.job.job_rig import drained, running_job, settings_for

GROUP = "radarstream"


@pytest.mark.parametrize("job", [{"partitions": (1,)}, {"membership": "group"}])
def test_an_empty_database_under_a_group_that_committed_is_refused(job, own_broker, tmp_path):
    options = own_broker.options(partitions=2)
    produce(options, snapshots(6))
    drained(settings_for(options, tmp_path / "first.db"))
    produce(options, snapshots(9)[6:])
    settings = settings_for(options, tmp_path / "empty.db", job=job)
    for exists in (False, True, True):  # no refusal makes it this group's database
        with pytest.raises(ConfigurationError, match=f"is empty or .*consumer group {GROUP} has"):
            drained(settings)
        assert (tmp_path / "empty.db").exists() is exists  # nor makes one
        shared_engine(settings)
    assert len(events(options, "answers.defended")) == 6
    drained(settings_for(options, tmp_path / "empty.db"), start_over=True)
    assert len(events(options, "answers.defended")) == 9
    drained(settings)  # it is known from now on


@pytest.mark.parametrize(
    ("job", "kept"), [({}, "a backup"), ({"membership": "group"}, "no write-ahead log")]
)
def test_a_rolled_back_database_is_refused(job, kept, own_broker, tmp_path) -> None:
    options = own_broker.options(partitions=2)
    file, copy = tmp_path / "state.db", tmp_path / "copy.db"
    settings = settings_for(options, file, job=job)
    produce(options, snapshots(4))
    drained(settings)
    engine = shared_engine(settings)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        copy.write_bytes(file.read_bytes())
    produce(options, snapshots(8)[4:])
    drained(settings)
    if kept == "no write-ahead log":
        copy.write_bytes(file.read_bytes())
    assert not (tmp_path / "copy.db-wal").exists()
    rolled_back = settings_for(options, copy, job=job)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="is an older copy.*--start-over"):
            drained(rolled_back)
    drained(settings)  # the right one goes on
    drained(rolled_back, start_over=True)
    drained(rolled_back)
    assert len(events(options, "answers.defended")) == 8


def test_a_partition_that_another_database_answered_is_not_taken_over(own_broker, tmp_path) -> None:
    """Its worker began with another database, before the group had committed anything."""
    options = own_broker.options(partitions=1)
    produce(options, snapshots(2))
    mine, others = (shared_engine(settings_for(options, tmp_path / f)) for f in ("a.db", "b.db"))
    for engine in (mine, others):
        enter(engine, GROUP, {}, start_over=False, now_ms=1)
    with KafkaLog(options, membership="group", note=partial(note_offsets, others, GROUP)) as log:
        while not (records := log.poll(max_records=9, max_bytes=10**6, timeout_s=1.0)):
            pass
        log.commit({0: records[-1].position + 1})
    took: list[object] = []
    insist = partial(insist_on_offsets, mine, GROUP)
    with (
        KafkaLog(options, membership="group", insist=insist) as log,
        pytest.raises(ConfigurationError, match="has committed offset"),
    ):
        for _ in range(60):
            took += log.poll(max_records=9, max_bytes=10**6, timeout_s=1.0)
    assert took == []


def test_a_group_that_has_committed_dead_letters_only_starts_again(own_broker, tmp_path) -> None:
    options = own_broker.options(partitions=1)
    produce(options, [])
    produce_raw(options, [b"{"])
    for _ in range(2):
        drained(settings_for(options, tmp_path / "state.db"))
    assert partition_offsets(options, group=GROUP)[0].committed == 1


@pytest.mark.parametrize("damage", ["deleted", "cut off", "replaced", "emptied"])
def test_a_running_job_ends_when_its_database_goes(damage, own_broker, tmp_path, monkeypatch):
    options = own_broker.options(partitions=1)
    produce(options, snapshots(2))
    file = tmp_path / "state.db"
    monkeypatch.setattr(waiting, "DATABASE_S", 0.05)
    with running_job(settings_for(options, file)) as job:
        job.wait_for("answered", 2)
        assert job.get("/readyz")[0] == 200
        DAMAGES[damage](file)
        produce(options, snapshots(5)[2:])
        until(job.ended.is_set)
        assert isinstance(job.failure, ConfigurationError)
        assert "restore" in str(job.failure)
        status, body = job.get("/readyz")
        assert (status, '"database": false' in body) == (503, True)
        assert len(job.lines("database_lost")) == 1
    assert len(events(options, "answers.defended")) == 2


def test_a_backup_that_is_restored_into_the_file_in_use_is_refused(tmp_path: Path) -> None:
    """It has the mark of the group, and no file was replaced."""
    files = [f"sqlite:///{tmp_path / name}" for name in ("state.db", "backup.db")]
    engine, backup = map(open_engine, files)
    mark = enter(engine, GROUP, {}, start_over=False, now_ms=1)
    state = waiting.StateWatch(engine, GROUP, mark, Health(1.0, 1.0))
    note_offsets(engine, GROUP, {("log", 0): 4, ("log", 1): 4})
    copied(engine, backup)
    state.insist()
    note_offsets(engine, GROUP, {("log", 1): 5})
    state.insist()
    copied(backup, engine)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="is an older copy.*partition 1"):
            state.insist()
    for each in (engine, backup):
        each.dispose()


def copied(source: Engine, target: Engine) -> None:
    """Copy a SQLite database into another as its own tool does."""
    with source.connect() as one, target.connect() as other:
        held: list[Any] = [connection.connection.driver_connection for connection in (one, other)]
        held[0].backup(held[1])


def empty(file: Path) -> None:
    engine = open_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        for table in ("memory", "consumer_groups"):
            connection.execute(text(f"DELETE FROM {table}"))
    engine.dispose()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "deleted": Path.unlink,
    "cut off": lambda file: os.truncate(file, 0),
    "replaced": lambda file: Path(shutil.copy(file, file.with_name("copy.db"))).replace(file),
    "emptied": empty,
}


def test_snapshots_from_the_far_future_are_an_outage(own_broker: Broker, tmp_path: Path) -> None:
    """As if this machine's clock were slow: by 10 minutes, and by 2 hours."""
    options = own_broker.options(partitions=1)
    now = datetime.now(UTC)
    times = {f"q{ahead}": now + timedelta(minutes=ahead) for ahead in (10, 120)}
    texts = ["Output: Rome"]
    produce(options, [make_snapshot(texts, query_id=q, observed_at=t) for q, t in times.items()])
    with running_job(settings_for(options, tmp_path / "state.db")) as job:
        assert job.wait_for("answered")["query_id"] == "q10"
        letter = job.wait_for("dead_letter")
        assert (letter["query_id"], letter["disposition"]) == ("q120", "outage")
        assert job.get("/readyz")[0] == 200  # the models are not to blame
    ((_, data),) = events(options, "snapshots.deadletter")
    assert decode_dead_letter(data).reason is ReasonClass.FUTURE_TIME
    replay = ["deadletter", "replay", "--yes", "--json"]  # without a word on which letters
    variables = {"RADARSTREAM_KAFKA__BOOTSTRAP": options.bootstrap}
    assert len(json.loads(CliRunner().invoke(app, replay, env=variables).stdout)["replayed"]) == 1
