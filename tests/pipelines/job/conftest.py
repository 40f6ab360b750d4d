"""A state database for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.dispose()
