"""`radarstream doctor` checks the chosen search service and finds a SearXNG on this machine."""

from collections.abc import Iterator

import pytest

from radarstream.connectors.search.options import SearchOptions
from radarstream.pipelines.cli import doctor
from radarstream.pipelines.cli.doctor import searches
from radarstream.pipelines.settings import load_settings
from tests.connectors.search.search_server import KEY, SearchServer, serve
from tests.connectors.search.services import CASES
from tests.replies import Reply
from tests.servers import free_port

CALM = load_settings(None, profile="scripted")
ABOUT = Reply({"instance_name": "SearXNG", "engines": [], "version": "2026.11.2"})
NO_JSON = CASES["searxng"].failures["no JSON"][0]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    """At the port of SearXNG's container; nobody listens at the other."""
    for name in ("SERPAPI_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with serve() as running:
        port = int(running.url.rpartition(":")[2])
        monkeypatch.setattr(doctor, "SEARXNG_PORTS", (free_port(), port))
        yield running


def test_a_searxng_that_answers_and_one_without_json(server: SearchServer) -> None:
    server.replies += [ABOUT, CASES["searxng"].ready, ABOUT, NO_JSON]
    (check,) = searches(CALM)
    said = f'To use it, set search.name = "searxng" and search.base_url = "{server.url}"'
    assert (check.name, check.ok) == ("SearXNG", True) and said in check.found
    (check,) = searches(CALM)
    assert check.ok is None and "SearXNG's settings.yml" in check.found + check.remedy
    assert server.paths == ["/config", "/search"] * 2
    assert not any("q" in request for request in server.requests)  # nothing was searched for


@pytest.mark.parametrize("other", [Reply({"engines": 1}), Reply("<html>"), Reply("", hang=True)])
def test_what_listens_there_may_be_something_else(server: SearchServer, other: Reply) -> None:
    server.replies.append(other)
    (check,) = searches(CALM)
    assert check.ok is None and "no key in SERPAPI_KEY and no SearXNG" in check.found
    wanting = CALM.serving.model_copy(update={"source": "search"})
    (check,) = searches(CALM.model_copy(update={"serving": wanting}))
    assert check.ok is False and "SERPAPI_KEY is not set" in check.found


def test_the_chosen_service_is_checked(server, monkeypatch) -> None:
    chosen = SearchOptions(name="searxng", base_url=server.url)
    server.replies += [CASES["searxng"].ready, NO_JSON]
    (check,) = searches(CALM.model_copy(update={"search": chosen}))
    assert check.ok and "answers, with JSON" in check.found
    server.otherwise = lambda _: Reply({})
    (check,) = searches(CALM.model_copy(update={"search": chosen}))
    assert not check.ok and "settings.yml and restart it" in check.remedy
    brave = SearchOptions(name="brave", base_url=server.url)
    (check,) = searches(CALM.model_copy(update={"search": brave}))
    assert not check.ok and "BRAVE_API_KEY is not set" in check.found
    assert "without an account" in check.remedy
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    server.replies += [CASES["brave"].ready, Reply({}), CASES["brave"].failures["key"][0]]
    (check,) = searches(CALM.model_copy(update={"search": brave}))
    assert check.ok and "takes the key" in check.found
    (check,) = searches(CALM.model_copy(update={"search": brave}))
    assert not check.ok and KEY not in check.found


def test_a_key_of_the_default_service_is_a_choice(server, monkeypatch) -> None:
    monkeypatch.setenv("SERPAPI_KEY", "no key at all")
    server.otherwise = lambda _: Reply({})
    (check,) = searches(CALM)
    assert not check.ok and "SERPAPI_KEY does not hold an API key" in check.found
