"""`radarstream report`: render the HTML report of a finished replay again."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.run_files import read_results, write_report
from pipelines.cli.terminal import stdout


def report(
    directory: Annotated[Path, typer.Argument(help="The --out directory of a replay.")],
) -> None:
    """Render the HTML report of a finished replay again."""
    file = write_report(directory, read_results(directory))
    stdout.print(str(file), highlight=False, soft_wrap=True)
