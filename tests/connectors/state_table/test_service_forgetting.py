"""Forgetting users, and what the service keeps of a query; its tables in an export."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from radarstream.connectors.models.response_cache import Cached, ResponseCache, kept_for
from radarstream.connectors.models.scripted import ScriptedEmbedder
from radarstream.connectors.state_table.database.tables import METADATA
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.forgetting import forget, forget_user
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, insert
from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.connectors.state_table.serving.action_log import log_action, read_actions
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.connectors.state_table.serving.users import (
    add_user,
    open_session,
    revoke_user,
    rotate_token,
    user_of_token,
)
from radarstream.schemas.errors import StateConflictError
from radarstream.schemas.users import Role
from tests.wire_samples import ANSWER

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = 1_767_225_600_000
QUESTION = ANSWER.question


def fill(engine: Engine) -> str:
    """A user "adalovelace" with all traces that a user leaves; returns the token."""
    token = add_user(engine, "adalovelace", [Role.ASK, Role.REPORT], NOW)
    open_session(engine, "adalovelace", now_ms=NOW, hours=1)
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    accounts.note_question("adalovelace", QUESTION.upper(), AT)
    accounts.note_question("adalovelace", "Something else?", AT)
    accounts.move_trust("adalovelace", 0.05, AT)
    assert accounts.spend("adalovelace", "docs", 3.0, 10.0)
    log_action(engine, at_ms=NOW, user="adalovelace", action="approve", target=ANSWER.query_id)
    log_action(engine, at_ms=NOW, user="bob", action="revoke", target="adalovelace")
    for user in ("adalovelace", "bob"):
        with kept_for(user):
            Cached(ScriptedEmbedder(), ResponseCache(engine)).embed(["the words of a document"])
    told = StoredComplaint("c1", "i1", "q", 0, "Rome", "adalovelace", NOW, NOW, comment="I am Ada")
    with engine.begin() as connection:
        insert(connection, told)
        keep_event(connection, ANSWER, steps=3)
    return token


def everything(engine: Engine) -> str:
    with engine.connect() as connection:
        tables = METADATA.sorted_tables
        return repr([connection.execute(select(table)).all() for table in tables])


def test_nothing_names_a_user_who_was_forgotten(engine: Engine) -> None:
    token = fill(engine)
    assert [*forget_user(engine, "AdaLovelace").values()] == [1, 1, 1, 2, 1, 1, 1, 2]
    assert user_of_token(engine, token) is None
    left = everything(engine)
    for trace in ("adalovelace", "I am Ada", "Something else"):
        assert trace not in left
    by, about = (action for action in reversed(read_actions(engine)))
    assert by.user == about.target  # one pseudonym
    assert {*forget_user(engine, "adalovelace").values()} == {0}
    assert StoredAccounts(engine, 0.1).account("adalovelace").trust == 0.5


def test_a_forgotten_query_leaves_users_questions_without_it(engine: Engine) -> None:
    fill(engine)
    forgotten = forget(engine, ANSWER.query_id, QUESTION)
    assert (forgotten["answer_events"], forgotten["user_questions"]) == (1, 1)
    assert forgotten["logged_actions"] == 1
    left = everything(engine).lower()
    assert QUESTION.lower() not in left
    assert f"'{ANSWER.query_id}'" not in left
    assert "something else?" in left


def test_the_action_log_says_nothing_of_a_forgotten_query(engine: Engine) -> None:
    """What the console writes down of a complaint, a decision and a release."""
    told = StoredComplaint("c1", "i1", "cup", 0, "Rome", "bob", NOW, NOW, comment="")
    with engine.begin() as connection:
        insert(connection, told)
    written = {
        "report": ("i1", "cup, step 0"),
        "approve": ("i1", "cup: 'Rome' is wrong"),
        "release": ("cup d-0123", "1 text of cup let back in"),
        "block": ("rome.example", "rome.example: blocked; cupboards"),
    }
    for action, (target, detail) in written.items():
        log_action(engine, at_ms=NOW, user="bob", action=action, target=target, detail=detail)
    assert forget(engine, "cup", None)["logged_actions"] == 3
    left = {action.action: (action.target, action.detail) for action in read_actions(engine)}
    assert left == dict.fromkeys(("report", "approve"), ("i1", "")) | {
        "release": ("", ""),
        "block": written["block"],
    }


def test_users_and_log_move_to_another_database(
    engine: Engine, other_engine: Engine, tmp_path: Path
) -> None:
    token = fill(engine)
    file = tmp_path / "state.jsonl"
    file.write_text("".join(export_lines(engine)))
    counts = import_file(other_engine, file)
    service = {"users": 1, "user_trust": 1, "epsilon_spending": 1, "action_log": 2}
    assert counts == {**service, "complaints": 1}
    assert import_file(other_engine, file) == counts  # the same rows once more
    assert user_of_token(other_engine, token) is not None
    accounts = StoredAccounts(other_engine, 0.1)
    assert accounts.spent("adalovelace", "docs") == 3.0
    later = AT + timedelta(minutes=1)
    assert accounts.move_trust("adalovelace", 0.1, later) == pytest.approx(0.6)  # gains came along
    log_action(other_engine, at_ms=NOW, user="eve", action="block", target="s")
    assert [action.user for action in read_actions(other_engine)][0] == "eve"
    with pytest.raises(StateConflictError):
        import_file(other_engine, file)  # the trust has moved since


def test_an_older_file_neither_lets_a_user_back_in_nor_refunds_epsilon(
    engine: Engine, tmp_path: Path
) -> None:
    fill(engine)
    file = tmp_path / "state.jsonl"
    file.write_text("".join(export_lines(engine)))
    accounts = StoredAccounts(engine, 0.1)
    assert accounts.spend("adalovelace", "docs", 1.0, 10.0)
    with pytest.raises(StateConflictError, match="epsilon_spending"):
        import_file(engine, file)
    assert accounts.spent("adalovelace", "docs") == 4.0
    rotate_token(engine, "adalovelace", NOW + 1)
    revoke_user(engine, "adalovelace", NOW + 2)
    with pytest.raises(StateConflictError, match="users"):
        import_file(engine, file)


def test_a_logged_action_is_not_overwritten(engine: Engine, tmp_path: Path) -> None:
    log_action(engine, at_ms=NOW, user="ada", action="approve", target="i1")
    lines = list(export_lines(engine))
    file = tmp_path / "state.jsonl"
    file.write_text("".join(lines).replace('"ada"', '"eve"'))
    with pytest.raises(StateConflictError, match="action_log"):
        import_file(engine, file)
    assert [action.user for action in read_actions(engine)] == ["ada"]
