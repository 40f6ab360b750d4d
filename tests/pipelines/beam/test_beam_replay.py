"""The whole graph on Beam over a hostile file: what is good is answered, the rest is explained."""

import json
import pickle
from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from radarstream.connectors.files.jsonl_sink import JsonlSink
from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.pipelines.beam.graph import DefendSnapshots, run_replay
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.replaying.source import ReplayInput, survey
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ConfigurationError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from tests.builders import GIVE_ALL, OBSERVED_AT, make_snapshot, scripted_settings

QUESTION = "Who won the Riverside Cup?"
TEAMS = ["Rome", "Rome", "Oslo", "Oslo", "Bern"]
LIMITS = {"record_bytes": 4_096, "document_bytes": 1_024, "documents": 5}


def good(step: int, query_id: str = "cup") -> SearchSnapshot:
    team = TEAMS[step]
    texts = [f"{team} won the Riverside Cup, says page {n} of {n} on site {n}." for n in range(3)]
    texts += ["The Riverside Cup was won by Nobody.", "It rained."]
    time = OBSERVED_AT + timedelta(days=step)
    return make_snapshot(texts, question=QUESTION, query_id=query_id, observed_at=time)


def altered(change: Callable[[dict[str, Any]], None]) -> bytes:
    """A good record with one thing wrong."""
    payload = json.loads(encode(good(0, "bad")))
    change(payload)
    return json.dumps(payload, separators=(",", ":")).encode()


BAD = [
    (b'{"schema": "search.snapshot/1", ', ReasonClass.MALFORMED_JSON),
    (altered(lambda p: p.update(schema="search.snapshot/9")), ReasonClass.UNKNOWN_SCHEMA),
    (altered(lambda p: p["documents"][0].update(rank=float("nan"))), ReasonClass.NOT_FINITE),
    (altered(lambda p: p["documents"][0].update(rank=2)), ReasonClass.DUPLICATE_RANK),
    (altered(lambda p: p["documents"][0].update(text="x" * 1_025)), ReasonClass.OVERSIZED_DOCUMENT),
    (altered(lambda p: p.pop("observed_at")), ReasonClass.MISSING_TIME),
    (altered(lambda p: p["documents"].extend(p["documents"])), ReasonClass.TOO_MANY_DOCUMENTS),
    (altered(lambda p: p["query"].update(text="\x1b[2J")), ReasonClass.CONTROL_CHARACTER),
    (b'{"text": "caf\xe9"}', ReasonClass.INVALID_ENCODING),
    (b"[]", ReasonClass.WRONG_TYPE),
]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Good records of three queries, out of order, every bad one between two of them."""
    snapshots = [good(step, query_id) for step in (2, 0, 4, 1, 3) for query_id in ("a", "b", "c")]
    lines: list[bytes] = []
    for number, snapshot in enumerate(snapshots):
        lines.append(encode(snapshot))
        if number < len(BAD):
            lines.append(BAD[number][0])
    file = tmp_path / "history.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    return file


settings_for = partial(scripted_settings, limits=LIMITS, defense=GIVE_ALL)


def replayed(history: Path, out: Path, **flags: Any) -> dict[str, list[dict[str, Any]]]:
    """Run the pipeline over `history`; the published events by file, sorted by id."""
    settings = settings_for(out, **flags)
    source = ReplayInput((history,), settings.limits)
    run_replay(settings, source, survey(source, out / "snapshots.jsonl").digest)
    with JsonlSink(out) as sink:
        publish_outbox(shared_engine(settings), sink)
    names = ("answers", "attribution", "deadletter")
    return {name: events_in(out / f"{name}.jsonl") for name in names}


def events_in(file: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert len({event["id"] for event in events}) == len(events)
    return sorted(events, key=lambda event: event["id"])


def test_good_records_are_answered_and_bad_ones_explained(history: Path, tmp_path: Path) -> None:
    events = replayed(history, tmp_path / "out")
    answers = [(e["id"], e["data"]["answer"]) for e in events["answers"]]
    assert answers == [(f"{q}/{step}", TEAMS[step]) for q in "abc" for step in range(5)]
    letters = [e["data"] for e in events["deadletter"]]
    dead = {b64decode(x["payload_base64"]): (x["reason"], x["disposition"]) for x in letters}
    assert dead == {line: (reason.value, "poison") for line, reason in BAD}
    positions = sorted(letter["position"] for letter in letters)
    assert positions == [2 * n for n in range(1, len(BAD) + 1)]
    # All is read of the first answer and where it turns, at two steps: two pages are rejected.
    assert len(events["attribution"]) == 3 * 2 * len("abc")
    assert len((tmp_path / "out" / "snapshots.jsonl").read_bytes().splitlines()) == len(answers)


def test_the_pipeline_pickles(history: Path, tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    source = ReplayInput((history,), settings.limits)
    copy = pickle.loads(pickle.dumps(source))
    assert [r.payload for r in copy()] == [r.payload for r in source()]
    transform = pickle.loads(pickle.dumps(DefendSnapshots(settings, "epoch")))
    pipeline = beam.Pipeline(runner="apache_beam.runners.portability.fn_api_runner.FnApiRunner")
    pipeline | beam.Create([RawRecord("x", 1, b"{}")]) | transform
    assert len(pipeline.to_runner_api().components.transforms) > 5


def test_errors_keep_their_type_through_beam(history, tmp_path) -> None:
    replayed(history, tmp_path / "out", defense={"name": "vanilla"})
    source = ReplayInput((history,), Limits(**LIMITS))
    with pytest.raises(ConfigurationError, match="vanilla"):
        run_replay(settings_for(tmp_path / "out"), source, "another")


def test_a_survey_that_fails_leaves_what_an_earlier_one_kept(history: Path, tmp_path: Path) -> None:
    kept, limits = tmp_path / "snapshots.jsonl", Limits(**LIMITS)
    survey(ReplayInput((history,), limits), kept)
    before = kept.read_bytes()
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    for path in (tmp_path / "missing.jsonl", empty):
        with pytest.raises(ConfigurationError):
            survey(ReplayInput((path,), limits), kept)
    assert kept.read_bytes() == before
