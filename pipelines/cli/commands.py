"""Which commands there are. A command's module is imported when the command runs, not before:
`radarstream --help` reads what they do from their sources.
"""

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

# By section of the help: name of a command, or of a group of commands; module of this package and
# what to take from it.
PANELS: Final = {
    "Answer": {
        "ask": "ask:ask",
        "serve": "serve:serve",
        "mcp": "mcp:mcp",
        "replay": "replay:replay",
        "run": "run:run",
        "submit": "submit:submit",
    },
    "Collect": {
        "watch": "watch:watch",
        "ingest": "ingest:ingest",
        "backfill": "backfill:backfill",
        "corpus": "corpus:app",
    },
    "Follow the answers": {
        "tail": "tail:tail",
        "alert": "alert:alert",
        "report": "report:report",
        "verify": "verify:verify",
    },
    "When an answer is wrong": {
        "complain": "complain:complain",
        "attribute": "run:attribute",
        "incidents": "incidents:app",
        "quarantine": "quarantine:app",
        "sources": "sources:app",
    },
    "Evaluate": {
        "simulate": "simulate:simulate",
        "evaluate": "evaluate:evaluate",
        "evaluate-attribution": "evaluate_attribution:evaluate_attribution",
        "evaluate-retrieval": "evaluate_retrieval:evaluate_retrieval",
        "evaluate-service": "evaluate_service:evaluate_service",
        "evaluate-sources": "evaluate_sources:evaluate_sources",
    },
    "Operate": {
        "doctor": "doctor:doctor",
        "topics": "topics:app",
        "state": "state:app",
        "users": "users:app",
        "deadletter": "deadletter:app",
    },
}
COMMANDS: Final = {name: place for panel in PANELS.values() for name, place in panel.items()}
FORMER: Final = dict.fromkeys(("drain", "until-end", "no-follow"), "once")  # options' old names
HELP: Final[dict[str, Any]] = {
    "max_content_width": 120,  # longer lines are hard to read
    "token_normalize_func": lambda name: FORMER.get(name, name),
}
_PACKAGE: Final = "radarstream.pipelines.cli"


class Commands(TyperGroup):
    """Commands with the whole first paragraph of their help, which the library would cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 click passes it
        """Write the commands in the order of their registration."""
        rows = [(name, summary(command.help or "")) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Program(TyperGroup):
    """The group of all `COMMANDS`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.commands = _Commands()  # type: ignore[assignment]  # click only reads it

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 click passes it
        """Write every command with the first paragraph of its help, from its source."""
        for panel, commands in PANELS.items():
            rows = [(name, summary(_help(*place.split(":")))) for name, place in commands.items()]
            with formatter.section(panel):
                formatter.write_dl(rows)


class _Commands(Mapping[str, Any]):
    """The commands by name, imported when one is asked for."""

    def __getitem__(self, name: str) -> Any:
        module, attribute = COMMANDS[name].split(":")
        found = getattr(import_module(f"{_PACKAGE}.{module}"), attribute)
        group = typer.Typer(rich_markup_mode=None, context_settings=HELP)
        group.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            group.add_typer(found, name=name, cls=Commands)
        else:
            group.command(name)(found)
        return get_group(group).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def summary(help_text: str) -> str:
    """The first paragraph on one line."""
    return " ".join(cleandoc(help_text).partition("\n\n")[0].split())


def _help(module: str, attribute: str) -> str:
    """The docstring of a command, or the `help` of a group of commands."""
    spec: Any = find_spec(f"{_PACKAGE}.{module}")
    for node in ast.parse(spec.loader.get_source(spec.name)).body:
        match node:
            case ast.FunctionDef(name=name) if name == attribute:
                return ast.get_docstring(node) or ""
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(keywords=options)) if (
                name == attribute
            ):
                return str(next(ast.literal_eval(o.value) for o in options if o.arg == "help"))
    raise LookupError(f"{spec.name} has no {attribute}")
