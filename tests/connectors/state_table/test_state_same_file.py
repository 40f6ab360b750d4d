"""A SQLite file that goes away under a running process is noticed, not written to."""

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


def test_a_file_that_stays_is_used(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM memory"))
    engine.dispose()
    assert count(engine) == 0
    engine.dispose()
