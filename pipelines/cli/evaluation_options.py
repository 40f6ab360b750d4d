"""What the `evaluate` commands share: options, settings, and the directory of a study."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from radarstream.connectors.files.directory_lock import hold_directory
from radarstream.pipelines.evaluation.study.harness import Study, start_over
from radarstream.pipelines.evaluation.study.plugin import Plugin
from radarstream.pipelines.evaluation.study.record import RecordT
from radarstream.pipelines.settings import Profile, Settings, load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import RadarstreamError

STATE = "state.sqlite"

Documents = Annotated[int, typer.Option("-k", min=1, help="Documents per question.")]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Only the first N questions and their documents."),
]
Out = Annotated[Path, typer.Option(help="Directory for results and answers of models.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]
Resume = Annotated[
    bool, typer.Option(help="Keep finished rows; or compute them again from cached answers.")
]


class ContenderFailedError(RadarstreamError):
    """A contender has no answer without an error."""


def study_settings(
    out: Path, config: Path | None, profile: Profile | None, *, dry_run: bool
) -> Settings:
    """The settings of a study. Unless they name a database, the models' answers are kept in OUT."""
    settings = load_settings(config, profile="scripted" if dry_run else profile)
    if "database" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"database": f"sqlite:///{out / STATE}"})


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["radarstream", *sys.argv[1:]])


@contextmanager
def opened(
    plugin: Plugin[RecordT], models: Models, out: Path, *, resume: bool
) -> Iterator[Study[RecordT]]:
    """The study in the directory, which no other run may use meanwhile; rows are forgotten unless
    it is to be resumed.
    """
    with hold_directory(out):
        if not resume:
            start_over(out, plugin)
        yield Study(plugin, models, out)


def words(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]
