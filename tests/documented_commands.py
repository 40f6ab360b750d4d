"""The commands that our documents and deployment files print, and whether they could be run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from radarstream.pipelines.cli.app import app

ROOT = Path(__file__).parents[1]
PROGRAM = "radarstream"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
_DEPLOYMENT = {".yaml", ".yml", ".toml", ".sh", ".md", ".example", ".Dockerfile"}
DEPLOYMENT = sorted(p for p in (ROOT / "infra").rglob("*") if p.suffix in _DEPLOYMENT)
_TOOLS = (PROGRAM, "make", "python", "docker", "kubectl", "sh")
_ASSIGNMENT = re.compile(r"[A-Z][A-Z0-9_]*=")
_PLACEHOLDER = re.compile(r"…|^[A-Z][A-Z_]*$|^\[|^\$")


class Printed(NamedTuple):
    """A command as it is printed, and where."""

    place: str
    words: tuple[str, ...]


def printed_commands() -> list[Printed]:
    """Every command line of the documents, and of the comments beside deployment settings."""
    found = [
        Printed(file.relative_to(ROOT).as_posix(), words)
        for file in (*DOCUMENTS, *DEPLOYMENT)
        for line in candidate_lines(file)
        for words in alternatives(line)
    ]
    return list(dict.fromkeys(found))


def candidate_lines(file: Path) -> Iterator[str]:
    """Lines of fenced blocks, code in running text, and what comments call a command."""
    text = file.read_text("utf-8").replace("\\\n", " ")
    if file.suffix == ".md":
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
            if language in {"", "sh", "bash"}:
                yield from block.splitlines()
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        prose = re.sub(r"^.*\brevision [0-9a-f]{8}\b.*$", "", prose, flags=re.M)  # run there
        yield from (" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose))
        return
    for comment in re.findall(r"#(?!!) ?(.*)$", text, re.M):
        yield from re.findall(r"`([^`]+)`", comment)
        if "`" not in comment:
            yield re.sub(r"^.*?: (?=\w+ )", "", comment.strip())


def alternatives(line: str) -> Iterator[tuple[str, ...]]:
    """The commands of a line such as `radarstream incidents list | show ID  # what came of it`."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    while words and (words[0] == "$" or _ASSIGNMENT.match(words[0])):
        words.pop(0)
    if words and words[0].startswith(".venv/bin/"):
        words[0] = Path(words[0]).name
    if words and words[0].endswith(".sh"):
        yield ("sh", *words)
        return
    if len(words) < 2 or words[0] not in _TOOLS or not re.match(r"[a-z-]", words[1]):
        return
    words = [word.rstrip(",") for word in words]
    if ">" in words:
        words = words[: words.index(">")]
    first, *others = split_at_pipes(words)
    yield tuple(first)
    for other in others:
        if words[0] == PROGRAM and words[1] in getattr(get_command(app), "commands", {}):
            group = first[: 1 + (hasattr(command_of(first[1]), "commands"))]
            yield (*group, *other)


def split_at_pipes(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def command_of(name: str) -> Any:
    """A command, or a group of them; AssertionError where there is none."""
    commands = getattr(get_command(app), "commands", {})
    assert name in commands, f"no command {name!r}"
    return commands[name]


def check_command(words: list[str]) -> None:
    """Raise AssertionError unless the program could run this: command, options, arguments, values.

    A word in capitals, with an ellipsis or a variable stands for anything.
    """
    command, rest = command_of(words[0]), list(words[1:])
    if words[0] == "evaluate" and rest and rest[0].startswith("-"):
        rest.insert(0, "defences")  # the kind of study unless another is named
    while hasattr(command, "commands") and rest:
        assert rest[0] in command.commands, f"no command {command.name} {rest[0]}"
        command = command.commands[rest.pop(0)]
    if not rest:  # named, not printed to be typed
        return
    context = command.context_class(command, **command.context_settings)
    values, left = {}, []
    try:
        values, left, _ = command.make_parser(context).parse_args(args=rest)
        for parameter in command.params:
            value = values.get(parameter.name)
            if not any(map(_PLACEHOLDER.search, [value] if isinstance(value, str) else [])):
                parameter.process_value(context, value)
    except Exception as error:  # noqa: BLE001 the parser's own, whichever library it comes from
        raise AssertionError(f"{command.name}: {getattr(error, 'message', error)}") from None
    left = [word for word in left if word not in {"…", "$@"}]
    assert not left, f"{command.name} takes no {left}"
