"""What --help shows at the width of a terminal, for every command there is."""

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import typer
from typer.main import get_command

from radarstream.pipelines.cli.app import app
from radarstream.pipelines.cli.commands import panels
from radarstream.pipelines.settings import Profile

WIDTHS = (80, 120)


def commands(command: Any, above: typer.Context | None = None) -> Iterator[Any]:
    """Every command with its context, groups included."""
    context = command.context_class(
        command, info_name=command.name, parent=above, **command.context_settings
    )
    yield context
    for below in getattr(command, "commands", {}).values():
        yield from commands(below, context)


CONTEXTS = list(commands(get_command(app)))


def shown(context: Any, width: int) -> list[str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLUMNS", str(width))
        return str(context.command.get_help(context)).splitlines()


def flowing(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("context", CONTEXTS, ids=lambda c: c.command_path)
def test_nothing_is_cut_and_paragraphs_flow(context: Any, width: int) -> None:
    lines = shown(context, width)
    text = flowing(lines)
    assert max(map(len, lines)) <= width
    assert "…" not in text.replace("pia, …", "")
    assert [line for line in lines if line.rstrip().endswith("-")] == []  # broken within a name
    for option in context.command.get_params(context):
        names = (*option.opts, *option.secondary_opts)
        for name in (name for name in names if name.startswith("-")):
            assert name in text
        if getattr(option, "help", None):
            assert flowing(option.help.splitlines()) in text
    for paragraph in (context.command.help or "").split("\n\n"):
        assert flowing(paragraph.splitlines()) in text
        assert not ragged(paragraph, lines, width)


def ragged(paragraph: str, lines: list[str], width: int) -> bool:
    """Whether a line of the paragraph ends before the next word had to be on another one."""
    whole = f" {flowing(paragraph.splitlines())} "
    own = [line for line in lines if line.startswith("  ") and f" {line.strip()} " in whole]
    for line, following in zip(own, own[1:], strict=False):
        if len(line) + 1 + len(following.split()[0]) <= width - 2:
            return True
    return False


def test_groups_tell_whole_sentences_of_their_commands() -> None:
    for context in CONTEXTS[1:]:
        text = flowing(shown(context, 80))
        for below in getattr(context.command, "commands", {}).values():
            first = (below.help or "").partition("\n\n")[0]
            assert f"{below.name} {flowing(first.splitlines())}" in text


def test_commands_are_grouped_by_what_they_are_for() -> None:
    titles = {f"{panel}:": names for panel, (_, names) in panels().items()}
    found: dict[str, list[str]] = {}
    for line in shown(CONTEXTS[0], 80):
        if line in titles:
            found[line] = []
        elif found and re.match(r"  \S", line):
            found[list(found)[-1]].append(line.split()[0])
    assert found == {title: list(names) for title, names in titles.items()}
    text = flowing(shown(CONTEXTS[0], 80))
    told = [f"{name} {does}" for _, names in panels().values() for name, does in names.items()]
    assert [words for words in told if words not in text] == []


def test_profiles_are_named() -> None:
    texts = [flowing(shown(context, 80)) for context in CONTEXTS]
    told = [text for text in texts if "--profile PROFILE" in text]
    assert len(told) == 14
    assert all(f"one of: {', '.join(get_args(Profile))}." in text for text in told)


def test_one_option_stops_every_lasting_command_at_the_end() -> None:
    commands = CONTEXTS[0].command.commands
    for name in ("run", "submit", "attribute", "watch", "tail", "alert"):
        for given in ["--once"], []:
            typed = [*given, "--job-endpoint", "a:1"] if name == "submit" else list(given)
            with commands[name].make_context(name, typed, parent=CONTEXTS[0]) as context:
                assert context.params["once"] is bool(given)
