"""Help texts: paragraphs flow with the terminal, and no name, choice or sentence is cut."""

from inspect import cleandoc
from typing import Any, Final

from typer.core import TyperGroup

WIDEST = 120  # columns; longer lines are hard to read
FORMER: Final = dict.fromkeys(("drain", "until-end", "no-follow"), "once")  # options' old names
SETTINGS: dict[str, Any] = {
    "max_content_width": WIDEST,
    "token_normalize_func": lambda name: FORMER.get(name, name),
}


class Commands(TyperGroup):
    """Commands with the whole first paragraph of their help, which the library would cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for every panel, its commands in the order of their registration."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                panel = getattr(command, "rich_help_panel", None) or "Commands"
                panels.setdefault(str(panel), []).append((name, summary(command.help or "")))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def summary(help_text: str) -> str:
    """The first paragraph on one line."""
    return " ".join(cleandoc(help_text).partition("\n\n")[0].split())
