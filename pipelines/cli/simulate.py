"""`radarstream simulate`: write a search history whose truths change."""

import re
from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.connectors.files.directory_lock import make_directory
from radarstream.pipelines.cli.terminal import print_path
from radarstream.pipelines.evaluation.simulation.history import SimulationOptions, write_history
from radarstream.schemas.errors import ConfigurationError

SPAN = re.compile(r"(\d+)(?:-(\d+))?")


def simulate(
    out: Annotated[Path, Option(help="File to write.")] = Path("build/history.json"),
    questions: Annotated[int, Option(help="How many questions.")] = 40,
    years: Annotated[str, Option(help="Years to choose from, e.g. 2012-2024.")] = "2012-2024",
    snapshots: Annotated[str, Option(help="Snapshots per question, from-to.")] = "4-8",
    k: Annotated[int, Option(help="Documents per snapshot.")] = 10,
    stale: Annotated[float, Option(help="Share of pages that claim an earlier truth.")] = 0.1,
    noise: Annotated[float, Option(help="Share of noise and partial answers.")] = 0.15,
    off_topic: Annotated[float, Option(help="Share of pages without an answer.")] = 0.2,
    seed: Annotated[int, Option(help="The same seed gives the same bytes.")] = 0,
) -> None:
    """Write a yearly search history about questions whose answers really changed.

    Questions beyond the bundled facts are about invented places.
    """
    first, last = _span(years, "--years")
    fewest, most = _span(snapshots, "--snapshots")
    options = SimulationOptions(
        questions=questions,
        k=k,
        years=tuple(range(first, last + 1)),
        min_snapshots=fewest,
        max_snapshots=most,
        stale_share=stale,
        noise_share=noise,
        off_topic_share=off_topic,
        seed=seed,
    )
    make_directory(out.parent)
    write_history(out, options)
    print_path(f"{questions} questions", out)


def _span(text: str, option: str) -> tuple[int, int]:
    """Read `first-last` or a single number."""
    match = SPAN.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{option} must be a number or first-last, got {text!r}")
    return int(match[1]), int(match[2] or match[1])
