"""A search service on loopback, and its key."""

from collections.abc import Iterator

import pytest

from tests.connectors.serpapi.serpapi_server import KEY, SerpApiServer, serve


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[SerpApiServer]:
    with serve() as running:
        yield running
