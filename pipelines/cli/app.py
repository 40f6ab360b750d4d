"""Entry point: runs a command and turns the project's errors into exit codes.

0 done; 1 a model, database, broker or input failed, or nothing has the given id; 2 wrong usage or
settings; 3 too many inputs of a job are dead.
"""

import gc
import logging
import signal
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from radarstream.pipelines.cli.commands import HELP, Program
from radarstream.pipelines.cli.ending import lasting, take_signals
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.plugins import naming_extra

ERROR_CHARACTERS = 2_000
NEW_OBJECTS = 50_000  # between two searches for garbage

app = typer.Typer(
    name="radarstream",
    help="Trustworthy answers from web search that changes and lies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables cut long names and choices where the terminal is narrow
    cls=Program,
    context_settings=HELP,
)


def show_version(wanted: bool) -> None:
    """Print the version and end, if it is asked for."""
    if wanted:
        typer.echo(version("radarstream"))
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take what stands before a command."""


def main() -> None:
    """Run the command line."""
    # Libraries are loaded into many objects that stay: with the default of 700, a sixth of a short
    # command is spent on searching them for garbage.
    gc.set_threshold(NEW_OBJECTS)
    take_signals()
    if not lasting():  # it may have something to say
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Beam logs what it raises again, with a traceback of its own.
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    try:
        with naming_extra():
            app()
    except Exception as error:
        if not isinstance(error, (RadarstreamError, OSError, *database_errors())):
            raise
        from radarstream.pipelines.cli.terminal import note

        remedy = getattr(error, "remedy", "")
        told = f"{error}; {remedy}" if remedy and remedy not in str(error) else str(error)
        note(f"error: {told}", ERROR_CHARACTERS, style="bold red")
        sys.exit(getattr(error, "exit_code", 1))


def database_errors() -> tuple[type[Exception], ...]:
    """What the database library raises; nothing where no command has imported it."""
    if "sqlalchemy" not in sys.modules:
        return ()
    from sqlalchemy.exc import SQLAlchemyError

    return (SQLAlchemyError,)
