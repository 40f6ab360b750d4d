"""`radarstream sources` as an analyst uses it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.sources.ledger import agree, record, standings
from radarstream.pipelines import build
from radarstream.pipelines.cli import terminal
from radarstream.pipelines.cli.app import app, main
from radarstream.pipelines.pages.incidents.stored import ledger
from radarstream.pipelines.pages.incidents.stored import standings as standings_on_page
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.sites import key_of
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import (
    CLAIM_CHARACTERS,
    DAY_MS,
    EventKind,
    SourceEvent,
    SourceVerdict,
)

NOON = 20_000 * DAY_MS + DAY_MS // 2
HOSTILE = "Ada\x1b[2J [red]Lovelace[/red] " + "x" * 300


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A database that the settings name, with one liar and one honest source."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    monkeypatch.setenv("RADARSTREAM_DATABASE", url)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    opened = open_engine(url)
    with opened.begin() as connection:
        for number, claim in enumerate(["Bob leads", HOSTILE]):
            lie = SourceEvent(
                f"case {number}",
                "lies.example",
                EventKind.CONFIRMED,
                NOON + number * DAY_MS,
                "q-mine",
                number,
                f"sha-{number}",
                claim,
            )
            record(connection, [lie])
        agree(connection, ["good.example"], NOON)
    yield opened
    opened.dispose()
    build._engine.cache_clear()


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["sources", *arguments], catch_exceptions=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_list_says_who_lied_since_when_and_about_what(engine: Engine):
    listed = json.loads(call("list", "--json").stdout)
    liar, good = listed["rows"]
    assert listed["sources"] == 2
    assert listed["as_of"].startswith("2024-10-05")
    assert (liar["domain"], liar["events"], liar["dishonest"]) == (
        "lies.example",
        2,
        pytest.approx(1.992328, abs=1e-6),
    )
    assert liar["first"] == "2024-10-04T12:00:00.000Z"
    assert liar["last"] == "2024-10-05T12:00:00.000Z"
    assert liar["claims"][1] == "Bob leads"
    assert liar["low"] < liar["reliability"] < liar["high"]
    assert liar["reliability"] == pytest.approx(4 / (5 + liar["dishonest"]), abs=1e-6)
    assert liar["distrust"] == pytest.approx(1 - 1 / (1 + liar["dishonest"]), abs=1e-6)
    assert good["reliability"] > 0.8
    assert (good["distrust"], good["events"], good["first"], good["claims"]) == (0, 0, None, [])


@pytest.mark.parametrize("command", [["list"], ["show", "lies.example"]])
def test_what_pages_say_cannot_harm_a_terminal(engine: Engine, command: list[str]):
    shown = call(*command).stdout
    assert "lies.example" in shown
    assert "\x1b" not in shown
    assert "[red]Lovelace" in shown  # shown, not interpreted
    assert "x" * 200 not in shown


def test_a_narrow_terminal_cuts_neither_domains_nor_dates(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(terminal.stdout, "_width", 80)
    name = "a-very-long-name-that-an-attacker-registered-to-be-cut.example"
    call("block", name)
    shown = call("list").stdout
    assert max(map(len, shown.splitlines())) <= 80
    folded = [line[: shown.index("reliability") % 81].strip() for line in shown.splitlines()]
    assert name in "".join(folded)
    for date in ("2024-10-04", "2024-10-05", "blocked"):
        assert date in shown


def test_show_tells_every_event(engine: Engine):
    shown = json.loads(call("show", "https://www.lies.example/page", "--json").stdout)
    newest, oldest = shown["history"]
    assert oldest == {
        "at": "2024-10-04T12:00:00.000Z",
        "kind": "confirmed",
        "weight": 1.0,
        "query_id": "q-mine",
        "step": 0,
        "text_id": "sha-0",
        "claim": "Bob leads",
    }
    assert "2024-10-05" in call("show", "lies.example").stdout
    assert newest["claim"] == HOSTILE[:CLAIM_CHARACTERS]


def test_an_unknown_domain_is_an_error_and_a_name_that_is_none_too(engine: Engine):
    with pytest.raises(NotFoundError, match="'unheard.example'"):
        call("show", "unheard.example")
    for nothing in ("", "https:///path", "http://[broken"):
        with pytest.raises(ConfigurationError, match="names no domain"):
            call("block", nothing)


@pytest.mark.parametrize("suffix", ["co.uk", "https://CO.UK/", "com.au."])
def test_a_suffix_under_which_others_register_is_no_source(engine: Engine, suffix: str):
    for verdict in ("block", "pardon"):
        with pytest.raises(ConfigurationError, match="name one of them, as in example"):
            call(verdict, suffix)
    assert json.loads(call("list", "--json").stdout)["sources"] == 2
    assert "is blocked" in call("block", "example.co.uk").stdout


def test_a_suffix_that_the_ledger_holds_a_page_against_can_be_judged(engine: Engine):
    lie = SourceEvent("case", "co.uk", EventKind.CONFIRMED, NOON, "q", 0, "sha", "Bob leads")
    with engine.begin() as connection:
        record(connection, [lie])
    assert call("block", "co.uk").stdout == "co.uk is blocked\n"


def test_a_platform_is_blocked_with_all_its_sites(engine: Engine):
    told = call("block", "github.io").stdout
    assert told == "github.io is blocked, and every site below it; nothing was known of it\n"
    assert call("block", "https://ann.github.io/x").stdout.startswith("ann.github.io is blocked;")


def test_the_pages_of_a_blocked_platform_are_shown_as_blocked(engine: Engine):
    call("block", "github.io")
    call("pardon", "bob.github.io")
    settings = load_settings()
    standing_of = standings_on_page(ledger(engine, settings, 10, {}), settings)
    hosts = ("ann.github.io", "www.bob.github.io", "lies.example", "new.example")
    told = [standing_of(f"https://{host}/1") for host in hosts]
    assert [one and one.words for one in told] == ["blocked", "pardoned", "reliability 0.57", None]


def test_a_key_of_an_earlier_release_is_still_found(engine: Engine):
    """Without the Public Suffix List `net.de` was taken for a registry's suffix."""
    lie = SourceEvent("case", "old.net.de", EventKind.CONFIRMED, NOON, "q", 0, "sha", "Bob leads")
    with engine.begin() as connection:
        record(connection, [lie])
    assert json.loads(call("show", "old.net.de", "--json").stdout)["domain"] == "old.net.de"
    assert call("block", "old.net.de").stdout == "old.net.de is blocked\n"
    assert call("clear", "old.net.de").stdout == "old.net.de has no verdict\n"
    assert "net.de is blocked; nothing" in call("block", "new.net.de").stdout


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::7", "[2001:db8::7]", "intranet"])
def test_a_host_without_a_name_is_blocked_under_the_key_of_its_pages(engine: Engine, host: str):
    call("block", host)
    inner = f"[{host}]" if host.startswith("2001") else host
    key = key_of(Document(1, "", url=f"http://{inner}:8080/page"))
    with engine.connect() as connection:
        assert standings(connection, [key])[key].verdict is SourceVerdict.BLOCKED


