"""What tests of asking share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A state database of the module's own."""
    opened = open_engine(f"sqlite:///{tmp_path_factory.mktemp('asking') / 'state.db'}")
    yield opened
    opened.dispose()


@pytest.fixture
def own_engine(tmp_path: Path) -> Iterator[Engine]:
    """A state database of one test."""
    opened = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.dispose()
