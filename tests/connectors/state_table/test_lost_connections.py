"""A connection to PostgreSQL that breaks in each phase: what is certain, and that it heals.

`make chaos ENGINE=kafka` breaks them under a running worker; here each phase meets its function.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.connectors.state_table.database.engine import is_transient, open_engine
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import append, depth, mark_sent, pending
from tests.brokers import event
from tests.chaos.lost_connections import PHASES, past, proxy_to
from tests.chaos.proxy import Cut, Proxy
from tests.postgresql import PostgresqlServer

ROW = MemoryRow("cup", "radar", 1, 1_000, "log", 0, 0, b'{"v":1}')
KEY = bytes(32)


def fold(engine: Engine) -> None:
    commit_fold(engine, None, ROW, [event("cup", b"answer")])


def keep(engine: Engine) -> None:
    ResponseCache(engine).put({KEY: b"reply"}, {KEY: b"subject"})


def folded(engine: Engine) -> bool:
    return load(engine, ["cup"]) == {"cup": ROW}


def queued(engine: Engine) -> bool:
    return depth(engine) == 1


def sent(engine: Engine) -> bool:
    return depth(engine) == 0


def kept(engine: Engine) -> bool:
    return ResponseCache(engine).get([KEY]) == {KEY: b"reply"}


def queue(engine: Engine) -> None:
    append(engine, [event("cup", b"answer")])


# What comes before, the work, and what must hold once it was done or done again.
WORK: dict[str, tuple[Callable[[Engine], object], Callable[[Engine], object], Callable[..., bool]]]
WORK = {
    "read of the memory": (fold, lambda engine: load(engine, ["cup"]), folded),
    "write of the memory": (id, fold, folded),
    "commit of a fold": (id, fold, folded),
    "read of the outbox": (queue, pending, queued),
    "mark-sent": (queue, lambda engine: mark_sent(engine, [1]), sent),
    "commit of mark-sent": (queue, lambda engine: mark_sent(engine, [1]), sent),
    "read of the response cache": (keep, lambda e: ResponseCache(e).get([KEY]), kept),
    "write of the response cache": (id, keep, kept),
    "commit of the response cache": (id, keep, kept),
}


@pytest.fixture(scope="module")
def proxy(shared_postgresql: PostgresqlServer) -> Iterator[Proxy]:
    with proxy_to(shared_postgresql) as between:
        yield between


@pytest.fixture
def engines(shared_postgresql: PostgresqlServer, proxy: Proxy) -> Iterator[tuple[Engine, Engine]]:
    """The same new database, through the proxy and past it."""
    url = shared_postgresql.new_database()
    direct = open_engine(url)
    between = open_engine(past(proxy, url, shared_postgresql))
    yield between, direct
    proxy.arm(None)
    between.dispose()
    direct.dispose()


@pytest.mark.parametrize("answered", [False, True], ids=["request lost", "answer lost"])
@pytest.mark.parametrize("phase", WORK)
def test_a_lost_connection_is_transient_and_heals(
    engines: tuple[Engine, Engine], proxy: Proxy, phase: str, answered: bool
) -> None:
    between, direct = engines
    before, work, holds = WORK[phase]
    before(between)
    held_before = holds(direct)
    cut = Cut(re.compile(PHASES[phase], re.DOTALL), answered)
    proxy.arm(cut)
    with pytest.raises(DBAPIError) as lost:
        work(between)
    assert cut.done.is_set()
    assert is_transient(lost.value)
    done = holds(direct)
    # Only a COMMIT that the server has seen was done, though nobody heard of it.
    assert done == (held_before or (answered and "commit" in phase))
    if not done:
        work(between)
    assert holds(direct)


def test_every_phase_on_postgresql_has_its_work() -> None:
    assert set(WORK) == {phase for phase, name in PHASES.items() if not name.startswith("kafka")}
