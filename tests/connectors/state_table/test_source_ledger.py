"""The ledger's tables: counted once, capped, taken back, overridden; on SQLite and PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.database.tables import SOURCE_EVENTS, SOURCE_LEDGER
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.queries.forgetting import forget
from radarstream.connectors.state_table.sources.ledger import (
    KEPT_DAYS,
    agree,
    judge,
    prune_events,
    record,
    retract,
    standings,
)
from radarstream.connectors.state_table.sources.listing import (
    count_sources,
    history,
    summaries,
    summary_of,
)
from radarstream.schemas.errors import InputError, StateConflictError
from radarstream.schemas.sources import (
    CLAIM_CHARACTERS,
    DAY_MS,
    Counts,
    EventKind,
    LedgerRules,
    SourceEvent,
    SourceVerdict,
    Standing,
)

NOON = 20_000 * DAY_MS + DAY_MS // 2
RULES = LedgerRules(half_life_days=10.0)
LIE = SourceEvent(
    "report-1/q/3", "lies.example", EventKind.CONFIRMED, NOON, "q", 3, "sha-1", "Bob leads"
)


def write(engine: Engine, *events: SourceEvent, rules: LedgerRules = RULES) -> int:
    with engine.begin() as connection:
        return record(connection, events, rules)


def read(engine: Engine, domain: str = "lies.example") -> Standing:
    with engine.connect() as connection:
        return standings(connection, [domain])[domain]


def weights(engine: Engine) -> list[tuple[str, float]]:
    with engine.connect() as connection:
        table = SOURCE_EVENTS.c
        rows = connection.execute(
            select(table.kind, table.weight).order_by(table.at_ms, table.domain)
        )
        return [(kind, weight) for kind, weight in rows]


def test_an_event_counts_once_however_often_it_is_recorded(engine: Engine):
    assert write(engine, LIE, replace(LIE, text_id="sha-2")) == 1
    assert write(engine, LIE) == 0
    assert read(engine).counts == Counts(0.0, 1.0, NOON)
    assert len(weights(engine)) == 1


def test_an_event_counts_for_each_of_its_domains(engine: Engine):
    assert write(engine, LIE, replace(LIE, domain="other.example")) == 2
    assert read(engine, "other.example").counts.dishonest == 1.0


def test_documents_without_an_address_are_nobodys(engine: Engine):
    assert write(engine, replace(LIE, domain="")) == 0
    with engine.connect() as connection:
        assert count_sources(connection) == 0
        assert standings(connection, ["", "lies.example"]) == {}


@pytest.mark.parametrize("kind", [EventKind.AGREEMENT, EventKind.RETRACTED])
def test_only_lies_are_recorded(engine: Engine, kind: EventKind):
    with pytest.raises(ValueError, match="not evidence against"):
        write(engine, replace(LIE, kind=kind))


def test_evidence_fades_with_event_time_not_with_the_clock(engine: Engine):
    write(engine, LIE)
    assert read(engine).counts.at(NOON + 10 * DAY_MS, 10.0).dishonest == pytest.approx(0.5)
    later = replace(LIE, event="later", at_ms=NOON + 20 * DAY_MS)
    write(engine, later)
    assert read(engine).counts == Counts(0.0, pytest.approx(1.25), NOON + 20 * DAY_MS)


def test_no_day_adds_more_than_its_cap(engine: Engine):
    many = [replace(LIE, event=f"flood {n}") for n in range(50)]
    assert write(engine, *many) == 50
    assert read(engine).counts.dishonest == pytest.approx(2.0)
    assert sum(weight for _, weight in weights(engine)) == pytest.approx(2.0)
    write(engine, replace(LIE, event="tomorrow", at_ms=NOON + DAY_MS))
    assert read(engine).counts.dishonest == pytest.approx(2.0 * 2**-0.1 + 1.0)


def test_a_confirmation_adds_what_a_detection_lacked(engine: Engine):
    detected = replace(LIE, kind=EventKind.DETECTED)
    write(engine, detected)
    assert read(engine).counts.dishonest == 0.25
    assert write(engine, LIE) == 1
    assert write(engine, LIE, detected) == 0
    assert read(engine).counts.dishonest == 1.0
    assert weights(engine) == [("confirmed", 1.0)]


def test_a_retraction_takes_back_exactly_what_counted(engine: Engine):
    other = replace(LIE, event="another", at_ms=NOON + 10 * DAY_MS)
    write(engine, LIE, other, replace(LIE, domain="z.example"))
    with engine.begin() as connection:
        assert retract(connection, [LIE.event, "never heard of"], RULES) == 2
        assert retract(connection, [LIE.event], RULES) == 0
    assert read(engine).counts.dishonest == pytest.approx(1.0)
    assert read(engine, "z.example").counts.dishonest == pytest.approx(0.0)
    assert write(engine, replace(LIE, kind=EventKind.DETECTED)) == 0  # a job that starts over
    assert read(engine).counts.dishonest == pytest.approx(1.0)
    assert write(engine, LIE) == 1  # somebody thought better of it
    assert read(engine).counts.dishonest == pytest.approx(1.5)


def test_a_retraction_takes_back_no_more_than_a_weight_or_what_a_cap_left_of_it(engine: Engine):
    detected = replace(LIE, event="detected", kind=EventKind.DETECTED)
    write(engine, LIE, detected)
    third = replace(LIE, event="third", at_ms=NOON + 1)
    write(engine, third)  # of which the day's cap leaves 0.75
    for event, left in [("detected", 1.75), ("third", 1.0), (LIE.event, 0.0)]:
        with engine.begin() as connection:
            retract(connection, [event], RULES)
        assert read(engine).counts.dishonest == pytest.approx(left)


def test_agreement_counts_once_a_call_and_domain_up_to_the_cap_of_a_day(engine: Engine):
    for _ in range(3):
        with engine.begin() as connection:
            agree(connection, ["a.example", "", "a.example", "b.example"], NOON, RULES)
    assert read(engine, "a.example").counts.honest == pytest.approx(0.15)
    for _ in range(10):
        with engine.begin() as connection:
            agree(connection, ["a.example"], NOON, RULES)
    assert read(engine, "a.example").counts.honest == pytest.approx(0.2)
    assert read(engine, "b.example").counts.honest == pytest.approx(0.15)
    assert weights(engine) == [("agreement", pytest.approx(w)) for w in (0.2, 0.15)]


def test_agreement_leaves_a_bounded_trail(engine: Engine):
    for day in range(3 * KEPT_DAYS):
        with engine.begin() as connection:
            agree(connection, ["a.example"], NOON + day * DAY_MS, RULES)
    assert len(weights(engine)) == KEPT_DAYS + 1
    steady = sum(0.05 * 2 ** (-day / 10) for day in range(3 * KEPT_DAYS))
    assert read(engine, "a.example").counts.honest == pytest.approx(steady)


def test_agreement_and_lies_of_one_source_wait_for_each_other(engine: Engine):
    """Two kinds of writers on the same domains: neither loses what the other counted."""
    domains = ["a.example", "b.example", "c.example"]

    def work(number: int) -> None:
        def once() -> None:
            with engine.begin() as connection:
                if number % 2:
                    agree(connection, domains[:: 1 if number % 4 == 1 else -1], NOON, RULES)
                else:
                    record(connection, [replace(LIE, event=f"{number}", domain=d) for d in domains])

        retry_contended(once)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    for domain in domains:
        counts = read(engine, domain).counts
        assert (counts.honest, counts.dishonest) == (pytest.approx(0.1), pytest.approx(2.0))


def test_a_persons_word_overrides_and_stays(engine: Engine):
    write(engine, LIE)
    with engine.begin() as connection:
        judge(connection, "lies.example", SourceVerdict.PARDONED, "misquoted")
        judge(connection, "new.example", SourceVerdict.BLOCKED, None)
    write(engine, replace(LIE, event="again"))
    standing = read(engine)
    assert (standing.verdict, standing.note) == (SourceVerdict.PARDONED, "misquoted")
    assert standing.honesty(NOON, 10.0) == 0.8
    assert standing.counts.dishonest == 2.0  # still counted, for when the pardon ends
    assert read(engine, "new.example").blocked
    with engine.begin() as connection:
        judge(connection, "lies.example", None, None)
    assert read(engine).honesty(NOON, 10.0) == pytest.approx(4 / 7)


def test_nothing_is_left_of_a_transaction_that_failed(engine: Engine):
    with pytest.raises(RuntimeError), engine.begin() as connection:
        record(connection, [LIE], RULES)
        raise RuntimeError
    with engine.connect() as connection:
        assert count_sources(connection) == 0


def test_two_writers_count_every_event_once(engine: Engine):
    """Each is held by half the writers, and the domains come in opposite orders."""
    domains = ["a.example", "b.example", "c.example"]

    def work(number: int) -> int:
        events = [
            replace(LIE, event=str(number // 2), domain=d, at_ms=number // 2 * DAY_MS)
            for d in (domains if number % 2 else reversed(domains))
        ]
        return retry_contended(lambda: write(engine, *events))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(16))) == 8 * 3
    total = sum(2 ** (-day / 10) for day in range(8))
    for domain in domains:
        assert read(engine, domain).counts.dishonest == pytest.approx(total)


def test_who_looks_sees_since_when_and_about_what(engine: Engine):
    write(engine, LIE, replace(LIE, event="2", at_ms=NOON + DAY_MS, claim="Ann won", step=4))
    write(engine, replace(LIE, domain="minor.example", kind=EventKind.DETECTED))
    with engine.begin() as connection:
        agree(connection, ["good.example"], NOON, RULES)
        judge(connection, "good.example", SourceVerdict.BLOCKED, None)
    with engine.connect() as connection:
        listed = summaries(connection, 10)
        assert [s.standing.domain for s in listed] == [
            "good.example",
            "lies.example",
            "minor.example",
        ]
        assert (listed[0].events, listed[0].first_ms, listed[0].claims) == (0, None, ())
        lies = summary_of(connection, "lies.example")
        assert lies == listed[1]
        assert (lies.events, lies.first_ms, lies.last_ms) == (2, NOON, NOON + DAY_MS)
        assert lies.claims == ("Ann won", "Bob leads")
        assert summary_of(connection, "unheard.example") is None
        newest, oldest = history(connection, "lies.example", 10)
        assert (newest.claim, newest.step, oldest.text_id) == ("Ann won", 4, "sha-1")


def test_what_is_kept_of_a_text_is_bounded(engine: Engine):
    write(engine, replace(LIE, claim="x\0" * 10_000, text_id="y" * 10_000))
    with engine.connect() as connection:
        (kept,) = history(connection, "lies.example", 10)
    assert kept.claim == "x" * CLAIM_CHARACTERS
    assert len(kept.text_id or "") < 1_000


def test_a_forgotten_query_leaves_the_count_and_no_word(engine: Engine):
    secret = replace(LIE, event="q-secret/1", query_id="q-secret", claim="her address")
    write(engine, secret, replace(LIE, event="2"))
    assert forget(engine, "q-secret", None).source_events == 1
    assert forget(engine, "q-secret", None).source_events == 0
    with engine.connect() as connection:
        rows = repr([tuple(row) for row in connection.execute(select(SOURCE_EVENTS))])
    assert "secret" not in rows
    assert "address" not in rows
    assert read(engine).counts.dishonest == 2.0
    assert write(engine, secret) == 0  # still known by its digest


def test_an_export_holds_the_ledger_and_never_undoes_a_later_word(engine: Engine, tmp_path: Path):
    write(engine, LIE)
    file = tmp_path / "state.jsonl"
    file.write_text("".join(export_lines(engine)))
    assert import_file(engine, file) == {"source_ledger": 1, "source_events": 1}
    with engine.begin() as connection:
        judge(connection, "lies.example", SourceVerdict.PARDONED, None)
        retract(connection, [LIE.event], RULES)
    with pytest.raises(StateConflictError, match="lies.example"):
        import_file(engine, file)
    assert read(engine).verdict is SourceVerdict.PARDONED
    import_file(engine, file, replace=True)
    assert read(engine) == Standing("lies.example", Counts(0.0, 1.0, NOON))


@pytest.mark.parametrize(
    "row",
    [
        '{"table":"source_events","row":{"domain":"a","event":"e","kind":"praised","weight":1,'
        '"at_ms":1,"query_id":null,"step":null,"text_id":null,"claim":null}}',
        '{"table":"source_events","row":{"domain":"a","event":"e","kind":"confirmed","weight":-1,'
        '"at_ms":1,"query_id":null,"step":null,"text_id":null,"claim":null}}',
        '{"table":"source_ledger","row":{"domain":"a","honest":-1,"dishonest":2.5,"updated_ms":7,'
        '"verdict":null,"note":null,"revision":1}}',
    ],
)
def test_a_row_that_means_nothing_is_refused(engine: Engine, tmp_path: Path, row: str):
    file = tmp_path / "bad.jsonl"
    file.write_text(f'{{"format":"radarstream.state","version":1}}\n{row}\n{{"rows":1}}\n')
    with pytest.raises(InputError, match="bad.jsonl:2"):
        import_file(engine, file)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    days=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    kinds=st.lists(st.sampled_from(["confirmed", "detected"]), min_size=8, max_size=8),
    data=st.data(),
)
def test_any_order_with_repetitions_and_batches_gives_the_same_counts(
    engine: Engine, days: list[int], kinds: list[str], data: st.DataObject
):
    events = [
        replace(LIE, event=f"{n}", kind=EventKind(kind), at_ms=day * DAY_MS)
        for n, (day, kind) in enumerate(zip(days, kinds, strict=False))
    ]
    shuffled = data.draw(st.permutations(events + events[:3]))
    found = []
    for arrival in ([events], [[event] for event in shuffled]):
        with engine.begin() as connection:
            connection.execute(SOURCE_LEDGER.delete())
            connection.execute(SOURCE_EVENTS.delete())
            for batch in arrival:
                record(connection, batch, RULES)
            found.append(standings(connection, ["lies.example"])["lies.example"].counts)
    assert found[1].dishonest == pytest.approx(found[0].dishonest, rel=1e-12)
    assert found[1].as_of_ms == found[0].as_of_ms


def test_old_events_are_pruned_and_counts_and_words_stay(engine: Engine):
    late = NOON + 400 * DAY_MS
    new = replace(LIE, event="report-2", at_ms=late, step=9)
    write(engine, LIE, replace(LIE, event="on-record", query_id="kept"), new)
    with engine.begin() as connection:
        store.hold(connection, "on-record", "kept", 3)
        judge(connection, "lies.example", SourceVerdict.BLOCKED, "they lie")
        judge(connection, "long.example", SourceVerdict.PARDONED, None)
        agree(connection, ["gone.example"], NOON)
    before = read(engine)
    assert prune_events(engine, days=401, now_ms=late) == 0
    assert prune_events(engine, days=365, now_ms=late) == 2
    with engine.connect() as connection:
        left = history(connection, "lies.example", 9)
        assert [(event.query_id, event.step) for event in left] == [("q", 9), ("kept", 3)]
        assert history(connection, "gone.example", 9) == []
    assert read(engine) == before
    assert before.blocked
    assert read(engine, "long.example").verdict is SourceVerdict.PARDONED
    assert prune_events(engine, days=365, now_ms=late) == 0


def test_a_time_in_the_future_prunes_nothing_early(engine: Engine):
    write(engine, LIE, replace(LIE, event="report-2", at_ms=NOON + 9_000 * DAY_MS))
    assert prune_events(engine, days=365, now_ms=NOON + 30 * DAY_MS) == 0
    assert prune_events(engine, days=365, now_ms=NOON + 366 * DAY_MS) == 1
