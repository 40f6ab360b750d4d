"""Many users at once: a steady rate of questions over connections that stay open."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from radarstream.connectors.state_table.serving.users import add_user
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.serving.server import bound, run_service
from radarstream.pipelines.settings import Settings
from radarstream.schemas.users import Role
from tests.serving import FakeAsker, service_settings

FORK = get_context("fork")
BODY = json.dumps(
    {"model": "radarstream", "messages": [{"role": "user", "content": "Who won the cup?"}]}
).encode()


@dataclass
class Load:
    """Seconds of every request that was answered, and what failed."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def at(self, percent: int) -> float:
        """A percentile in milliseconds."""
        return 1_000 * quantiles(self.seconds, n=100, method="inclusive")[percent - 1]


def serve(settings: Settings, listening: object) -> None:
    run_service(create_app(settings, FakeAsker()), listening)  # type: ignore[arg-type]


@contextmanager
def service_of_its_own(folder: Path) -> Iterator[tuple[int, str]]:
    """A service in a process of its own, with users in its database and no models: port, token."""
    settings = service_settings(folder)
    settings = settings.model_copy(
        update={"telemetry": settings.telemetry.model_copy(update={"log_level": "warning"})}
    )
    engine = shared_engine(settings)
    token = add_user(engine, "load", {Role.ASK}, 0)
    engine.dispose()
    listening = bound("127.0.0.1:0")
    child = FORK.Process(target=serve, args=(settings, listening))
    child.start()
    port = listening.getsockname()[1]
    listening.close()
    try:
        yield port, token
        child.terminate()
        child.join(30)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join(30)


async def one_user(port: int, request: bytes, first: float, every: float, count: int) -> Load:
    """Ask `count` times, one question every so many seconds, the first after `first`."""
    load, loop = Load(), asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due = loop.time() + first
    for _ in range(count):
        await asyncio.sleep(max(0.0, due - loop.time()))
        due += every
        started = perf_counter()
        writer.write(request)
        try:
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode()
            lines = dict(line.lower().split(": ", 1) for line in head.splitlines() if ": " in line)
            await reader.readexactly(int(lines["content-length"]))
        except (OSError, EOFError, TimeoutError) as error:
            load.errors.append(type(error).__name__)
            break
        if head.startswith("HTTP/1.1 200"):
            load.seconds.append(perf_counter() - started)
        else:
            load.errors.append(head.splitlines()[0])
    writer.close()
    return load


def loaded(port: int, token: str, *, users: int, per_second: float, seconds: float) -> Load:
    """Put the service under load; connections are open before the first question."""
    request = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(BODY)}\r\n\r\n"
    ).encode() + BODY
    every = users / per_second
    count = max(1, round(seconds / every))

    async def all_users() -> Load:
        starts = [1.0 + every * number / users for number in range(users)]
        found = await asyncio.gather(
            *(one_user(port, request, first, every, count) for first in starts)
        )
        return Load(
            [second for one in found for second in one.seconds],
            [error for one in found for error in one.errors],
        )

    return asyncio.run(all_users())
