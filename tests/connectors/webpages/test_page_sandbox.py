"""The process that finds the text of pages: limited, replaceable, without secrets."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from radarstream.connectors.webpages import sandbox
from radarstream.connectors.webpages.media import Kind
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.sandbox import Sandbox

ARTICLE = (
    b"<html><body><article><p>" + b"Bern won the cup final on Sunday. " * 9 + b"</p></article>"
)
# What a page may do.
PARAGRAPHS = b"<p>x" * 2**18  # takes 10 seconds and 400 MB
ATTRIBUTES = b"<p " + b" ".join(b"a%d" % n for n in range(140_000)) + b">"  # takes a minute


def opened(**options: object) -> Sandbox:
    return Sandbox(PageOptions(**({"parse_seconds": 1} | options)))


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with opened() as running:
        yield running


def process_of(box: Sandbox) -> int:
    return box._process.pid


def text(box: Sandbox, page: bytes) -> str:
    return box.text(Kind.HTML, Raw(page))


def refusal(box: Sandbox, page: bytes) -> str:
    with pytest.raises(PageError) as caught:
        text(box, page)
    return str(caught.value)


def test_one_process_serves_many_pages(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    assert text(box, ARTICLE).startswith("Bern won")
    first = process_of(box)
    assert text(box, b"") == ""
    assert text(box, ARTICLE).startswith("Bern won")
    assert process_of(box) == first
    monkeypatch.setattr(sandbox, "PAGES", 4)
    text(box, ARTICLE)
    assert box._process is None  # it has served enough
    assert text(box, ARTICLE).startswith("Bern won")
    assert not Path(f"/proc/{first}").exists()


def test_long_pages_are_given_up_and_deaths_between_pages_cost_nothing(box: Sandbox) -> None:
    assert refusal(box, ATTRIBUTES) == "parse_time"
    assert text(box, ARTICLE).startswith("Bern won")
    text(box, ARTICLE)
    for _ in range(2):
        os.kill(process_of(box), signal.SIGKILL)
        assert text(box, ARTICLE).startswith("Bern won")


def test_a_page_that_takes_too_much_memory_is_given_up() -> None:
    with opened(parse_bytes=64 * 2**20, parse_seconds=60) as box:
        text(box, ARTICLE)
        soft, _ = resource.prlimit(process_of(box), resource.RLIMIT_AS)
        size = int(Path(f"/proc/{process_of(box)}/statm").read_text().split()[0])
        assert soft - size * resource.getpagesize() <= 64 * 2**20
        try:
            assert text(box, PARAGRAPHS) == ""  # the extractor may make the best of it
        except PageError as error:
            assert str(error) in ("parse_memory", "parse_crash")
        assert text(box, ARTICLE).startswith("Bern won")


def test_a_page_that_kills_it_twice_is_given_up(box, monkeypatch):
    started, exchange, given_s = sandbox._started, box._exchange, []
    deaths = iter([True, True, False])

    def dying(*given):
        process = started(*given)
        if next(deaths):
            process.kill()
        return process

    def timed(parts, seconds):
        given_s.append(seconds)
        return exchange(parts, seconds)

    monkeypatch.setattr(sandbox, "_started", dying)
    monkeypatch.setattr(box, "_exchange", timed)
    with pytest.raises(PageError, match="parse_crash"):
        box.text(Kind.HTML, Raw(ARTICLE), 60.0)
    assert given_s[0] > given_s[1]  # the second try has the time that is left
    assert text(box, ARTICLE).startswith("Bern won")


def test_a_process_that_hangs_is_killed(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    text(box, ARTICLE)
    monkeypatch.setattr(sandbox, "CLOCK_FACTOR", 0.3)
    hanging = process_of(box)
    os.kill(hanging, signal.SIGSTOP)
    assert refusal(box, ARTICLE * 3_000) == "parse_time"  # more than the pipe holds
    assert not Path(f"/proc/{hanging}").exists()
    monkeypatch.undo()
    assert text(box, ARTICLE).startswith("Bern won")


def test_it_gets_no_secrets_and_may_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_KEY", "canary-7f31")
    with opened() as box:
        text(box, ARTICLE)
        pid = process_of(box)
        assert b"canary" not in Path(f"/proc/{pid}/environ").read_bytes()
        assert resource.prlimit(pid, resource.RLIMIT_FSIZE)[0] == 0
        assert os.getpgid(pid) != os.getpgid(0)  # Ctrl-C is not for it
    assert not Path(f"/proc/{pid}").exists()
