"""Which commands there are. A command's module is imported when the command runs, not before."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Final, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_group

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import load_plugin, naming_extra, plugins

# By section of the help. A command is a function of the module that has its name, with underscores;
# a group of commands is the `app` there. Plug-ins of the group `commands` are packages of such
# modules with a `PANEL` and `COMMANDS` of their own.
PANELS: Final = {
    "Answer": {
        "ask": "Answer one question, over a corpus, a search, or documents that you give.",
        "check": "Say whether documents support a claim or contradict it.",
        "serve": "Answer questions over HTTP until it is stopped.",
        "mcp": "Offer tools to an agent that starts this command: ask, answer_history, and others.",
        "replay": "Replay a search history and defend every answer.",
        "run": "Answer every snapshot of the topic until it is stopped.",
        "submit": "Submit the job to a Flink cluster or another portable runner.",
    },
    "Collect": {
        "watch": "Search for every query of a watchlist on schedule and publish the snapshots.",
        "ingest": "Publish every snapshot of a search history, oldest first.",
        "backfill": "Search for every query in every past period; show the cost first.",
        "corpus": "Store documents and search them.",
    },
    "Follow the answers": {
        "tail": "Show new answers, attribution events and forgotten queries, each once.",
        "alert": "Send every answer that changed to a webhook and to people.",
        "verify": "Compute again what follows from the events of answers, and name what does not.",
    },
    "When an answer is wrong": {
        "complain": "Say that an answer is wrong.",
        "attribute": "Find out, until it is stopped, which texts taught the wrong answers.",
        "incidents": "Show answers that somebody complained about, and decide.",
        "quarantine": "Show or release texts that taught a wrong answer.",
        "sources": "Show which sites taught wrong answers; block or pardon sites.",
    },
    "Operate": {
        "doctor": "Show what works on this machine, what is missing and how to get it.",
        "topics": "Create or describe the Kafka topics.",
        "state": "Show, export and import the state database; forget a query.",
        "users": "Add users of the service, list and revoke them.",
        "deadletter": "List, show and replay records that led to no answer.",
    },
}
HELP: Final[dict[str, Any]] = {"max_content_width": 120}  # longer lines are hard to read
ANYTHING: Final = {"ignore_unknown_options": True, "allow_extra_args": True}


class Commands(TyperGroup):
    """Commands with the whole first paragraph of their help, which the library would cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 click passes it
        """Write the commands in the order of their registration."""
        rows = [
            (name, " ".join((command.help or "").partition("\n\n")[0].split()))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Program(TyperGroup):
    """The group of all commands."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.commands = _Commands()  # type: ignore[assignment]  # click only reads it

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 click passes it
        """Write every command with what it does."""
        for panel, (_, commands) in panels().items():
            with formatter.section(panel):
                formatter.write_dl([*commands.items()])


def panels() -> dict[str, tuple[str, dict[str, str]]]:
    """By title of a section of the help: the package of its commands, and what each does."""
    found = {title: ("radarstream.pipelines.cli", held) for title, held in PANELS.items()}
    for name in plugins("commands"):
        # A plug-in that is not whole takes nothing else along, and replaces no section of ours.
        with suppress(ConfigurationError, AttributeError):
            package = load_plugin("commands", name)
            found.setdefault(package.PANEL, (package.__name__, package.COMMANDS))
    return found


class _Commands(Mapping[str, Any]):
    """The commands by name, imported when one is asked for."""

    def __getitem__(self, name: str) -> Any:
        attribute = name.replace("-", "_")
        package = self._packages()[name]
        group = typer.Typer(rich_markup_mode=None, context_settings=HELP)
        group.callback()(lambda: None)
        try:
            with naming_extra():
                module = import_module(f"{package}.{attribute}")
        except ConfigurationError as error:
            does = next(held[name] for _, held in panels().values() if name in held)
            group.command(name, context_settings=HELP | ANYTHING)(lacking(error, does))
            return get_group(group).commands[name]
        if hasattr(module, "app"):
            group.add_typer(module.app, name=name, cls=getattr(module, "Group", Commands))
        else:
            group.command(name)(with_options(getattr(module, attribute)))
        return get_group(group).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._packages())

    def __len__(self) -> int:
        return len(self._packages())

    @staticmethod
    def _packages() -> dict[str, str]:
        """The package of each command."""
        return {name: package for package, held in panels().values() for name in held}


def lacking(error: ConfigurationError, does: str) -> Callable[[], None]:
    """A command whose extra is missing: its help says so, and to run it raises the error."""

    def command() -> None:
        raise error

    command.__doc__ = f"{does}\n\n{error}"
    return command


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its parameters that are dataclasses as options of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: dict[str, tuple[Any, Any]] = {}  # annotation and default
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            options |= {
                field.name: (kinds[field.name], field.default) for field in fields(groups[name])
            }
        else:
            options[name] = (hints[name], parameter.default)

    def called(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    called.__doc__ = command.__doc__
    called.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )
            for name, (kind, default) in options.items()
        ]
    )
    return called
