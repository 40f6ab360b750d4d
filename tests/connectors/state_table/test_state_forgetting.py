"""Forgetting a query: what goes, what other questions keep, and what is left in the files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select, text

from radarstream.connectors.models.response_cache import Cached, ResponseCache, kept_for
from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import METADATA
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.forgetting import compact, forget, forget_user
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, insert
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import append, pending
from radarstream.connectors.state_table.queries.subject import SUBJECT_CHARACTERS, question_subject
from radarstream.connectors.state_table.queries.watchlist import find, replace_all
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
from radarstream.pipelines.signals.prompts import MAX_QUESTION_CHARACTERS, build_prompt, plain
from radarstream.schemas.errors import StateConflictError
from radarstream.schemas.prompt import AnswerPair, Task
from radarstream.schemas.users import Role
from tests.brokers import event
from tests.wire_samples import ANSWER

MINE, OTHER = "Who is the  Mayor of Canaryville?", "Who leads France?"


class Models:
    """Scripted models behind the response cache, as the job has them."""

    def __init__(self, engine: Engine) -> None:
        cache = ResponseCache(engine)
        self.generator = Cached(ScriptedGenerator(), cache)
        self.relations = Cached(ScriptedRelations(), cache)
        self.embedder = Cached(ScriptedEmbedder(), cache)

    def ask(self, question: str) -> tuple[int, int, int]:
        """Ask each model about the question; return how many calls reached it."""
        self.generator.complete([build_prompt(Task.ATOMIC_ANSWER, question, ["Ada said so."])])
        self.relations.probabilities([AnswerPair(question, "Ada", "Bob")])
        self.embedder.embed([question])
        return self.generator.calls, self.relations.calls, self.embedder.calls


def make_row(query_id: str) -> MemoryRow:
    return MemoryRow(query_id, "radar", 1, 1_700_000_000_000, "log", 0, 0, b'{"v":1}')


def fill(engine: Engine) -> None:
    for query_id in ("q-mine", "q-other"):
        answer = event(query_id, b"{}", "answers.defended", f"{query_id}/1")
        reason = event(query_id, b"{}", "events.attribution", f"{query_id}/1/2")
        commit_fold(engine, None, make_row(query_id), [answer, reason])
    append(engine, [event("q-mine", b"{}", "snapshots.deadletter", "dead")])
    replace_all(engine, [("q-mine", "{}"), ("q-other", "{}")], 0)
    for question in (MINE, OTHER):
        Models(engine).ask(question)


def deleted(engine: Engine, question: str | None) -> list[int | None]:
    counts = forget(engine, "q-mine", question)
    names = ("memory", "unsent_events", "watchlist", "cached_answers", "cached_embeddings")
    return [counts[name] for name in names]


def test_a_forgotten_query_is_gone_and_the_others_stay(engine: Engine) -> None:
    fill(engine)
    assert deleted(engine, MINE.upper()) == [1, 2, 1, 2, 2]
    assert list(load(engine, ["q-mine", "q-other"])) == ["q-other"]
    left = [record.event_id for _, record in pending(engine)]
    assert left == ["q-other/1", "q-other/1/2", "dead"]
    assert find(engine, "q-mine") is None
    assert find(engine, "q-other") is not None
    assert Models(engine).ask(OTHER) == (0, 0, 1)  # embeddings are computed again
    assert Models(engine).ask(MINE) == (1, 1, 1)
    forget(engine, "q-mine", MINE)
    assert deleted(engine, MINE) == [0, 0, 0, 0, 0]


def test_without_the_question_the_cache_stays(engine: Engine) -> None:
    fill(engine)
    assert deleted(engine, None) == [1, 2, 1, None, None]
    assert Models(engine).ask(MINE) == (0, 0, 0)


def test_damaged_rows_of_others_are_no_obstacle(engine: Engine) -> None:
    fill(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET data = 'x'"))
    assert forget(engine, "q-mine", MINE)["memory"] == 1
    assert len(pending(engine)) == 3


def test_all_or_nothing(engine: Engine) -> None:
    fill(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE response_cache RENAME TO elsewhere"))
    with pytest.raises(Exception, match="response_cache"):
        forget(engine, "q-mine", MINE)
    assert "q-mine" in load(engine, ["q-mine"])
    assert len(pending(engine)) == 5


@given(st.text(max_size=2_000))
def test_a_prompt_and_its_question_have_one_subject(question: str) -> None:
    shown = plain(question, MAX_QUESTION_CHARACTERS)
    assert question_subject(shown) == question_subject(question)
    assert SUBJECT_CHARACTERS <= MAX_QUESTION_CHARACTERS


def test_a_long_prompt_and_its_question_have_one_subject() -> None:
    question = "Ǆ\u200b é " * 400
    assert question_subject(plain(question, MAX_QUESTION_CHARACTERS)) == question_subject(question)
    assert question_subject("a" * 499 + "b") != question_subject("a" * 499 + "c")


def test_compacting_while_another_writes_says_so(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}", busy_timeout_s=0.02)
    fill(engine)
    forget(engine, "q-mine", MINE)
    with engine.begin() as writer:
        writer.execute(text("UPDATE memory SET step = step"))
        assert "run it again" in compact(engine)
    assert compact(engine) == ""
    engine.dispose()


# --- users, and what the service keeps ------------------------------------------------------------


AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = 1_767_225_600_000
QUESTION = ANSWER.question


def fill_service(engine: Engine) -> str:
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
    token = fill_service(engine)
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
    fill_service(engine)
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


def test_users_and_log_move_to_another_database(engine, other_engine, export):
    token = fill_service(engine)
    file = export(engine)
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


def test_an_older_file_neither_lets_a_user_back_in_nor_refunds_epsilon(engine, export):
    fill_service(engine)
    file = export(engine)
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
