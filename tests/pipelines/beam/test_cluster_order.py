"""Folding and publishing as steps of a graph, on Beam's runner in this process."""

import itertools
import json
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from radarstream.connectors.files.jsonl_sink import JsonlSink
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import pending, publish_outbox
from radarstream.pipelines.beam.cluster.job import DefendStream
from radarstream.pipelines.beam.graph import DefendSnapshots
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import OutboxRecord, RawRecord
from tests.builders import GIVE_ALL, OBSERVED_AT, logged, make_snapshot, scripted_settings

TEAMS = ["Rome", "Oslo", "Bern", "Lima", "Kyiv", "Riga"]
MINUTE = timedelta(minutes=1)


def settings_for(directory: Path, records: int = 256) -> Settings:
    given = {"job": {"batch_records": records}, "batch": {"snapshots": 2}, "defense": GIVE_ALL}
    return scripted_settings(directory, **given)


def record(minute: int, offset: int, query_id: str = "cup", partition: int = 0) -> RawRecord:
    """The snapshot of a minute, at an offset of a partition."""
    team = TEAMS[minute % len(TEAMS)]
    won = f"{team} won the Riverside Cup, says page"
    texts = [f"{won} {n} of {n} on site {n}." for n in range(3)]
    texts += ["The Riverside Cup was won by Nobody."]
    time, question = OBSERVED_AT + minute * MINUTE, "Who won the Riverside Cup?"
    snapshot = make_snapshot(texts, question=question, query_id=query_id, observed_at=time)
    return logged(snapshot, offset, partition)


class Directory:
    """Opens a sink of files; picklable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, _: Settings) -> JsonlSink:
        self.path.mkdir(exist_ok=True)
        return JsonlSink(self.path)


class Unreachable:
    """A sink that is down."""

    def __init__(self, _: Settings) -> None:
        pass

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        raise BrokerError("connection refused")


def run(settings: Settings, records: Sequence[RawRecord], open_sink: Any) -> None:
    """Defend the records, which come in one bundle."""
    options = PipelineOptions([])
    with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
        stream = DefendStream(settings, partial(open_sink, settings), live=False)
        pipeline | beam.Create(records) | stream


def published(out: Path, name: str = "answers") -> list[dict[str, Any]]:
    """Events in the order of their publication."""
    return [json.loads(line) for line in (out / f"{name}.jsonl").read_bytes().splitlines()]


def rows(settings: Settings, query_ids: Sequence[str]) -> dict[str, MemoryRow]:
    return load(shared_engine(settings), query_ids)


def test_any_order_of_arrival_gives_what_a_bounded_run_gives(tmp_path: Path) -> None:
    """Every permutation of four snapshots, each as a query of its own, spread over partitions."""
    records = [
        record(minute, offset=10 * number + index, query_id=f"q{number}", partition=number % 3)
        for number, order in enumerate(itertools.permutations(range(4)))
        for index, minute in enumerate(order)
    ]
    broken = logged(b"{", 999, partition=1)
    bounded = settings_for(tmp_path / "bounded")
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([])) as pipeline:
        pipeline | beam.Create([*records, broken]) | DefendSnapshots(bounded, "")
    with Directory(tmp_path / "bounded")(bounded) as sink:
        publish_outbox(shared_engine(bounded), sink)
    settings = settings_for(tmp_path)
    run(settings, [*records, broken], Directory(tmp_path / "out"))
    ids = sorted({f"q{number}" for number in range(24)})
    assert rows(settings, ids) == rows(bounded, ids)
    assert {row.step for row in rows(settings, ids).values()} == {4}
    for name in ("answers", "attribution", "deadletter"):
        ours = {event["id"]: event for event in published(tmp_path / "out", name)}
        assert ours == {event["id"]: event for event in published(tmp_path / "bounded", name)}
    assert len(published(tmp_path / "out", "deadletter")) == 1
    events = [event["data"] for event in published(tmp_path / "out")]
    for query_id in ids:
        steps = [(e["step"], e["answer"]) for e in events if e["query_id"] == query_id]
        assert steps == list(enumerate(TEAMS[:4]))
    assert pending(shared_engine(settings)) == []


def test_what_comes_in_a_later_bundle_is_late_if_its_query_went_on(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    run(settings, [record(0, 0), record(9, 1)], Directory(tmp_path / "out"))
    alone = record(2, 3, "alone")  # as late, but nothing newer of its query is known
    run(settings, [record(4, 2), alone], Directory(tmp_path / "then"))
    assert [e["id"] for e in published(tmp_path / "out")] == ["cup/0", "cup/1"]
    assert [e["id"] for e in published(tmp_path / "then")] == ["alone/0"]
    letters = [e["data"] for e in published(tmp_path / "then", "deadletter")]
    assert [(x["reason"], x["position"]) for x in letters] == [("late", 2)]
    steps = {query: row.step for query, row in rows(settings, ["cup", "alone"]).items()}
    assert steps == {"cup": 2, "alone": 1}


def test_a_bundle_with_more_than_a_batch_is_folded_in_parts(tmp_path: Path) -> None:
    """Each part goes on where the one before left its queries."""
    whole, parts = settings_for(tmp_path / "whole"), settings_for(tmp_path / "parts", records=3)
    records = [record(step, 10 * q + step, f"q{q}") for step in range(4) for q in range(5)]
    for settings in (whole, parts):
        directory = Path(str(settings.database).removeprefix("sqlite:///")).parent
        run(settings, records, Directory(directory / "out"))
    ids = [f"q{q}" for q in range(5)]
    assert rows(parts, ids) == rows(whole, ids)
    assert {row.step for row in rows(parts, ids).values()} == {4}


def test_records_read_again_change_nothing_and_publish_what_was_not_published(tmp_path) -> None:
    """A runner that goes back to an older checkpoint, after the fold and before the publication."""
    settings = settings_for(tmp_path)
    records = [record(minute, offset) for offset, minute in enumerate((0, 2, 1))]
    with pytest.raises(BrokerError):
        run(settings, records, Unreachable)
    before = rows(settings, ["cup"])
    assert before["cup"].step == 3
    assert [entry.record.event_id for entry in pending(shared_engine(settings))]
    run(settings, records, Directory(tmp_path / "out"))
    assert [e["id"] for e in published(tmp_path / "out")] == ["cup/0", "cup/1", "cup/2"]
    run(settings, records, Directory(tmp_path / "again"))
    assert (published(tmp_path / "again"), rows(settings, ["cup"])) == ([], before)
