"""A search service on loopback, and its key."""

from collections.abc import Iterator

import pytest

from tests.connectors.search.search_server import KEY, SearchServer, serve
from tests.connectors.search.services import CASES


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES.values():
        monkeypatch.setenv(case.variable, KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with serve() as running:
        yield running
