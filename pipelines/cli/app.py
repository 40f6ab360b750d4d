"""Entry point: registers the commands and turns the project's errors into exit codes.

Exit codes: 0 done; 1 a model, database, broker or input failed, or nothing has the given id; 2
wrong usage or settings; 3 too many inputs of a job are dead.
"""

import logging
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer
from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.cli.alert import alert
from radarstream.pipelines.cli.attribute import attribute
from radarstream.pipelines.cli.backfill import backfill
from radarstream.pipelines.cli.complain import complain
from radarstream.pipelines.cli.corpus import app as corpus
from radarstream.pipelines.cli.deadletter import app as deadletter
from radarstream.pipelines.cli.doctor import doctor
from radarstream.pipelines.cli.evaluate import evaluate
from radarstream.pipelines.cli.evaluate_attribution import evaluate_attribution
from radarstream.pipelines.cli.evaluate_sources import evaluate_sources
from radarstream.pipelines.cli.help import SETTINGS as HELP
from radarstream.pipelines.cli.help import Commands
from radarstream.pipelines.cli.incidents import app as incidents
from radarstream.pipelines.cli.ingest import ingest
from radarstream.pipelines.cli.quarantine import app as quarantine
from radarstream.pipelines.cli.replay import replay
from radarstream.pipelines.cli.report import report
from radarstream.pipelines.cli.run import run
from radarstream.pipelines.cli.simulate import simulate
from radarstream.pipelines.cli.sources import app as sources
from radarstream.pipelines.cli.state import app as state
from radarstream.pipelines.cli.submit import submit
from radarstream.pipelines.cli.tail import tail
from radarstream.pipelines.cli.terminal import note, stdout
from radarstream.pipelines.cli.topics import app as topics
from radarstream.pipelines.cli.watch import watch
from radarstream.schemas.errors import RadarstreamError

ERROR_CHARACTERS = 2_000

app = typer.Typer(
    name="radarstream",
    help="Trustworthy answers from web search that changes and lies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables cut long names and choices where the terminal is narrow
    cls=Commands,
    context_settings=HELP,
)


def show_version(wanted: bool) -> None:
    """Print the version and end, if it is asked for."""
    if wanted:
        stdout.print(version("radarstream"), highlight=False)
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Take what stands before a command."""


PANELS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Answer": {"replay": replay, "run": run, "submit": submit},
    "Collect": {"watch": watch, "ingest": ingest, "backfill": backfill, "corpus": corpus},
    "Follow the answers": {"tail": tail, "alert": alert, "report": report},
    "When an answer is wrong": {
        "complain": complain,
        "attribute": attribute,
        "incidents": incidents,
        "quarantine": quarantine,
        "sources": sources,
    },
    "Evaluate": {
        "simulate": simulate,
        "evaluate": evaluate,
        "evaluate-attribution": evaluate_attribution,
        "evaluate-sources": evaluate_sources,
    },
    "Operate": {"doctor": doctor, "topics": topics, "state": state, "deadletter": deadletter},
}
for panel, commands in PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, cls=Commands, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)


def main() -> None:
    """Run the command line."""
    # A shell without job control starts background jobs deaf to SIGINT, and every command that is
    # interrupted has something to finish or to say.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Beam logs what it raises again, with a traceback of its own.
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    try:
        app()
    except (RadarstreamError, OSError, SQLAlchemyError) as error:
        note(f"error: {error}", ERROR_CHARACTERS, style="bold red")
        sys.exit(getattr(error, "exit_code", 1))
