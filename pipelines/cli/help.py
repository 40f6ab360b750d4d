"""Help texts: paragraphs flow with the terminal, and no name, choice or sentence is cut."""

from inspect import cleandoc
from typing import Any

from typer.core import TyperGroup

WIDEST = 120  # columns; longer lines are hard to read
SETTINGS: dict[str, Any] = {"max_content_width": WIDEST}


class Commands(TyperGroup):
    """Commands with the whole first paragraph of their help, which the library would cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a row for every command, in the order of their registration."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, summary(command.help or "")) for name, command in found if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def summary(help_text: str) -> str:
    """The first paragraph on one line."""
    return " ".join(cleandoc(help_text).partition("\n\n")[0].split())
