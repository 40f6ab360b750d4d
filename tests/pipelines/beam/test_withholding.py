"""Texts in quarantine are withheld before anything is asked, and said to be; cases are kept."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event

from radarstream.connectors.state_table.incidents.kept_answers import kept_answers
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.radar import Radar
from radarstream.defenses.vanilla import Vanilla
from radarstream.pipelines.beam import folding
from radarstream.pipelines.beam.folding import Item, Recorded, fold_queries, witnesses_of
from radarstream.pipelines.round.gathering import Quarantined
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import AttributionSettings, Settings, load_settings
from radarstream.schemas.codec import decode_answer, decode_rejected, encode
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import Reason
from tests.builders import OBSERVED_AT, make_snapshot
from tests.pipelines.job.attributing_rig import claims, hold
from tests.scripted_models import scripted_models


def settings_with(**given: Any) -> Settings:
    attribution = AttributionSettings(**({"enabled": True} | given))
    return load_settings(profile="scripted").model_copy(update={"attribution": attribution})


def snapshot_of(*winners: str, step: int = 0, query_id: str = "cup") -> SearchSnapshot:
    time = OBSERVED_AT + timedelta(days=step)
    return make_snapshot(claims(*winners), query_id=query_id, observed_at=time)


def gathered(
    engine: Engine, settings: Settings, guard: DefensePipeline[Any], *snapshots: SearchSnapshot
) -> dict[str, list[Item]]:
    """What the stages before the fold make of snapshots, in one batch."""
    rules = (Quarantined(engine),) if settings.attribution.enabled else ()
    guard = replace(guard, rules=rules)
    batch: Any = [
        Recorded(RawRecord("test", number, encode(snapshot)), snapshot)
        for number, snapshot in enumerate(snapshots)
    ]
    queries: dict[str, list[Item]] = {}
    for item in folding.gathered(guard, batch):
        assert isinstance(item, Recorded)
        queries.setdefault(item.value.chosen.snapshot.query.id, []).append(item)
    return queries


def folded(
    engine: Engine, settings: Settings, guard: DefensePipeline[Any], queries: dict[str, list[Item]]
) -> list[AnswerEvent]:
    outcomes = list(fold_queries(guard, engine, queries, "log", witnesses_of(settings)))
    assert all(isinstance(outcome, AnswerEvent) for outcome in outcomes)
    return outcomes  # type: ignore[return-value]


def radar() -> DefensePipeline[Any]:
    return DefensePipeline("radar", Radar(), scripted_models(), baseline=Vanilla())


@pytest.mark.parametrize(
    "guard", [radar(), DefensePipeline("vanilla", Vanilla(), scripted_models())]
)
def test_no_defence_sees_what_is_in_quarantine(engine: Engine, guard: DefensePipeline[Any]) -> None:
    snapshot = snapshot_of("Rome", "Oslo", "Rome", "Oslo")
    hold(engine, snapshot.documents[0], snapshot.documents[2])
    settings = settings_with()
    (answer,) = folded(engine, settings, guard, gathered(engine, settings, guard, snapshot))
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
    guard, settings = radar(), settings_with()
    queries = gathered(engine, settings, guard, snapshot)
    assert [d.rank for d, _ in queries["cup"][0].value.chosen.left_out] == [1]


def test_an_honest_text_quoted_under_a_lying_title_is_not_withheld(engine: Engine) -> None:
    snapshot = snapshot_of("Rome", "Oslo", "Oslo")
    hold(engine, replace(snapshot.documents[1], title="It was Rome"))
    guard, settings = radar(), settings_with()
    assert gathered(engine, settings, guard, snapshot)["cup"][0].value.chosen.left_out == ()


def test_without_the_setting_nothing_is_read_or_kept(engine: Engine) -> None:
    snapshot = snapshot_of("Rome", "Oslo", "Oslo")
    hold(engine, snapshot.documents[0])
    guard, settings = radar(), settings_with(enabled=False)
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    queries = gathered(engine, settings, guard, snapshot)
    assert not any("quarantine" in statement for statement in statements)
    folded(engine, settings, guard, queries)
    assert not any("cases" in s or "quarantine" in s or "reports" in s for s in statements)
    assert (queries["cup"][0].value.chosen.left_out, kept_answers(engine, "cup")) == ((), [])
