"""Entry point: registers the commands and turns the project's errors into exit codes.

Exit codes: 0 done; 1 a model, database, broker or input failed; 2 wrong usage or settings; 3 too
many inputs of a job are dead.
"""

import logging
import signal
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.cli.alert import alert
from radarstream.pipelines.cli.attribute import attribute
from radarstream.pipelines.cli.backfill import backfill
from radarstream.pipelines.cli.corpus import app as corpus
from radarstream.pipelines.cli.deadletter import app as deadletter
from radarstream.pipelines.cli.doctor import doctor
from radarstream.pipelines.cli.evaluate import evaluate
from radarstream.pipelines.cli.evaluate_attribution import evaluate_attribution
from radarstream.pipelines.cli.evaluate_sources import evaluate_sources
from radarstream.pipelines.cli.help import SETTINGS as HELP
from radarstream.pipelines.cli.help import Commands
from radarstream.pipelines.cli.ingest import ingest
from radarstream.pipelines.cli.quarantine import app as quarantine
from radarstream.pipelines.cli.replay import replay
from radarstream.pipelines.cli.report import report
from radarstream.pipelines.cli.report_attributions import report_attributions
from radarstream.pipelines.cli.report_wrong import report_wrong
from radarstream.pipelines.cli.reports import app as reports
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


app.command()(simulate)
app.command()(replay)
app.command()(report)
app.command()(evaluate)
app.command()(evaluate_attribution)
app.command("evaluate-sources")(evaluate_sources)
app.command()(doctor)
app.command()(ingest)
app.command()(run)
app.command()(submit)
app.command()(tail)
app.command()(alert)
app.command()(watch)
app.command()(backfill)
app.command("report-wrong")(report_wrong)
app.command("report-attributions")(report_attributions)
app.command()(attribute)
app.add_typer(sources, name="sources", cls=Commands)
app.add_typer(state, name="state", cls=Commands)
app.add_typer(corpus, name="corpus", cls=Commands)
app.add_typer(topics, name="topics", cls=Commands)
app.add_typer(deadletter, name="deadletter", cls=Commands)
app.add_typer(reports, name="reports", cls=Commands)
app.add_typer(quarantine, name="quarantine", cls=Commands)


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
