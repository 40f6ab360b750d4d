"""`radarstream run`: the process that answers."""

from typing import Annotated

import typer
from pydantic import ValidationError
from typer import Option

from radarstream.connectors.kafka.clients import check_security
from radarstream.pipelines.build import check_settings
from radarstream.pipelines.cli.options import (
    ModelOptions,
    Once,
    RerankerOptions,
    RuleOptions,
    StartOver,
)
from radarstream.pipelines.settings import JobSettings, Settings
from radarstream.pipelines.settings.loading import reason


def run(
    *,
    chosen: ModelOptions,
    reranking: RerankerOptions,
    rule: RuleOptions,
    partitions: Annotated[
        str,
        Option(
            help="Read these partitions only, e.g. '0,1,2', whatever job.membership says;"
            " default: all, or those that the group gives."
        ),
    ] = "",
    group: Annotated[
        bool,
        Option(
            "--group",
            help="Share the partitions with other workers of the group, whatever job.partitions"
            " says.",
        ),
    ] = False,
    once: Once = False,
    start_over: StartOver = False,
) -> None:
    """Answer every snapshot of the topic until it is stopped.

    Reads search.snapshots, keeps one memory row per query in the state database, writes
    answers.defended, events.attribution and snapshots.deadletter. SIGTERM finishes the batch in
    hand and exits 0. Exit code 3: too many inputs are dead. If the database or the broker cannot
    be reached at the start, the job waits for it, but not with --once.
    """
    settings = reranking.over(rule.over(chosen.settings()))
    settings = job_settings(settings, partitions, group)
    check_settings(settings)
    check_security(settings.kafka)
    from radarstream.pipelines.job.answering.running import run_job  # takes seconds

    run_job(settings, drain=once, start_over=start_over)


def job_settings(settings: Settings, partitions: str, group: bool) -> Settings:
    """Lay the options over the settings of the job; they decide who divides the partitions."""
    if group and partitions:
        raise typer.BadParameter("--group and --partitions exclude each other")
    changes: dict[str, object] = {"membership": "group", "partitions": ()} if group else {}
    if partitions:
        try:
            numbers = tuple(int(number) for number in partitions.split(","))
        except ValueError:
            raise typer.BadParameter(f"not a list of numbers: {partitions!r}") from None
        changes = {"membership": "assign", "partitions": numbers}
    try:
        job = JobSettings.model_validate(settings.job.model_dump() | changes)
    except ValidationError as error:
        raise typer.BadParameter(f"--partitions {reason(error.errors()[0])}") from None
    return settings.model_copy(update={"job": job})