@pytest.mark.parametrize("typed", ["not a domain", "https://lies example/1", "lies\x1b.example"])
def test_a_mistyped_host_is_not_blocked_under_another_name(engine: Engine, typed: str):
    with pytest.raises(ConfigurationError, match="names no domain"):
        call("block", typed)
    assert json.loads(call("list", "--json").stdout)["sources"] == 2
    assert call("block", " https://lies.example/a page ").stdout == "lies.example is blocked\n"


def test_a_persons_word_is_given_and_taken_back(engine: Engine):
    def verdict(domain: str) -> SourceVerdict | None:
        with engine.connect() as connection:
            return standings(connection, [domain])[domain].verdict

    told = call("pardon", "lies.example", "--note", "misquoted \x1b[2J").stdout
    assert told == "lies.example is pardoned\n"
    shown = json.loads(call("show", "lies.example", "--json").stdout)
    assert (shown["verdict"], shown["note"], shown["distrust"]) == ("pardoned", "misquoted [2J", 0)
    assert "note: misquoted" in call("show", "lies.example").stdout
    assert "nothing was known of it" in call("block", "http://sub.New.example/a").stdout
    assert verdict("new.example") is SourceVerdict.BLOCKED
    assert json.loads(call("list", "--json").stdout)["rows"][0]["domain"] == "new.example"
    call("clear", "lies.example")
    assert verdict("lies.example") is None
    assert "nothing was known of it" in call("clear", "unheard.example").stdout
    assert json.loads(call("list", "--json").stdout)["sources"] == 3


def test_a_block_that_settings_ignore_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RADARSTREAM_SOURCES__BLOCK", "false")
    assert "without effect while sources.block is false" in call("block", "a.example").stdout


def test_an_empty_ledger_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RADARSTREAM_DATABASE", f"sqlite:///{tmp_path / 'empty.db'}")
    open_engine(f"sqlite:///{tmp_path / 'empty.db'}").dispose()
    assert "0 of 0 domains, as of no event" in call("list").stdout
    assert json.loads(call("list", "--json").stdout) == {"sources": 0, "as_of": None, "rows": []}


def test_exit_code(engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("sys.argv", ["radarstream", "sources", "show", "unheard.example"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "knows nothing about 'unheard.example'" in capsys.readouterr().err
