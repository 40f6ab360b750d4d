"""Kept answers, complaints, incidents and quarantine on SQLite and PostgreSQL."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select

from radarstream.connectors.state_table.database.tables import OUTBOX
from radarstream.connectors.state_table.database.transfer import import_file
from radarstream.connectors.state_table.forgetting import ABOUT_INCIDENTS, forget
from radarstream.connectors.state_table.incidents import complaints, senders, store
from radarstream.connectors.state_table.incidents.kept_answers import (
    KeptAnswer,
    keep_answer,
    kept_answers,
    prune_answers,
)
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine, withheld_keys
from radarstream.connectors.state_table.incidents.store import list_incidents
from radarstream.connectors.state_table.queries.lookup import ANSWERED, queries_named
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    clear_run,
    commit_fold,
    load,
)
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.job.incidents.settling import LANE, decide, settle
from radarstream.schemas.errors import StateConflictError
from radarstream.schemas.incidents import ComplaintState, Decision, SenderRecord, Status
from tests.builders import make_snapshot
from tests.clocks import at_once
from tests.pipelines.job.attributing_rig import (
    NOW,
    complaint,
    events_of,
    keep,
    run_out,
    trusted,
    worker_on,
)

LIED = ("Rome",) * 3 + ("Oslo",) * 4
NOW_MS = int(NOW.timestamp() * 1000)
ROW = MemoryRow("cup", "radar", 1, 1_000, "log", 0, 0, b'{"v":1}')


def test_what_is_written_beside_a_fold_is_written_with_it(engine: Engine) -> None:
    snapshot = make_snapshot(["Rome"], question="Who  WON?")
    case = KeptAnswer("cup", 0, "Ro\0me\ud800", None, snapshot)

    def write(connection: Any) -> None:
        keep_answer(connection, case, steps=1)

    commit_fold(engine, None, ROW, beside=[write])
    (kept,) = kept_answers(engine, "cup")
    assert kept == KeptAnswer("cup", 0, "Rome\ufffd", None, snapshot)
    assert queries_named(engine, "who won?", ANSWERED) == ["cup"]
    with pytest.raises(StateConflictError):
        commit_fold(engine, None, ROW, beside=[lambda _: pytest.fail("must not be reached")])

    def fail(_: Any) -> None:
        raise InterruptedError

    second = MemoryRow("cup", "radar", 2, 2_000, "log", 0, 1, b'{"v":1}')
    with pytest.raises(InterruptedError):
        commit_fold(engine, load(engine, ["cup"])["cup"], second, beside=[fail])
    assert load(engine, ["cup"])["cup"].step == 1
    clear_run(engine)
    assert kept_answers(engine, "cup") == []


def test_kept_answers_are_pruned_by_event_time(engine: Engine) -> None:
    keep(engine, LIED, answer="Rome", query_id="old", step=-60 * 24 * 40)
    keep(engine, LIED, answer="Rome", query_id="reported", step=-60 * 24 * 40)
    keep(engine, LIED, answer="Rome", query_id="new")
    complaint(engine, "eve", query_id="reported")
    assert prune_answers(engine, days=30) == 1
    assert [len(kept_answers(engine, q)) for q in ("old", "reported", "new")] == [0, 1, 1]


def test_two_workers_settle_at_once(engine: Engine) -> None:
    """Both write; one event comes of it."""
    keep(engine, LIED, answer="Rome")
    stored = complaint(engine, "eve")
    workers = [worker_on(engine), worker_on(engine)]
    at_once(lambda number: workers[number].attribute(stored, insist=False), 2)
    assert len(pending(engine, lanes={LANE})) == 1
    assert events_of(engine)[0].revision == 0


def filled(engine: Engine) -> None:
    for query in ("cup", "other"):
        keep(engine, LIED, answer="Rome", query_id=query)
        stored = complaint(engine, "eve", query_id=query)
        run_out(worker_on(engine))
        decide(engine, stored, Decision.APPROVED, Rules(), now_ms=NOW_MS)


def test_a_forgotten_query_loses_all_of_it(engine: Engine) -> None:
    filled(engine)
    assert forget(engine, "cup", None)["incidents"] == 1 + 1 + 1 + 3
    with engine.connect() as connection:
        for table in ABOUT_INCIDENTS:
            left = set(connection.execute(select(table.c.query_id)).scalars())
            assert left == {"other"}, table.name
        unsent = connection.execute(select(OUTBOX.c.key, func.count()).group_by(OUTBOX.c.key))
        assert [tuple(row) for row in unsent] == [("other", 2)]
    assert "cup" not in withheld_keys(engine, ["cup"])
    assert forget(engine, "cup", None)["incidents"] == 0


def test_an_answer_is_listed_once_however_many_complain(engine: Engine) -> None:
    for query in ("cup", "other"):
        keep(engine, LIED, answer="Rome", query_id=query)
    first = complaint(engine, "eve", now=NOW - timedelta(minutes=9))
    for number in range(5):
        complaint(engine, f"name {number}", now=NOW - timedelta(minutes=5 - number))
    complaint(engine, "bob", query_id="other", now=NOW - timedelta(minutes=3))
    cup, other = list_incidents(engine)
    assert (cup["query_id"], cup["complaints"], cup["complaint_id"]) == (
        "cup",
        6,
        first.complaint_id,
    )
    assert cup["received_ms"] == NOW_MS - 60_000
    assert (other["query_id"], other["complaints"]) == ("other", 1)
    assert list_incidents(engine, limit=1) == [cup]
    with engine.begin() as connection:
        complaints.close(connection, cup["incident"], ComplaintState.JUDGED)
    assert list_incidents(engine, state=ComplaintState.OPEN) == [other]
    late = complaint(engine, "late")  # waits, whatever became of those before it
    waiting, _ = list_incidents(engine, state=ComplaintState.OPEN)
    assert (waiting["complaint_id"], waiting["complaints"]) == (late.complaint_id, 7)


def test_many_names_cost_no_more_statements_than_few(engine: Engine) -> None:
    keep(engine, LIED, answer="Rome")
    trusted(engine, "ada")
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    counted, found = [], {}
    for names in (["ada"], [f"name {n}" for n in range(20)]):
        for name in names:
            complaint(engine, name)
        statements.clear()
        with engine.begin() as connection:
            found = senders.senders_of(connection, "cup", "Rome")
        counted.append(len(statements))
    assert counted[0] == counted[1]
    assert len(found) == 21
    assert found["ada"] == SenderRecord(confirmed=3)
    assert found["name 7"] == SenderRecord()


def test_an_older_export_takes_no_decision_back(engine: Engine, export) -> None:
    keep(engine, LIED, answer="Rome")
    stored = complaint(engine, "eve")
    worker = worker_on(engine)
    with engine.begin() as connection:
        store.hold(connection, stored.incident, "cup", 0)
    file = export(engine)
    decide(engine, stored, Decision.DISMISSED, Rules(), now_ms=NOW_MS)
    with pytest.raises(StateConflictError):
        import_file(engine, file)
    assert run_out(worker) == []
    import_file(engine, file, replace=True)
    assert len(run_out(worker)) == 1


def test_export_and_import(engine: Engine, other_engine: Engine, export) -> None:
    filled(engine)
    keep(engine, LIED, answer="Rome", query_id="errs")
    erred = complaint(engine, "ada", query_id="errs")
    decide(engine, erred, Decision.MODEL_ERRED, Rules(), now_ms=NOW_MS)
    file = export(engine)
    written = import_file(other_engine, file)
    assert (written["complaints"], written["incidents"], written["quarantine"]) == (3, 3, 6)
    assert list_quarantine(other_engine) == list_quarantine(engine)
    assert complaints.find_complaints(other_engine) == complaints.find_complaints(engine)
    assert events_of(other_engine) == events_of(engine)
    row = complaints.find_complaints(other_engine)[-1]
    with other_engine.begin() as connection:
        assert senders.record_of(connection, "ada") == SenderRecord(confirmed=1)
        complaints.reopen(connection, row["incident"])
        (stored,) = complaints.waiting(connection, row["incident"])
    assert settle(other_engine, stored, Rules(), now_ms=NOW_MS).status is Status.APPROVED


def test_a_complaint_that_comes_in_while_another_is_settled_stays_open(engine, monkeypatch):
    """On PostgreSQL another connection may commit between two statements of ours."""
    if engine.dialect.name == "sqlite":
        pytest.skip("a writer keeps all others out")
    keep(engine, LIED, answer="Rome")
    complaint(engine, "eve")
    seen = senders.senders_of

    def and_then_another(*given: Any) -> Any:
        found = seen(*given)
        monkeypatch.setattr(senders, "senders_of", seen)
        complaint(engine, "bob")
        return found

    monkeypatch.setattr(senders, "senders_of", and_then_another)
    worker = worker_on(engine)
    assert worker.step()
    states = {row["sender"]: row["state"] for row in complaints.find_complaints(engine)}
    assert states == {"eve": "judged", "bob": "open"}
    assert [event.senders for event in run_out(worker)] == [1, 2]
