"""What commands print of what others wrote."""

import json
from threading import Event

import regex

from radarstream.lab.study.table import escaped
from radarstream.pipelines.cli import progress, terminal
from radarstream.pipelines.job.telemetry import logs
from radarstream.schemas.shown import escaped_json, one_line

IGNORABLE = [c for c in map(chr, range(0x110000)) if regex.match(r"\p{DI}", c)]


def test_nothing_hidden_is_printed() -> None:
    """Unicode's ignorable characters too, though Python takes many of them for printable."""
    assert sum(character.isprintable() for character in IGNORABLE) > 250
    hidden = [*IGNORABLE, *map(chr, range(32)), "\x7f", "\x9b", "\u2028", "\ue000", "\ud800"]
    assert [c for c in hidden if c in one_line(f"a{c}b")] == []
    assert [c for c in hidden if c in next(logs.plain(f"a{c}b"))] == []
    assert [c for c in hidden if c in escaped(f"a{c}b")] == []
    assert one_line("".join(IGNORABLE) + "ab\r\n\u3164 c") == "ab c"
    assert one_line("Zürich, 東京, مرحبا, ☕") == "Zürich, 東京, مرحبا, ☕"


def test_json_with_anything_hidden_stays_the_same_value() -> None:
    value = ["".join(IGNORABLE), "\x9b", "Zürich"]
    text = escaped_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not set(IGNORABLE) & set(text)


def test_json_on_a_terminal_is_inert_and_still_the_same_value(capsys, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "stdout", terminal.Console(width=20))
    hidden = "a\u202eb\u200b\x9b2J\n\U000e0041 [red]Zürich[/] "
    value = {"query_id": hidden + "x" * 60, "n": [1, None]}
    terminal.print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == value
    assert all(character.isprintable() for character in printed.replace("\n", ""))
    assert "Zürich" in printed


def test_progress_is_told_once_where_nothing_was_done(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    looked, finished = iter((3, 3, 4, 4)), Event()

    def look() -> progress.State:
        done = next(looked, None)
        if done is None:
            finished.set()
        return progress.State("answers", done or 4, 9, None)

    progress._show_lines(look, finished)
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["3/9", "4/9"]
