"""The JSON lines sink: every event once, whole lines only, whatever is killed when."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from radarstream.connectors.files import jsonl_sink
from radarstream.connectors.files.jsonl_sink import JsonlSink
from radarstream.schemas.codec import (
    decode_answer,
    decode_dead_letter,
    decode_rejected,
    outbox_record,
)
from radarstream.schemas.errors import ConfigurationError
from tests.wire_samples import ANSWER, DEAD_LETTER, REJECTED, SNAPSHOT

RECORDS = [outbox_record(value) for value in (ANSWER, REJECTED, DEAD_LETTER)]


def answers(*steps: int):
    return [outbox_record(replace(ANSWER, step=step)) for step in steps]


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


def test_events_go_to_the_file_of_their_topic(tmp_path) -> None:
    with JsonlSink(tmp_path / "new" / "out") as sink:
        sink.publish(RECORDS)
        out = tmp_path / "new" / "out"
        assert decode_answer((out / "answers.jsonl").read_bytes()) == ANSWER
        assert decode_rejected((out / "attribution.jsonl").read_bytes()) == REJECTED
        assert decode_dead_letter((out / "deadletter.jsonl").read_bytes()) == DEAD_LETTER


def test_every_torn_length_of_the_last_line_is_repaired(tmp_path) -> None:
    path = tmp_path / "answers.jsonl"
    with JsonlSink(tmp_path) as sink:
        sink.publish(answers(1, 2))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in (*range(first, first + 40), len(whole) - 1, len(whole)):
        path.write_bytes(whole[:length])
        with JsonlSink(tmp_path) as sink:
            sink.publish(answers(1, 2))
        assert path.read_bytes() == whole


@pytest.mark.parametrize("written", [0, 1, 10_000])
def test_failed_write_leaves_no_part_and_can_be_repeated(tmp_path, monkeypatch, written):
    def full_disk(stream, block) -> None:
        stream.write(block[:written])
        raise OSError(28, os.strerror(28))

    with JsonlSink(tmp_path) as sink:
        sink.publish(answers(1))
        before = (tmp_path / "answers.jsonl").read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(jsonl_sink, "_write_all", full_disk)
            with pytest.raises(OSError, match="No space left"):
                sink.publish(answers(2))
        assert (tmp_path / "answers.jsonl").read_bytes() == before
        sink.publish(answers(2))
    assert ids(tmp_path / "answers.jsonl") == ["cup/1", "cup/2"]


@pytest.mark.parametrize("line", ["shopping list", "[" * 50_000, "9" * 5_000])
def test_foreign_file_is_left_untouched(tmp_path, line: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{line}\nunfinished")
    with pytest.raises(ConfigurationError, match="answers.jsonl line 1 is not an event"):
        JsonlSink(tmp_path)
    assert path.read_text() == f"{line}\nunfinished"


def test_publishing_again_and_to_no_file_writes_nothing(tmp_path) -> None:
    with JsonlSink(tmp_path) as sink, pytest.raises(ConfigurationError, match="search.snapshots"):
        sink.publish([*RECORDS, outbox_record(SNAPSHOT)])
    assert (tmp_path / "answers.jsonl").read_bytes() == b""
    with JsonlSink(tmp_path) as sink:
        sink.publish(answers(1, 2, 2))
        sink.publish(answers(2, 1, 3))
        sink.publish([])
    with JsonlSink(tmp_path) as sink:
        sink.publish(answers(1, 2, 3, 4))
    assert ids(tmp_path / "answers.jsonl") == ["cup/1", "cup/2", "cup/3", "cup/4"]
