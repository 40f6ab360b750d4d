"""`radarstream simulate`: write a search history whose truths change."""

import re
from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.connectors.files.directories import make_directory
from radarstream.lab.simulation.history import SimulationOptions, write_history
from radarstream.pipelines.cli.terminal import print_path
from radarstream.schemas.errors import ConfigurationError

SPAN = re.compile(r"(\d+)(?:-(\d+))?")


def simulate(
    out: Annotated[Path, Option(help="File to write.")] = Path("build/history.json"),
    questions: Annotated[int, Option(help="How many questions.")] = 40,
    snapshots: Annotated[str, Option(help="Snapshots per question, from-to.")] = "4-8",
    k: Annotated[int, Option(help="Documents per snapshot.")] = 10,
    off_topic: Annotated[
        float, Option(help="Pages off the topic: each question's share is drawn from 0.2 to this.")
    ] = 0.2,
    seed: Annotated[int, Option(help="The same seed gives the same bytes.")] = 0,
) -> None:
    """Write a yearly search history about questions whose answers really changed. Questions beyond
    the bundled facts are about invented places.
    """
    span = SPAN.fullmatch(snapshots)
    if span is None:
        raise ConfigurationError(f"--snapshots is a number or first-last, got {snapshots!r}")
    options = SimulationOptions(
        questions=questions,
        k=k,
        min_snapshots=int(span[1]),
        max_snapshots=int(span[2] or span[1]),
        off_topic=off_topic,
        seed=seed,
    )
    make_directory(out.parent)
    write_history(out, options)
    print_path(f"{questions} questions", out)
