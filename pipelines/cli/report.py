"""`radarstream report`: render the HTML report of a finished replay again."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.run_files import read_results, write_report
from pipelines.cli.terminal import print_path


def report(
    directory: Annotated[Path, typer.Argument(help="The --out directory of a replay.")],
) -> None:
    """Render the HTML report of a finished replay again."""
    print_path("report", write_report(directory, read_results(directory)))
