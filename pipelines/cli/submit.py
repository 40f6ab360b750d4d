"""`radarstream submit`: hand the job to a cluster through Beam."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError
from rich.table import Table
from sqlalchemy import make_url

from radarstream.pipelines.beam.cluster.submission import Submission
from radarstream.pipelines.build import build_methods
from radarstream.pipelines.cli.options import AsJson, ChosenProfile, Config, Once, StartOver
from radarstream.pipelines.cli.terminal import cell, note, print_json, stderr, stdout
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.settings.problems import reason
from radarstream.schemas.errors import ConfigurationError

INTERRUPTED = 130  # what shells report for Ctrl-C


def submit(
    config: Config = None,
    profile: ChosenProfile = None,
    runner: Annotated[
        Literal["flink", "portable"],
        typer.Option(help="flink: start a job server here; portable: use a running one."),
    ] = "flink",
    flink_master: Annotated[
        str, typer.Option(help="host:port of the job manager, or [local] for one in the server.")
    ] = "[local]",
    flink_version: Annotated[str, typer.Option(help="Version of the Flink cluster.")] = "1.20",
    job_server_jar: Annotated[
        Path | None,
        typer.Option(help="Jar of Beam's Flink job server, if it cannot be downloaded."),
    ] = None,
    job_endpoint: Annotated[
        str, typer.Option(help="host:port of the job server; also 'embed' with --once.")
    ] = "",
    job_name: Annotated[str, typer.Option(help="Name of the job on the cluster.")] = "radarstream",
    parallelism: Annotated[int, typer.Option(min=1, help="Number of parallel workers.")] = 1,
    environment: Annotated[
        Literal["LOOPBACK", "EXTERNAL"],
        typer.Option(help="Python runs in this process, or in a worker pool beside the cluster."),
    ] = "EXTERNAL",
    worker_pool: Annotated[
        str, typer.Option(help="host:port of the pool, as the cluster's workers see it.")
    ] = "localhost:50000",
    checkpoint_seconds: Annotated[
        float, typer.Option(min=1.0, help="Time between checkpoints.")
    ] = 30.0,
    idle_seconds: Annotated[
        float, typer.Option(min=0.0, help="How far event time lags the clock in quiet partitions.")
    ] = 5.0,
    savepoint: Annotated[str, typer.Option(help="Continue from this savepoint.")] = "",
    accelerator: Annotated[
        str, typer.Option(help="Resource hint of model stages, e.g. 'type:nvidia-l4;count:1'.")
    ] = "",
    model_memory: Annotated[
        str, typer.Option(help="Resource hint of model stages, e.g. '16GB'.")
    ] = "",
    once: Once = False,
    start_over: StartOver = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave the job to the job server and return.")
    ] = False,
    print_options: Annotated[
        bool, typer.Option("--print-options", help="Show Beam's options, and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Submit the job to a Flink cluster or another portable runner.

    The same stages and the same state table as `radarstream run`; records are put into event-time
    order by the runner. Secrets and model weights are the workers' own: they are not sent.
    """
    settings = load_settings(config, profile=profile)
    build_methods(settings)
    given: dict[str, Any] = {
        "runner": runner,
        "flink_master": flink_master,
        "flink_version": flink_version,
        "job_server_jar": job_server_jar,
        "job_endpoint": job_endpoint,
        "job_name": job_name,
        "parallelism": parallelism,
        "environment": environment,
        "worker_pool": worker_pool,
        "checkpoint_s": checkpoint_seconds,
        "savepoint": savepoint,
    }
    submission = checked(given)
    try:
        check_reach(settings, submission, detach=detach)
    except ConfigurationError as error:
        if not print_options:
            raise
        note(f"warning: {error}")
    if submission.job_endpoint == "embed" and not once:
        raise ConfigurationError(
            "the runner in this process has no working event time, so nothing would come out: "
            "give --once, or use `radarstream run`"
        )
    from radarstream.pipelines.beam.cluster import job as cluster  # takes seconds

    cluster.check_version(submission)
    hints = cluster.model_hints(accelerator, model_memory)
    if print_options:
        show(cluster.arguments(submission, streaming=not once), hints, as_json=as_json)
        return
    outside = cluster.Outside(settings, until_end=once, start_over=start_over)
    options = cluster.pipeline_options(submission, streaming=not once)
    pipeline = cluster.build_pipeline(
        settings, outside, options, idle_s=idle_seconds, model_hints=hints
    )
    state = handed_over(pipeline, detach=detach)
    if as_json:
        print_json({"job": job_name, "state": state})
    else:
        stdout.print(f"job {job_name}: {state}", markup=False, highlight=False)


def checked(given: dict[str, Any]) -> Submission:
    """Return what was asked for; ConfigurationError naming what is wrong."""
    try:
        return Submission.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])).replace('_', '-') or 'submit'} {reason(e)}"
            for e in error.errors()
        )
        raise ConfigurationError(problems) from None


def check_reach(settings: Settings, submission: Submission, *, detach: bool) -> None:
    """Refuse what workers elsewhere could not use."""
    if submission.environment == "EXTERNAL" and settings.database.startswith("sqlite"):
        raise ConfigurationError(
            "workers on several machines cannot share an SQLite file: "
            "set `database` to postgresql://…, or run Python here with --environment LOOPBACK"
        )
    url = make_url(settings.database)
    if url.password or any("password" in name for name in url.query):
        raise ConfigurationError(
            "the password in `database` would be sent with the job: "
            "leave it out, and set PGPASSWORD where the workers run"
        )
    if detach and (submission.environment == "LOOPBACK" or submission.runner == "flink"):
        raise ConfigurationError(
            "--detach needs --runner portable and --environment EXTERNAL: "
            "otherwise a part of the job ends with this process"
        )


def handed_over(pipeline: Any, *, detach: bool) -> str:
    """Submit, wait unless told not to, and return the job's state."""
    from radarstream.pipelines.beam.cluster.job import submit, wait

    result = submit(pipeline)
    if detach:
        return "submitted"
    stderr.print("submitted; waiting until the job ends (Ctrl-C cancels it)", highlight=False)
    try:
        return wait(result)
    except KeyboardInterrupt:
        result.cancel()
        raise typer.Exit(INTERRUPTED) from None


def show(arguments: list[str], hints: dict[str, str], *, as_json: bool) -> None:
    """Print Beam's options and the resource hints of the model stages."""
    pairs = [argument.removeprefix("--").partition("=") for argument in arguments]
    options = {name: value if given else "true" for name, given, value in pairs}
    if as_json:
        print_json({"options": options, "model_hints": hints})
        return
    table = Table("option", "value", title="Beam pipeline options")
    for name, value in options.items():
        table.add_row(name, cell(value, limit=200))
    for name, value in hints.items():
        table.add_row(f"model stages: {name}", cell(value, limit=200))
    stdout.print(table)
