"""Entry point: registers the commands and turns the project's errors into exit codes.

Exit codes: 0 done; 1 a model, database or input failed; 2 wrong usage or settings.
"""

import sys

import typer

from pipelines.cli.doctor import doctor
from pipelines.cli.replay import replay
from pipelines.cli.report import report
from pipelines.cli.simulate import simulate
from pipelines.cli.terminal import stderr
from schemas.errors import ConfigurationError, RadarstreamError

app = typer.Typer(
    name="radarstream",
    help="Trustworthy answers from web search that changes and lies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(simulate)
app.command()(replay)
app.command()(report)
app.command()(doctor)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except RadarstreamError as error:
        stderr.print(f"error: {error}", style="bold red", markup=False, highlight=False)
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)
