"""`radarstream sources` as an analyst uses it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.sources import find_source
from radarstream.pipelines import build
from radarstream.pipelines.cli import terminal
from radarstream.pipelines.cli.app import app
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from tests.lab.pages.attribution_pages import LIARS, MAYOR, events, fill

HOSTILE = "Ada\x1b[2J [red]Lovelace[/red] " + "x" * 300
LONG = "a-very-long-name-that-an-attacker-registered-to-be-cut.example"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A database that the settings name, with two sites that taught two wrong answers."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    monkeypatch.setenv("RADARSTREAM_DATABASE", url)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    opened = open_engine(url)
    fill(opened)
    yield opened
    opened.dispose()
    build._engine.cache_clear()


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["sources", *arguments], catch_exceptions=False)


def test_the_list_says_who_taught_what_since_when(engine: Engine):
    listed = json.loads(call("list", "--json", "--limit", "2").stdout)
    assert listed["sources"] == 3
    told = [(one["domain"], one["verdict"], one["wrong_answers"]) for one in listed["rows"]]
    assert told == [(LIARS[0], "blocked", 2), (LIARS[1], None, 2)]
    second = listed["rows"][1]
    assert (second["first"][:10], second["last"][:10]) == ("2025-03-15", "2025-03-29")
    assert second["claims"] == [MAYOR[2]]


def test_show_tells_every_wrong_answer_of_a_name_and_all_below_it(engine: Engine):
    shown = json.loads(call("show", f"https://www.{LIARS[1]}/page", "--json").stdout)
    assert [one["step"] for one in shown["history"]] == [2, 1]
    assert shown["history"][0]["url"].startswith(f"https://www.{LIARS[1]}/")
    assert "2025-03-29" in call("show", LIARS[1]).stdout
    with pytest.raises(NotFoundError, match="'unheard.example'"):
        call("show", "unheard.example")


def test_what_pages_say_cannot_harm_a_terminal(engine: Engine):
    with engine.begin() as connection:
        store.write_event(connection, replace(events()[0], answer=HOSTILE))
    for command in (["list"], ["show", LIARS[0]]):
        shown = call(*command).stdout
        assert LIARS[0] in shown and "[red]Lovelace" in shown  # shown, not interpreted
        assert "\x1b" not in shown and "x" * 200 not in shown


def test_a_narrow_terminal_cuts_neither_domains_nor_dates(engine, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(terminal.stdout, "_width", 80)
    call("block", LONG)
    shown = call("list").stdout
    assert max(map(len, shown.splitlines())) <= 80
    folded = [line[: shown.index("wrong") % 81].strip() for line in shown.splitlines()]
    assert LONG in "".join(folded)
    for words in ("2025-03-15", "2025-03-29", "blocked"):
        assert words in shown


def test_a_block_is_written_under_the_name_that_is_meant(engine: Engine):
    for typed, name in {
        "https://www.new.example/page": "new.example",  # an address names its site
        "https://a.b.new.co.uk/page": "new.co.uk",
        "www.other.example": "other.example",
        "A.New.Example.": "a.new.example",  # a host itself
        "github.io": "github.io",
        "192.0.2.7": "192.0.2.7",
        "2001:db8::7": "2001:db8::7",
        "intranet": "intranet",
    }.items():
        told = call("block", typed, "--note", "copies others").stdout
        assert told == f"{name} is blocked, and every name below it without a verdict of its own\n"
        with engine.connect() as connection:
            source = find_source(connection, name)
        assert (source.verdict, source.note) == ("blocked", "copies others")
    for typed in ("", "a b.example", "https://", "co.uk", "https://com/page"):
        with pytest.raises(ConfigurationError, match="names no domain|is no source"):
            call("block", typed)


def test_a_verdict_changes_and_is_taken_back(engine: Engine):
    call("pardon", LIARS[0])
    assert json.loads(call("show", LIARS[0], "--json").stdout)["verdict"] == "pardoned"
    assert call("clear", LIARS[0]).stdout == f"{LIARS[0]} has no verdict\n"
    assert json.loads(call("show", LIARS[0], "--json").stdout)["verdict"] is None
    with pytest.raises(NotFoundError, match="nobody judged"):
        call("clear", LIARS[0])
