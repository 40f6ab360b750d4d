"""A database that was lost is told from one that is new, and from one that changed meanwhile."""

import os
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.groups import enter, insist_on_mark
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    clear_run,
    commit_fold,
    count,
)
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import ConfigurationError

ROW = MemoryRow("q-1", "radar", 1, 1_700_000_000_000, "cluster", 0, 4, b"\x80N.")


def entered(
    engine: Engine, group: str = "g", *, committed: bool = True, start_over: bool = False
) -> str:
    return enter(engine, group, has_committed=committed, start_over=start_over, now_ms=7)


def test_an_empty_database_under_a_group_that_committed_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigurationError, match=r"is empty, but consumer group g .*--start-over"):
        entered(engine)
    with pytest.raises(ConfigurationError):  # nothing was entered by the first try
        entered(engine)


def test_a_first_start_enters_the_group_and_the_next_ones_know_it(engine: Engine) -> None:
    mark = entered(engine, committed=False)
    assert entered(engine) == mark  # it may have committed dead letters only: no memory
    assert entered(engine, committed=False) == mark
    insist_on_mark(engine, "g", mark)


def test_told_to_start_over_an_empty_database_is_taken(engine: Engine) -> None:
    mark = entered(engine, start_over=True)
    assert entered(engine) == mark


def test_another_group_that_was_here_says_nothing_about_this_one(engine: Engine) -> None:
    entered(engine, "g-reports", committed=False)
    with pytest.raises(ConfigurationError):
        entered(engine)


def test_a_database_of_an_earlier_release_is_adopted(engine: Engine) -> None:
    commit_fold(engine, None, ROW)
    mark = entered(engine)
    clear_run(engine)  # nor is it refused once every query was forgotten
    assert entered(engine) == mark


def test_an_imported_memory_is_no_empty_database(tmp_path: Path) -> None:
    old, new = (open_engine(f"sqlite:///{tmp_path / name}") for name in ("old.db", "new.db"))
    commit_fold(old, None, MemoryRow("q-1", "radar", 1, 5, "cluster", 0, 4, encode_state(None)))
    file = tmp_path / "export.jsonl"
    file.write_text("".join(export_lines(old)))
    import_file(new, file)
    assert entered(new)
    for engine in (old, new):
        engine.dispose()


def test_a_database_that_was_emptied_while_in_use_is_noticed(engine: Engine) -> None:
    mark = entered(engine, committed=False)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM consumer_groups"))
    with pytest.raises(ConfigurationError, match="emptied, damaged or replaced while"):
        insist_on_mark(engine, "g", mark)
    entered(engine, committed=False)  # by somebody else meanwhile: still another database
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
    mark = entered(engine, committed=False)
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
    mark = entered(engine, committed=False)
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
