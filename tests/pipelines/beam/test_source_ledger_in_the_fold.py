"""The job and the ledger of sources: who is asked, who is left out, who is credited, and when."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import SOURCE_EVENTS
from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.connectors.state_table.sources.ledger import agree, judge, record, standings
from radarstream.connectors.state_table.sources.reader import SourceReader
from radarstream.defenses.radar import Radar
from radarstream.pipelines.beam import folding
from radarstream.pipelines.beam.elements import Parked, Recorded
from radarstream.pipelines.beam.folding import Item, fold_queries
from radarstream.pipelines.beam.witnesses import witnesses_of
from radarstream.pipelines.build import build_defense_pipeline
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.withholding import Blocked
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.source_credit import borne_out
from radarstream.schemas.codec import decode_answer, encode
from radarstream.schemas.errors import ConfigurationError, ReasonClass
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import RawRecord
from radarstream.schemas.sites import Granularity
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.sources import NEUTRAL, EventKind, SourceEvent, SourceVerdict
from radarstream.schemas.verdict import Abstention, MemoryDecision, MemoryVerdict, Reason
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

LOG = "digest-of-the-input"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.dispose()


def snapshot_at(step: int, claims: Sequence[str], query_id: str = "cup") -> SearchSnapshot:
    """Page n is of s<n>.example."""
    snapshot = make_snapshot(
        [f"The winner: {claim}." for claim in claims],
        query_id=query_id,
        observed_at=OBSERVED_AT + timedelta(days=step),
    )
    pages = tuple(
        replace(d, url=f"https://www.s{d.rank}.example/{step}") for d in snapshot.documents
    )
    return replace(snapshot, documents=pages)


def guard_with(engine: Engine, source_prior: float = 1.0) -> DefensePipeline:
    sources = SourceReader(engine)
    return DefensePipeline(
        "radar", Radar(source_prior=source_prior), scripted_models(), sources=sources
    )


def ready(snapshot: SearchSnapshot, position: int = 1) -> Item:
    (found,) = DefensePipeline("radar", Radar(), scripted_models()).gather([snapshot])
    return Recorded(RawRecord("h.jsonl", position, encode(snapshot)), found)


def lie_of(domain: str, name: str = "case", step: int = 0) -> SourceEvent:
    at_ms = snapshot_at(step, ["x"]).observed_at_ms
    return SourceEvent(name, domain, EventKind.CONFIRMED, at_ms, "cup", step)


def fold(engine: Engine, readies: Sequence[Item], guard: DefensePipeline | None = None, **settings):
    witnesses = witnesses_of(load_settings(profile="scripted", sources=settings))
    queries: dict[str, list[Item]] = {}
    for item in readies:
        queries.setdefault(item.value.chosen.snapshot.query.id, []).append(item)
    outcomes = fold_queries(guard or guard_with(engine), engine, queries, LOG, witnesses)
    return [outcome for outcome in outcomes if isinstance(outcome, AnswerEvent)]


class Statements:
    """The SQL that an engine ran."""

    def __init__(self, engine: Engine) -> None:
        self.texts: list[str] = []
        event.listen(engine, "before_cursor_execute", lambda *a: self.texts.append(a[2]))

    def about_sources(self) -> list[str]:
        return [text for text in self.texts if "source_" in text]


class TestAsked:
    def test_a_source_that_lied_no_longer_wins_by_rank(self, engine: Engine):
        dispute = ["Rome", "Oslo"]
        (before,) = fold(engine, [ready(snapshot_at(0, dispute, "q-1"))])
        assert before.answer == "Rome"
        with engine.begin() as connection:
            record(connection, [lie_of("s1.example")])
        (after,) = fold(engine, [ready(snapshot_at(0, dispute, "q-2"))])
        assert after.answer == "Oslo"
        told = after.verdict.documents[0].reject_evidence
        assert told == pytest.approx(before.verdict.documents[0].reject_evidence + 0.5)

    def test_a_wave_of_queries_is_one_query(self, engine: Engine):
        readies = [ready(snapshot_at(0, ["Rome", "Oslo"], f"q-{n}")) for n in range(5)]
        guard, statements = guard_with(engine), Statements(engine)
        fold(engine, readies, guard)
        assert len(statements.about_sources()) == 1

    def test_off_nothing_is_read_or_written_and_answers_are_the_same_bytes(
        self, engine: Engine, tmp_path: Path
    ):
        """The ledger holds much against everyone; with the prior at 0 nobody looks."""
        readies = [ready(snapshot_at(n, ["Rome", "Oslo", "Rome"]), n + 1) for n in range(3)]
        bare = open_engine(f"sqlite:///{tmp_path / 'bare.db'}")
        fold(bare, readies, DefensePipeline("radar", Radar(), scripted_models()))
        with engine.begin() as connection:
            record(connection, [lie_of(f"s{n}.example", str(m)) for n in range(9) for m in "ab"])
        guard, statements = guard_with(engine, 0.0), Statements(engine)
        fold(engine, readies, guard)
        assert statements.about_sources() == []
        assert pending(engine, 100) == pending(bare, 100)
        assert load(engine, ["cup"]) == load(bare, ["cup"])
        bare.dispose()

    def test_a_pardoned_source_counts_as_unknown(self, engine: Engine):
        with engine.begin() as connection:
            record(connection, [lie_of("s1.example", n) for n in "abc"])
            judge(connection, "s1.example", SourceVerdict.PARDONED, None)
        (answer,) = fold(engine, [ready(snapshot_at(0, ["Rome", "Oslo"]))])
        assert answer.answer == "Rome"

    def test_what_holds_fades_by_the_time_of_the_snapshot(self, engine: Engine):
        with engine.begin() as connection:
            record(connection, [lie_of("s1.example")])
        known = [
            SourceReader(engine, half_life_days=30.0).honesty([snapshot_at(step, ["Rome"])])[0][0]
            for step in (0, 30, 3_000)
        ]
        assert known == pytest.approx([4 / 6, 4 / 5.5, 0.8])

    def test_a_snapshot_without_documents_asks_about_nobody(self, engine: Engine):
        (answer,) = fold(engine, [ready(snapshot_at(0, []))])
        assert answer.abstention is Abstention.NO_DOCUMENTS

    def test_a_prior_without_a_ledger_is_refused_at_once(self):
        with pytest.raises(ConfigurationError, match="needs a ledger of sources"):
            DefensePipeline("radar", Radar(source_prior=0.5), scripted_models())

    def test_the_settings_wire_it(self, engine: Engine):
        settings = load_settings(
            profile="scripted",
            defense={"name": "radar", "options": {"source_prior": 0.5}},
            sources={"granularity": "section", "half_life_days": 7},
        )
        guard = build_defense_pipeline(settings, engine)
        assert guard.defense.source_prior == 0.5
        assert guard.sources == SourceReader(engine, "section", 7.0)

    def test_an_answer_is_one_even_if_the_ledger_changed_before_the_retry(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        """Killed before the commit, judged again with other knowledge: one answer, one step."""
        readies = [ready(snapshot_at(0, ["Rome", "Oslo"]))]

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as killed:
            killed.setattr(folding, "commit_fold", crash)
            with pytest.raises(KeyboardInterrupt):
                fold(engine, readies)
        with engine.begin() as connection:
            record(connection, [lie_of("s1.example")])
        fold(engine, readies)
        fold(engine, readies)  # redelivered
        answers = [e.record for e in pending(engine, 100) if e.record.topic == "answers.defended"]
        assert [decode_answer(r.data).answer for r in answers] == ["Oslo"]
        assert load(engine, ["cup"])["cup"].step == 1


class TestPersonsWords:
    """The nearest name that a person spoke about decides."""

    ADDRESSES = (
        "https://ann.github.io/1",
        "https://www.bob.github.io/1",
        "https://a.old.net.de/1",
        "https://lies.example/1",
        "",
    )

    def snapshot(self) -> SearchSnapshot:
        texts = [f"text {place}" for place in range(len(self.ADDRESSES))]
        snapshot = snapshot_at(0, texts, "q")
        documents = zip(snapshot.documents, self.ADDRESSES, strict=True)
        return replace(snapshot, documents=tuple(replace(d, url=url) for d, url in documents))

    def blocked(self, engine: Engine, granularity: Granularity = "site") -> list[int]:
        (documents,) = SourceReader(engine, granularity).blocked([self.snapshot()])
        return [document.rank for document in documents]

    def test_a_block_of_a_platform_holds_for_its_sites_but_those_pardoned(self, engine: Engine):
        with engine.begin() as connection:
            judge(connection, "github.io", SourceVerdict.BLOCKED, None)
        assert self.blocked(engine) == [1, 2]
        assert self.blocked(engine, "host") == []
        with engine.begin() as connection:
            judge(connection, "bob.github.io", SourceVerdict.PARDONED, None)
        assert self.blocked(engine) == [1]

    def test_a_block_under_a_key_of_an_earlier_release_still_holds(self, engine: Engine):
        """Without the Public Suffix List this was the key of all pages of `*.old.net.de`."""
        with engine.begin() as connection:
            judge(connection, "old.net.de", SourceVerdict.BLOCKED, None)
        assert self.blocked(engine) == [3]

    def test_a_pardon_of_a_platform_holds_for_its_sites_but_no_count_does(self, engine: Engine):
        with engine.begin() as connection:
            record(connection, [lie_of("ann.github.io"), lie_of("github.io")])
        ((ann, bob, *others),) = SourceReader(engine).honesty([self.snapshot()])
        assert ann < NEUTRAL
        assert [bob, *others] == [NEUTRAL] * 4
        with engine.begin() as connection:
            judge(connection, "github.io", SourceVerdict.PARDONED, None)
        assert SourceReader(engine).honesty([self.snapshot()])[0].tolist() == [NEUTRAL] * 5


class TestBlocked:
    def test_documents_of_blocked_sources_are_left_out_and_named(self, engine: Engine):
        with engine.begin() as connection:
            judge(connection, "s2.example", SourceVerdict.BLOCKED, None)
        first, second = (snapshot_at(0, ["Rome", "Oslo", "Bern"], q) for q in ("q-1", "q-2"))
        untouched = replace(second, documents=second.documents[:1])
        statements = Statements(engine)
        pipeline = replace(guard_with(engine), rules=(Blocked(SourceReader(engine)),))
        seen, whole = pipeline.withhold([first, untouched])
        assert len(statements.about_sources()) == 1
        assert (whole.snapshot, whole.left_out) == (untouched, ())
        assert [d.rank for d in seen.snapshot.documents] == [1, 3]
        assert [(d.rank, reason) for d, reason in seen.left_out] == [(2, Reason.BLOCKED)]
        (found,) = pipeline.gather([first])
        (answer,) = fold(engine, [Recorded(RawRecord("h", 1, b""), found)])
        judged = answer.verdict.documents[1]
        assert (judged.rank, judged.kept, judged.reason) == (2, False, Reason.BLOCKED)
        assert [source.rank for source in answer.sources] == [1, 2, 3]
        assert "q-1/0/2" in [e.record.event_id for e in pending(engine, 100)]


class TestCredit:
    CONFIRMED = ("Rome", "Rome", "Oslo")

    def story(self, steps: int = 3, claims: Sequence[str] = CONFIRMED) -> list[Item]:
        return [ready(snapshot_at(step, claims), step + 1) for step in range(steps)]

    def honest(self, engine: Engine) -> dict[str, float]:
        names = [f"s{n}.example" for n in range(1, 5)]
        with engine.connect() as connection:
            found = standings(connection, names)
        return {name: round(s.counts.honest, 6) for name, s in found.items()}

    def test_off_nobody_is_credited_and_nothing_written(self, engine: Engine):
        guard, statements = guard_with(engine, 0.0), Statements(engine)
        fold(engine, self.story(), guard)
        assert self.honest(engine) == {}
        assert len(statements.about_sources()) == 1  # this test's own

    def test_sources_of_a_borne_out_answer_are_credited(self, engine: Engine):
        """The first answer confirms nothing; the two after it confirm the one before."""
        fold(engine, self.story(), learn=True, agreement=0.1, half_life_days=1.0)
        assert self.honest(engine) == {"s1.example": 0.15, "s2.example": 0.15}

    def test_folding_again_credits_nobody_twice(self, engine: Engine):
        fold(engine, self.story(2), learn=True)
        once = self.honest(engine)
        fold(engine, self.story(2), learn=True)
        assert self.honest(engine) == once
        fold(engine, self.story(3), learn=True)
        assert self.honest(engine)["s1.example"] > once["s1.example"]

    def test_a_crash_in_the_transaction_leaves_neither_answer_nor_credit(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        story = self.story(2)
        fold(engine, story[:1], learn=True)

        def full(*arguments: Any, **options: Any) -> None:
            agree(*arguments, **options)
            raise OSError("disk full")

        with monkeypatch.context() as failing:
            failing.setattr("radarstream.pipelines.signals.source_credit.agree", full)
            with pytest.raises(OSError, match="disk full"):
                fold(engine, story, learn=True)
        assert load(engine, ["cup"])["cup"].step == 1
        assert self.honest(engine) == {}
        fold(engine, story, learn=True)
        assert load(engine, ["cup"])["cup"].step == 2
        assert set(self.honest(engine)) == {"s1.example", "s2.example"}

    def test_a_source_alone_does_not_bear_itself_out(self, engine: Engine):
        fold(engine, self.story(claims=["Rome"]), learn=True)
        assert self.honest(engine) == {}

    @pytest.mark.parametrize(
        "change",
        [
            lambda e: replace(e, changed=True),
            lambda e: replace(e, changed=None),
            lambda e: replace(
                e, verdict=replace(e.verdict, memory=MemoryVerdict(MemoryDecision.FALSIFIED, "x"))
            ),
            lambda e: replace(e, verdict=replace(e.verdict, memory=MemoryVerdict())),
        ],
    )
    def test_what_was_not_borne_out_credits_nobody(
        self, engine: Engine, change: Callable[[AnswerEvent], AnswerEvent]
    ):
        _, answer = fold(engine, self.story(2))
        snapshot = snapshot_at(1, self.CONFIRMED)
        assert borne_out(answer, snapshot, "site") == ("s1.example", "s2.example")
        assert borne_out(change(answer), snapshot, "site") == ()

    def test_two_pages_of_one_site_are_one_source(self, engine: Engine):
        _, answer = fold(engine, self.story(2))
        snapshot = snapshot_at(1, self.CONFIRMED)
        pages = tuple(replace(d, url=f"https://x{d.rank}.s.example") for d in snapshot.documents)
        one_site = replace(snapshot, documents=pages)
        assert borne_out(answer, one_site, "site") == ()
        assert borne_out(answer, one_site, "host") == ("x1.s.example", "x2.s.example")

    def test_agreement_leaves_no_word_of_the_query(self, engine: Engine):
        fold(engine, self.story(2), learn=True)
        with engine.connect() as connection:
            rows = repr([tuple(row) for row in connection.execute(select(SOURCE_EVENTS))])
        assert "cup" not in rows
        assert "Rome" not in rows


def test_the_graph_leaves_blocked_sources_out_before_any_model(tmp_path: Path):
    """Through Beam's first stage, with the real settings: no prompt holds the blocked page."""
    from radarstream.pipelines import build
    from radarstream.pipelines.beam.model_stages import each_alive

    database = f"sqlite:///{tmp_path / 'state.db'}"
    settings = load_settings(profile="scripted", database=database)
    engine = build.shared_engine(settings)
    with engine.begin() as connection:
        judge(connection, "s1.example", SourceVerdict.BLOCKED, None)
    generator = ScriptedGenerator()
    guard = build_defense_pipeline(settings, engine)
    guard = replace(guard, models=replace(scripted_models(), generator=generator), baseline=None)
    item = Recorded(RawRecord("h", 1, b""), snapshot_at(0, ["Rome", "Oslo"]))
    letter = Parked(RawRecord("h.jsonl", 1, b""), ReasonClass.LATE)  # type: ignore[arg-type]
    parked, answered = each_alive(DefensePipeline.answer_each, guard, [letter, item])
    assert parked is letter
    assert [d.rank for d, _ in answered.value.chosen.left_out] == [1]
    prompts = [prompt for batch in generator.log for prompt in batch]
    assert len(prompts) == 1
    assert "Rome" not in repr(prompts)
    build._engine.cache_clear()
