"""Cases, reports, origins and quarantine on SQLite and PostgreSQL."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event, func, select

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import OUTBOX, REPORTS
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.incidents import origins, report_standing, reports
from radarstream.connectors.state_table.incidents.cases import (
    Case,
    cases_of,
    keep_case,
    prune_cases,
)
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine, withheld_keys
from radarstream.connectors.state_table.incidents.report_listing import reported_answers
from radarstream.connectors.state_table.incidents.report_queue import next_open
from radarstream.connectors.state_table.queries.forgetting import REPORTED, forget
from radarstream.connectors.state_table.queries.lookup import ANSWERED, queries_named
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    clear_run,
    commit_fold,
    load,
)
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.job.incidents.settling import LANE, Policy, give_word, settle
from radarstream.schemas.errors import InputError, StateConflictError
from radarstream.schemas.reports import PIPELINE, Decision, ReportState, Word
from tests.builders import make_snapshot
from tests.pipelines.job.attributing_rig import NOW, keep, report, run_out, trusted, worker_on

LIED = ("Rome",) * 3 + ("Oslo",) * 4
RULES = Rules()
NOW_MS = int(NOW.timestamp() * 1000)
ROW = MemoryRow("cup", "radar", 1, 1_000, "log", 0, 0, b'{"v":1}')


def test_from_two_reports_to_a_quarantine(engine: Engine) -> None:
    trusted(engine, "ada", "bob")
    keep(engine, LIED, answer="Rome")
    for reporter in ("ada", "bob", "eve"):
        report(engine, reporter)
    worker = worker_on(engine)
    decisions = [event.decision for event in run_out(worker)]
    assert decisions[-1] is Decision.QUARANTINED
    assert len(withheld_keys(engine, ["cup"])["cup"]) == 3
    by_state, by_decision = reports.counts(engine)
    assert by_state == {"judged": 2 * RULES.trusted_after + 3}
    assert by_decision[Decision.QUARANTINED] == 1
    worker.prune()
    found = reports.find_reports(engine, limit=1)
    assert reports.find_reports(engine, found[0]["report_id"][:6]) == found


def test_what_is_written_beside_a_fold_is_written_with_it(engine: Engine) -> None:
    snapshot = make_snapshot(["Rome"], question="Who  WON?")
    case = Case("cup", 0, "Ro\0me\ud800", None, snapshot)

    def write(connection: Any) -> None:
        keep_case(connection, case, steps=1)

    commit_fold(engine, None, ROW, beside=[write])
    (kept,) = cases_of(engine, "cup")
    assert kept == Case("cup", 0, "Rome\ufffd", None, snapshot)
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
    assert cases_of(engine, "cup") == []


def test_cases_are_pruned_by_event_time(engine: Engine) -> None:
    keep(engine, LIED, answer="Rome", query_id="old", step=-60 * 24 * 40)
    keep(engine, LIED, answer="Rome", query_id="reported", step=-60 * 24 * 40)
    keep(engine, LIED, answer="Rome", query_id="new")
    report(engine, "eve", query_id="reported")
    assert prune_cases(engine, days=30) == 1
    assert [len(cases_of(engine, q)) for q in ("old", "reported", "new")] == [0, 1, 1]


def test_two_workers_settle_at_once(engine: Engine) -> None:
    """Both write; one event comes of it."""
    keep(engine, LIED, answer="Rome")
    stored = report(engine, "eve")
    workers = [worker_on(engine), worker_on(engine)]
    barrier, errors = Barrier(2), []

    def work(worker: Any) -> None:
        barrier.wait()
        try:
            worker.attribute(stored, insist=False)
        except Exception as error:  # noqa: BLE001 shown below
            errors.append(error)

    threads = [Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(pending(engine, lanes={LANE})) == 1
    assert origins.list_origins(engine)[0].revision == 0


def filled(engine: Engine) -> None:
    for query in ("cup", "other"):
        keep(engine, LIED, answer="Rome", query_id=query)
        stored = report(engine, "eve", query_id=query)
        run_out(worker_on(engine))
        give_word(engine, stored, Word.APPROVED, Policy(), now_ms=NOW_MS)


def test_a_forgotten_query_loses_all_of_it(engine: Engine) -> None:
    filled(engine)
    assert forget(engine, "cup", None).reports == 1 + 1 + 1 + 3
    with engine.connect() as connection:
        for table in REPORTED:
            left = set(connection.execute(select(table.c.query_id)).scalars())
            assert left == {"other"}, table.name
        unsent = connection.execute(select(OUTBOX.c.key, func.count()).group_by(OUTBOX.c.key))
        assert [tuple(row) for row in unsent] == [("other", 2)]
    assert "cup" not in withheld_keys(engine, ["cup"])
    assert forget(engine, "cup", None).reports == 0


def test_an_answer_is_listed_once_however_many_report_it(engine: Engine) -> None:
    for query in ("cup", "other"):
        keep(engine, LIED, answer="Rome", query_id=query)
    first = report(engine, "eve", now=NOW - timedelta(minutes=9))
    for number in range(5):
        report(engine, f"name {number}", now=NOW - timedelta(minutes=5 - number))
    report(engine, "bob", query_id="other", now=NOW - timedelta(minutes=3))
    cup, other = reported_answers(engine)
    assert (cup["query_id"], cup["reports"], cup["report_id"]) == ("cup", 6, first.report_id)
    assert cup["received_ms"] == NOW_MS - 60_000
    assert (other["query_id"], other["reports"]) == ("other", 1)
    assert reported_answers(engine, limit=1) == [cup]
    with engine.begin() as connection:
        reports.close(connection, cup["misgeneration"], ReportState.JUDGED)
    assert reported_answers(engine, state=ReportState.OPEN) == [other]
    late = report(engine, "late")  # waits, whatever became of those before it
    waiting, _ = reported_answers(engine, state=ReportState.OPEN)
    assert (waiting["report_id"], waiting["reports"]) == (late.report_id, 7)


def test_many_names_cost_no_more_statements_than_few(engine: Engine) -> None:
    keep(engine, LIED, answer="Rome")
    trusted(engine, "ada")
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    counted, found = [], {}
    for names in (["ada"], [f"name {n}" for n in range(20)]):
        for name in names:
            report(engine, name)
        statements.clear()
        with engine.begin() as connection:
            found = report_standing.reporters_of(connection, "cup", "Rome")
        counted.append(len(statements))
    assert counted[0] == counted[1]
    assert len(found) == 21
    assert found["ada"] == report_standing.Standing(confirmed=3)
    assert found["name 7"] == report_standing.Standing()


def test_joining_after_a_word_counts_nothing(engine: Engine) -> None:
    """Not for trust, also when the word is given again."""
    keep(engine, LIED, answer="Rome")
    keep(engine, LIED, answer="Rome", query_id="other")
    first = report(engine, "ada")
    give_word(engine, first, Word.APPROVED, Policy(), now_ms=NOW_MS)
    report(engine, "eve", now=NOW + timedelta(minutes=1))
    run_out(worker_on(engine))
    later_ms = NOW_MS + 120_000
    give_word(engine, first, Word.APPROVED, Policy(), now_ms=later_ms, everywhere=True)
    with engine.connect() as connection:
        assert report_standing.standing(connection, "eve") == report_standing.Standing()
        assert report_standing.standing(connection, "ada") == report_standing.Standing(confirmed=1)


def test_a_confirmed_suspicion_gives_the_pipeline_no_place_before_strangers(engine: Engine) -> None:
    own = []
    for query in ("cup", "other"):
        keep(engine, LIED, answer="Rome", query_id=query)
        told = replace(report(engine, "eve", query_id=query), reporter=PIPELINE)
        own.append(replace(told, report_id=f"own-{query}"))
    with engine.begin() as connection:
        connection.execute(delete(REPORTS))
        for suspicion in own:
            reports.insert(connection, suspicion)
    give_word(engine, own[0], Word.APPROVED, Policy(), now_ms=NOW_MS)
    with engine.begin() as connection:
        reports.close(connection, own[0].misgeneration, ReportState.JUDGED)
    assert next_open(engine, day_ago_ms=0) == own[1]
    assert worker_on(engine).budget.trusted() == frozenset()


def test_an_older_export_takes_no_word_back(engine: Engine, tmp_path: Path) -> None:
    keep(engine, LIED, answer="Rome")
    stored = report(engine, "eve")
    file = tmp_path / "state.jsonl"
    worker = worker_on(engine)
    with engine.begin() as connection:
        origins.hold(connection, stored.misgeneration, "cup", 0)
    file.write_text("".join(export_lines(engine)), encoding="utf-8")
    give_word(engine, stored, Word.DISMISSED, Policy(), now_ms=NOW_MS)
    with pytest.raises(StateConflictError):
        import_file(engine, file)
    assert run_out(worker) == []
    import_file(engine, file, replace=True)
    assert len(run_out(worker)) == 1


def test_export_and_import(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    file = tmp_path / "state.jsonl"
    file.write_text("".join(export_lines(engine)), encoding="utf-8")
    other = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    written = import_file(other, file)
    assert {name: written[name] for name in ("reports", "origins", "quarantine")} == {
        "reports": 2,
        "origins": 2,
        "quarantine": 6,
    }
    assert list_quarantine(other) == list_quarantine(engine)
    assert reports.find_reports(other) == reports.find_reports(engine)
    assert origins.list_origins(other) == origins.list_origins(engine)
    row = reports.find_reports(other)[0]
    with other.begin() as connection:
        reports.reopen(connection, row["misgeneration"])
        (stored,) = reports.waiting(connection, row["misgeneration"])
    event = settle(other, stored, Policy(), now_ms=NOW_MS)
    assert event is not None
    assert event.decision is Decision.APPROVED
    other.dispose()
    for wrong in (('"state":"judged"', '"state":"whim"'), ('"word":"approved"', '"word":"whim"')):
        file.write_text("".join(export_lines(engine)).replace(*wrong), encoding="utf-8")
        with pytest.raises(InputError):
            import_file(engine, file)


def test_that_the_model_erred_is_exported_and_told_from_a_dismissal(
    engine: Engine, tmp_path: Path
) -> None:
    for query, word in (("cup", Word.MODEL_ERRED), ("other", Word.DISMISSED)):
        keep(engine, LIED, answer="Rome", query_id=query)
        stored = report(engine, "eve", query_id=query)
        run_out(worker_on(engine))
        give_word(engine, stored, word, Policy(), now_ms=NOW_MS)
    with engine.connect() as connection:
        known = report_standing.standing(connection, "eve")
    assert known == report_standing.Standing(confirmed=1, dismissed=1)
    lines = list(export_lines(engine))
    file = tmp_path / "state.jsonl"
    file.write_text("".join(lines), encoding="utf-8")
    with open_engine(f"sqlite:///{tmp_path / 'other.db'}").connect() as other:
        import_file(other.engine, file)
        assert report_standing.standing(other, "eve") == known
    whole = "".join(lines)
    file.write_text(whole.replace(',"model_erred":false,"reserved":false', ""), encoding="utf-8")
    import_file(engine, file)  # of a release before there was such a word
    file.write_text(whole.replace('"word":"dismissed"', '"word":"approved"'), encoding="utf-8")
    with pytest.raises(InputError, match="model_erred without"):
        import_file(engine, file)


def test_a_report_that_comes_in_while_another_is_settled_stays_open(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL another connection may commit between two statements of ours."""
    if engine.dialect.name == "sqlite":
        pytest.skip("a writer keeps all others out")
    keep(engine, LIED, answer="Rome")
    report(engine, "eve")
    seen = report_standing.reporters_of

    def and_then_another(*given: Any) -> Any:
        found = seen(*given)
        monkeypatch.setattr(report_standing, "reporters_of", seen)
        report(engine, "bob")
        return found

    monkeypatch.setattr(report_standing, "reporters_of", and_then_another)
    worker = worker_on(engine)
    assert worker.step()
    states = {row["reporter"]: row["state"] for row in reports.find_reports(engine)}
    assert states == {"eve": "judged", "bob": "open"}
    assert [event.reporters for event in run_out(worker)] == [1, 2]
