"""A SQLite file that goes away under a running process is noticed, not written to."""

from os import umask
from pathlib import Path

import pytest
from sqlalchemy import text

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import count
from radarstream.schemas.errors import ConfigurationError


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_went_away_is_refused(tmp_path: Path, replaced: bool) -> None:
    file = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{file}")
    assert count(engine) == 0
    file.rename(tmp_path / "elsewhere.db")
    if replaced:
        open_engine(f"sqlite:///{file}").dispose()
    with pytest.raises(ConfigurationError, match="deleted or replaced"):
        count(engine)
    engine.dispose()


def test_a_new_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    before, old = tmp_path.stat().st_mode, umask(0)
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    try:
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM memory"))
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        umask(old)
        engine.dispose()
    assert modes == dict.fromkeys(("state.db", "state.db-wal", "state.db-shm"), 0o600)
    assert tmp_path.stat().st_mode == before
