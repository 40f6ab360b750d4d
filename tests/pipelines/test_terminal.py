"""What commands print of what others wrote."""

import json

import pytest

from pipelines.cli import terminal


def test_json_on_a_terminal_is_inert_and_still_the_same_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "stdout", terminal.Console(width=20))
    value = {
        "query_id": "a\u202eb\u200b\x9b2J\n\U000e0041 [red]Zürich[/] " + "x" * 60,
        "n": [1, None],
    }
    terminal.print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == value
    assert all(character.isprintable() for character in printed.replace("\n", ""))
    assert "Zürich" in printed
