"""Texts in quarantine are withheld before anything is asked; cases and an archive are kept."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from radarstream.connectors.state_table.corpus.listing import newest, statistics
from radarstream.connectors.state_table.incidents.kept_answers import kept_answers
from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.radar import Radar
from radarstream.defenses.vanilla import Vanilla
from radarstream.pipelines.beam import folding
from radarstream.pipelines.beam.folding import Item, Recorded, fold_queries, witnesses_of
from radarstream.pipelines.beam.graph import run_replay
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.round.gathering import Quarantined
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import decode_answer, decode_rejected, encode
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import Reason
from tests.builders import OBSERVED_AT, make_snapshot, scripted_settings
from tests.pipelines.job.attributing_rig import claims, hold
from tests.scripted_models import scripted_models

SETTINGS = load_settings(profile="scripted", attribution={"enabled": True})


def snapshot_of(*winners: str, step: int = 0, query_id: str = "cup") -> SearchSnapshot:
    time = OBSERVED_AT + timedelta(days=step)
    return make_snapshot(claims(*winners), query_id=query_id, observed_at=time)


def gathered(
    engine: Engine, guard: DefensePipeline[Any], *snapshots: SearchSnapshot
) -> dict[str, list[Item]]:
    """What the stages before the fold make of snapshots, in one batch."""
    guard = replace(guard, rules=(Quarantined(engine),))
    batch: Any = [
        Recorded(RawRecord("test", number, encode(snapshot)), snapshot)
        for number, snapshot in enumerate(snapshots)
    ]
    queries: dict[str, list[Item]] = {}
    for item in folding.gathered(guard, batch):
        assert isinstance(item, Recorded)
        queries.setdefault(item.value.chosen.snapshot.query.id, []).append(item)
    return queries


def radar() -> DefensePipeline[Any]:
    return DefensePipeline("radar", Radar(), scripted_models(), baseline=Vanilla())


@pytest.mark.parametrize(
    "guard", [radar(), DefensePipeline("vanilla", Vanilla(), scripted_models())]
)
def test_no_defence_sees_what_is_in_quarantine(engine: Engine, guard: DefensePipeline[Any]) -> None:
    snapshot = snapshot_of("Rome", "Oslo", "Rome", "Oslo")
    hold(engine, snapshot.documents[0], snapshot.documents[2])
    queries = gathered(engine, guard, snapshot)
    (answer,) = fold_queries(guard, engine, queries, "log", witnesses_of(SETTINGS))
    assert isinstance(answer, AnswerEvent)
    assert (answer.answer, [d.rank for d in answer.verdict.documents]) == ("Oslo", [1, 2, 3, 4])
    assert [d.rank for d in answer.verdict.documents if d.reason is Reason.QUARANTINED] == [1, 3]
    assert [source.rank for source in answer.sources] == [1, 2, 3, 4]
    assert [d.atomic_answer for d in answer.verdict.documents[::2]] == [None, None]
    asked = [p for batch in guard.models.generator.log for q in batch for p in q.passages]
    assert not any("Rome" in passage for passage in asked)
    records = [record for _, record in pending(engine)]
    assert decode_answer(records[0].data) == answer
    told = [decode_rejected(record.data) for record in records[1:]]
    assert [e.rank for e in told if e.reason == "quarantined"] == [1, 3]
    assert told[0].url == snapshot.documents[0].url
    (case,) = kept_answers(engine, "cup")
    assert [d.rank for d in case.snapshot.documents] == [2, 4]


def test_the_same_words_elsewhere_are_withheld_too(engine: Engine) -> None:
    first, *others = snapshot_of("Rome", "Oslo", "Oslo").documents
    hold(engine, replace(first, url="https://elsewhere.example", rank=9))
    loud = replace(first, text=f"  {first.text.upper()}\n")
    snapshot = replace(snapshot_of(), documents=(loud, *others))
    queries = gathered(engine, radar(), snapshot)
    assert [d.rank for d, _ in queries["cup"][0].value.chosen.left_out] == [1]


def test_an_honest_text_quoted_under_a_lying_title_is_not_withheld(engine: Engine) -> None:
    snapshot = snapshot_of("Rome", "Oslo", "Oslo")
    hold(engine, replace(snapshot.documents[1], title="It was Rome"))
    assert gathered(engine, radar(), snapshot)["cup"][0].value.chosen.left_out == ()


def records() -> Iterator[RawRecord]:
    """Three snapshots with a page of their own each, and what is none."""
    for step in range(3):
        snapshot = snapshot_of("Rome", "Oslo", f"Bern {step}", step=step)
        yield RawRecord("file", step + 1, encode(snapshot))
    yield RawRecord("file", 9, b"not a snapshot")


def replayed(settings: Settings) -> tuple[Engine, list[str]]:
    engine, statements = shared_engine(settings), list[str]()
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    run_replay(settings, records, "log")
    return engine, statements


def test_without_the_settings_nothing_is_read_or_kept(tmp_path: Path) -> None:
    settings = scripted_settings(tmp_path)
    hold(shared_engine(settings), snapshot_of("Rome").documents[0])
    engine, statements = replayed(settings)
    assert load(engine, ["cup"])["cup"].step == 3
    tables = ("quarantine", "kept_answers", "complaints", "corpus")
    assert not [one for one in statements if any(table in one for table in tables)]


def test_the_archive_keeps_what_was_answered_and_embeds_nothing(tmp_path: Path) -> None:
    settings = scripted_settings(tmp_path, corpus={"archive": True})
    engine, statements = replayed(settings)
    texts = newest(engine, 99)
    said = {*claims("Rome", "Oslo"), *(f"Page 3. The winner: Bern {step}." for step in range(3))}
    assert len(texts) == 5 and {text.document.text for text in texts} == said
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
