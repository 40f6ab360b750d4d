"""Options that mean the same in every command that has them."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from radarstream.pipelines.settings import Profile

PROFILES = f"Models to run on, one of: {', '.join(get_args(Profile))}."

Config = Annotated[Path | None, typer.Option(metavar="FILE", help="TOML settings file.")]
ChosenProfile = Annotated[Profile | None, typer.Option(metavar="PROFILE", help=PROFILES)]
DryRun = Annotated[bool, typer.Option(show_default=False, help="Use rules in place of models.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Once = Annotated[
    bool,
    typer.Option("--once", help="Stop when the present input is processed."),
]
StartOver = Annotated[
    bool,
    typer.Option("--start-over", help="Accept an empty database although offsets are committed."),
]
TableFile = Annotated[
    Path | None,
    typer.Option("--table", metavar="FILE", help="Also write all answers as .parquet or .csv."),
]
