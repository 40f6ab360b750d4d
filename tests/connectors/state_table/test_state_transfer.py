"""Export and import: the same rows on either database, one moment of time, all or nothing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, insert, select

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import MEMORY, METADATA, SOURCE_VERDICTS
from radarstream.connectors.state_table.database.transfer import TABLES, export_lines, import_file
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.watchlist import (
    claim,
    record_fetch,
    replace_all,
    spend_credit,
)
from radarstream.schemas.codec.state import encode_state
from radarstream.schemas.errors import InputError, ReasonClass, StateConflictError
from radarstream.schemas.memory import Belief

BELIEF = encode_state(Belief('Zoë "法国"\n', 0.1 + 0.2, 1e-17))
ROW = MemoryRow("q-1 北京", "radar", 7, 1_700_000_000_123, "cluster", 3, 2**40, BELIEF, 2**41)
VERDICT = {"domain": "example.org", "verdict": "pardoned", "note": None, "decided_ms": 5}


def fill(engine: Engine) -> None:
    commit_fold(engine, None, ROW)
    commit_fold(engine, None, replace(ROW, query_id="q-2", state=encode_state(None)))
    replace_all(engine, [("q-1 北京", '{"question":"Who?\\n"}'), ("q-2", "{}")], 9)
    claim(engine, "q-2", 0, 10, 10)
    record_fetch(engine, "q-2", 20, fetched_ms=15, next_due_ms=99)
    replace_all(engine, [("q-2", "{}")], 9)
    spend_credit(engine, "2025-03", 7, 100)
    with engine.begin() as connection:
        connection.execute(insert(SOURCE_VERDICTS).values(**VERDICT))


def contents(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    with engine.connect() as connection:
        return {
            table.name: sorted(
                (dict(row) for row in connection.execute(select(table)).mappings()), key=repr
            )
            for table in METADATA.tables.values()
        }


def test_another_database_gets_identical_rows(engine, other_engine, export):
    assert len(export(engine).read_text().splitlines()) == 2
    assert import_file(engine, export(engine)) == {}  # nothing of an empty one
    fill(engine)
    file = export(engine)
    lines = file.read_bytes().splitlines()
    counts = {"memory": 2, "watchlist": 2, "search_credits": 1, "source_verdicts": 1}
    assert import_file(other_engine, file) == counts
    assert contents(other_engine) == contents(engine)
    again = export(other_engine)
    assert sorted(again.read_bytes().splitlines()) == sorted(lines)
    assert import_file(engine, again) == counts  # over the same rows
    assert contents(other_engine) == contents(engine)


def test_an_export_shows_one_moment(state_url: str, engine: Engine) -> None:
    fill(engine)
    expected = list(export_lines(engine))
    writer = open_engine(state_url)
    lines = export_lines(engine)
    seen = [next(lines), next(lines)]
    commit_fold(writer, ROW, replace(ROW, step=8, as_of_ms=ROW.as_of_ms + 1))
    replace_all(writer, [("q-9", "{}")], 11)
    spend_credit(writer, "2025-03", 1, 100)
    assert [*seen, *lines] == expected
    assert list(export_lines(engine)) != expected
    writer.dispose()


def test_a_query_never_moves_back_unless_told_and_credits_stay_spent(engine, export) -> None:
    fill(engine)
    file = export(engine)
    newer = replace(ROW, query_id="q-2", step=8, as_of_ms=ROW.as_of_ms + 1, state=BELIEF)
    before = replace(ROW, query_id="q-2", state=encode_state(None))
    commit_fold(engine, before, newer)
    with engine.begin() as connection:
        connection.execute(MEMORY.delete().where(MEMORY.c.query_id == ROW.query_id))
    with pytest.raises(StateConflictError, match="'q-2' is newer.*nothing was imported"):
        import_file(engine, file)
    assert load(engine, [ROW.query_id, "q-2"]) == {"q-2": newer}
    import_file(engine, file, replace=True)
    assert load(engine, [ROW.query_id, "q-2"]) == {
        ROW.query_id: ROW,
        "q-2": replace(ROW, query_id="q-2", state=encode_state(None)),
    }
    spend_credit(engine, "2025-03", 1, 100)
    with pytest.raises(StateConflictError, match="search_credits"):
        import_file(engine, file)


# --- files that are not ours -------------------------------------------------------------------

Edit = Callable[[dict[str, Any]], object]
WRONG: dict[str, tuple[int, Edit, ReasonClass]] = {
    "format": (0, lambda v: v.update(format="other"), ReasonClass.UNKNOWN_SCHEMA),
    "table": (1, lambda v: v.update(table="outbox"), ReasonClass.UNKNOWN_FIELD),
    "extra": (1, lambda v: v.update(more=1), ReasonClass.UNKNOWN_FIELD),
    "column": (1, lambda v: v["row"].pop("defense"), ReasonClass.UNKNOWN_FIELD),
    "null": (1, lambda v: v["row"].update(defense=None), ReasonClass.WRONG_TYPE),
    "boolean": (1, lambda v: v["row"].update(step=True), ReasonClass.WRONG_TYPE),
    "base64": (1, lambda v: v["row"].update(state="%"), ReasonClass.WRONG_TYPE),
    "state": (1, lambda v: v["row"].update(state="AAAA"), ReasonClass.MALFORMED_JSON),
    "step": (1, lambda v: v["row"].update(step=0), ReasonClass.OUT_OF_RANGE),
    "count": (7, lambda v: v.update(rows=5), ReasonClass.MISSING_FIELD),
}


def test_a_wrong_line_is_named_and_nothing_is_written(engine, other_engine, tmp_path):
    fill(other_engine)
    lines, file = list(export_lines(other_engine)), tmp_path / "state.jsonl"
    for name, (number, edit, reason) in WRONG.items():
        values = [json.loads(line) for line in lines]
        edit(values[number])
        file.write_text("".join(json.dumps(value) + "\n" for value in values))
        with pytest.raises(InputError, match=f"state.jsonl:{number + 1}: ") as caught:
            import_file(engine, file)
        assert caught.value.reason is reason, name
        assert not any(contents(engine)[table] for table in TABLES), name


def test_a_file_that_was_cut_off_or_continued_is_refused(engine: Engine, tmp_path: Path) -> None:
    fill(engine)
    lines = list(export_lines(engine))
    file = tmp_path / "state.jsonl"
    for count in range(len(lines)):
        file.write_text("".join(lines[:count]))
        with pytest.raises(InputError, match="cut off"):
            import_file(engine, file)
    file.write_text("".join([*lines, lines[1]]))
    with pytest.raises(InputError, match="follows"):
        import_file(engine, file)


@given(at=st.integers(0, 10_000), byte=st.integers(0, 255))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_damaged_byte_is_an_input_error_or_a_sound_file(tmp_path, at, byte):
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    if not load(engine, ["q-2"]):
        fill(engine)
    damaged = bytearray("".join(export_lines(engine)).encode())
    damaged[at % len(damaged)] = byte
    file = tmp_path / "state.jsonl"
    file.write_bytes(damaged)
    target = open_engine(f"sqlite:///{tmp_path / 'target.db'}")
    try:
        import_file(target, file, replace=True)
    except InputError as error:
        assert "state.jsonl" in str(error)
    target.dispose()
    engine.dispose()
