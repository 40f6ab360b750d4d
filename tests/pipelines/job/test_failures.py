"""What is told of an error that ends the job."""

from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.failures import named

SECRET = "what-a-page-says"


def test_a_database_is_quoted_by_its_code_alone(tmp_path: Path) -> None:
    open_engine(f"sqlite:///{tmp_path / 'state.db'}").dispose()
    engine = create_engine(f"sqlite:///file:{tmp_path / 'state.db'}?mode=ro&uri=true")
    statement = text("INSERT INTO search_credits (period, used) VALUES (:period, 1)")
    with pytest.raises(OperationalError) as raised, engine.begin() as connection:
        connection.execute(statement, {"period": SECRET})
    wrapped = RuntimeError(SECRET)
    wrapped.__cause__ = raised.value
    assert named(raised.value) == "OperationalError (database: SQLITE_READONLY)"
    assert named(wrapped) == "RuntimeError (database: SQLITE_READONLY)"
    engine.dispose()


def test_a_server_is_quoted_by_its_state() -> None:
    error = ProgrammingError("SELECT 1", {}, psycopg.errors.UndefinedTable(SECRET))
    assert named(error) == "ProgrammingError (database: SQLSTATE 42P01)"


def test_other_errors_are_named_by_their_class() -> None:
    assert named(KeyError(SECRET)) == "KeyError"
