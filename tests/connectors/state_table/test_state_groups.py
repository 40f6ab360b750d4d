"""A database that was lost is told from one that is new, and from one that changed meanwhile."""

import os
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.groups import (
    enter,
    insist_on_mark,
    insist_on_offsets,
    note_offsets,
)
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, count
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import ConfigurationError

ROW = MemoryRow("q-1", "radar", 1, 1_700_000_000_000, "cluster", 0, 4, b"\x80N.")


HERE = ("log", 0)


def entered(
    engine: Engine, committed: int = 0, *, group: str = "g", start_over: bool = False
) -> str:
    return enter(engine, group, {HERE: committed}, start_over=start_over, now_ms=7)


def test_a_database_behind_its_group_is_refused(engine: Engine) -> None:
    """Empty, an older copy, another log, another partition or another group: one check."""
    with pytest.raises(ConfigurationError, match=r"is empty or .*group g .*--start-over"):
        entered(engine, 1)
    with pytest.raises(ConfigurationError):  # nothing was entered by the first try
        entered(engine, 1)
    mark = entered(engine)
    note_offsets(engine, "g", {HERE: 5})
    for committed in (0, 4, 5):  # a crash before the commit leaves the broker behind
        assert entered(engine, committed) == mark
    for where in (HERE, ("log", 1), ("made anew", 0)):
        with pytest.raises(ConfigurationError, match="is an older copy"):
            insist_on_offsets(engine, "g", {where: 6})
    insist_on_offsets(engine, "g", {("made anew", 0): 0})
    with pytest.raises(ConfigurationError):
        entered(engine, 1, group="h")
    insist_on_mark(engine, "g", mark)


def test_told_to_start_over_what_is_committed_is_taken_over(engine: Engine) -> None:
    mark = entered(engine, 9, start_over=True)
    assert entered(engine, 9) == mark
    with pytest.raises(ConfigurationError):
        entered(engine, 10)


def test_a_slow_worker_does_not_take_offsets_back(engine: Engine) -> None:
    note_offsets(engine, "g", {HERE: 50, ("log", 1): 1})
    note_offsets(engine, "g", {HERE: 40, ("log", 1): 2})
    insist_on_offsets(engine, "g", {HERE: 50, ("log", 1): 2})


def test_an_imported_memory_is_no_empty_database(tmp_path: Path) -> None:
    old, new = (open_engine(f"sqlite:///{tmp_path / name}") for name in ("old.db", "new.db"))
    note_offsets(old, "g", {HERE: 5})
    commit_fold(old, None, MemoryRow("q-1", "radar", 1, 5, "cluster", 0, 4, encode_state(None)))
    file = tmp_path / "export.jsonl"
    file.write_text("".join(export_lines(old)))
    import_file(new, file)
    assert entered(new, 5)
    for engine in (old, new):
        engine.dispose()


def test_a_database_that_was_emptied_while_in_use_is_noticed(engine: Engine) -> None:
    mark = entered(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM consumer_groups"))
    with pytest.raises(ConfigurationError, match="emptied, damaged or replaced while"):
        insist_on_mark(engine, "g", mark)
    entered(engine)  # by somebody else meanwhile: still another database
    with pytest.raises(ConfigurationError):
        insist_on_mark(engine, "g", mark)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE consumer_groups"))
    with pytest.raises(ConfigurationError, match="restore it, then start again"):
        insist_on_mark(engine, "g", mark)


@pytest.mark.parametrize("bytes_left", [0, 4_096])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, bytes_left: int) -> None:
    file = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{file}")
    mark = entered(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert count(engine) == 0
    os.truncate(file, bytes_left)
    with pytest.raises(ConfigurationError, match="cut off"):
        insist_on_mark(engine, "g", mark)
    with pytest.raises(ConfigurationError, match="cut off"):
        commit_fold(engine, None, ROW)
    engine.dispose()


def test_a_file_that_was_compacted_is_used_on(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{file}")
    mark = entered(engine)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE ballast (x BLOB)"))
        connection.execute(text("INSERT INTO ballast VALUES (zeroblob(300000))"))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    insist_on_mark(engine, "g", mark)
    large = file.stat().st_size
    other = open_engine(f"sqlite:///{file}")
    with other.connect() as connection:
        connection.exec_driver_sql("DROP TABLE ballast")
        connection.exec_driver_sql("VACUUM")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert file.stat().st_size < large
    insist_on_mark(engine, "g", mark)
    for each in (engine, other):
        each.dispose()
