"""The archive of answered snapshots: off it costs nothing, on it is written with the answer."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from radarstream.connectors.state_table.corpus.listing import newest, statistics
from radarstream.connectors.state_table.queries.memory import load
from radarstream.pipelines.beam import folding
from radarstream.pipelines.beam.graph import run_replay
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import encode
from radarstream.schemas.records import RawRecord
from tests.builders import OBSERVED_AT, make_snapshot, scripted_settings

PAGES = ["Rome won the Riverside Cup.", "Oslo won the Riverside Cup."]


def records() -> Iterator[RawRecord]:
    for step in range(3):
        time = OBSERVED_AT + timedelta(days=step)
        pages, question = [*PAGES, f"It rained on day {step}."], "Who won the Riverside Cup?"
        snapshot = make_snapshot(pages, question=question, query_id="cup", observed_at=time)
        yield RawRecord("file", step + 1, encode(snapshot))
    yield RawRecord("file", 9, b"not a snapshot")


def replayed(settings: Settings) -> tuple[Engine, list[str]]:
    engine, statements = shared_engine(settings), list[str]()
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    run_replay(settings, records, "log")
    return engine, statements


def test_without_the_archive_no_statement_names_the_corpus(tmp_path: Path) -> None:
    engine, statements = replayed(scripted_settings(tmp_path))
    assert load(engine, ["cup"])["cup"].step == 3
    assert not [statement for statement in statements if "corpus" in statement]


def test_the_archive_keeps_what_was_answered_and_embeds_nothing(tmp_path: Path) -> None:
    settings = scripted_settings(tmp_path, corpus={"archive": True})
    engine, statements = replayed(settings)
    texts = newest(engine, 99)
    rained = {f"It rained on day {step}." for step in range(3)}
    assert len(texts) == 5 and {text.document.text for text in texts} == {*PAGES, *rained}
    assert ({text.queries for text in texts}, statistics(engine).embedded) == ({("cup",)}, 0)
    assert not [s for s in statements if "INSERT INTO corpus_vectors" in s]
    run_replay(settings, records, "log")
    assert newest(engine, 99) == texts


def test_a_fold_that_fails_archives_nothing(tmp_path, monkeypatch) -> None:
    settings = scripted_settings(tmp_path, corpus={"archive": True})
    commit = folding.commit_fold

    def failing(engine: Engine, previous: object, new: object, out: object, beside: list) -> None:
        def fail(_: object) -> None:
            raise ConnectionError("lost")

        commit(engine, previous, new, out, [*beside, fail])

    with monkeypatch.context() as patched:
        patched.setattr(folding, "commit_fold", failing)
        with pytest.raises((ConnectionError, RuntimeError)):
            run_replay(settings, records, "log")
    assert statistics(shared_engine(settings)).texts == 0
    run_replay(settings, records, "log")
    assert statistics(shared_engine(settings)).texts == 5
