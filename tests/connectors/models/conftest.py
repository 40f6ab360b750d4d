"""A service that fails as it is told, and a tiny encoder on disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tiny_encoders
from tests.connectors.models.fault_server import FaultServer, serving


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as state:
        yield state


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoders.build(tmp_path_factory.mktemp("bert"))
