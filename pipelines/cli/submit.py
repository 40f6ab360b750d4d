"""`radarstream submit`: hand the job to a cluster through Beam."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError
from sqlalchemy import make_url
from typer import Option

from radarstream.pipelines.build import check_settings
from radarstream.pipelines.cli.options import (
    AsJson,
    ModelOptions,
    Once,
    RerankerOptions,
    RuleOptions,
    StartOver,
)
from radarstream.pipelines.cli.terminal import note, print_table, printed, say
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import Submission
from radarstream.pipelines.settings.loading import reason
from radarstream.schemas.errors import ConfigurationError

INTERRUPTED = 130  # what shells report for Ctrl-C


@dataclass(frozen=True)
class Placement:
    """Where and how the job is to run; the fields of a `Submission`."""

    job_endpoint: Annotated[
        str, Option(help="host:port of the job server; also 'embed' with --once.")
    ]
    job_name: Annotated[str, Option(help="Name of the job on the cluster.")] = "radarstream"
    parallelism: Annotated[int, Option(min=1, help="Number of parallel workers.")] = 1
    environment: Annotated[
        Literal["LOOPBACK", "EXTERNAL"],
        Option(help="Python runs in this process, or in a worker pool beside the cluster."),
    ] = "EXTERNAL"
    worker_pool: Annotated[
        str, Option(help="host:port of the pool, as the cluster's workers see it.")
    ] = "localhost:50000"
    checkpoint_seconds: Annotated[float, Option(min=1.0, help="Time between checkpoints.")] = 30.0
    savepoint: Annotated[str, Option(help="Continue from this savepoint or checkpoint.")] = ""

    def checked(self) -> Submission:
        """The same as a submission. Raises ConfigurationError naming the options that are wrong."""
        try:
            return Submission.model_validate(asdict(self))
        except ValidationError as error:
            wrong = (
                f"{str(details['loc'][0]).replace('_', '-')} {reason(details)}"
                for details in error.errors()
            )
            raise ConfigurationError("; ".join(wrong)) from None


def submit(
    *,
    chosen: ModelOptions,
    reranking: RerankerOptions,
    rule: RuleOptions,
    placement: Placement,
    once: Once = False,
    start_over: StartOver = False,
    detach: Annotated[
        bool,
        Option("--detach", help="Return once the job server has the job; Flink may yet refuse it."),
    ] = False,
    print_options: Annotated[
        bool, Option("--print-options", help="Show Beam's options, and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Submit the job to a Flink cluster or another portable runner.

    The stages and the state table are those of `radarstream run`. Secrets and model weights are
    not sent: they must be where the workers run.
    """
    settings = reranking.over(rule.over(chosen.settings()))
    check_settings(settings)
    submission = placement.checked()
    try:
        _check_reach(settings, submission, detach=detach, once=once)
    except ConfigurationError as error:
        if not print_options:
            raise
        note(f"warning: {error}")
    from radarstream.pipelines.beam.cluster import job as cluster  # takes seconds

    if print_options:
        _print_options(cluster.arguments(submission, streaming=not once), as_json=as_json)
        return
    outside = cluster.Outside(settings, until_end=once, start_over=start_over)
    options = cluster.pipeline_options(submission, streaming=not once)
    result = cluster.submit(cluster.build_pipeline(settings, outside, options))
    if detach:
        note("the job server has the job; whether Flink runs it, Flink's pages tell")
        state = "submitted"
    else:
        state = _last_state(result, cluster.wait)
    if not printed({"job": submission.job_name, "state": state}, as_json):
        say(f"job {submission.job_name}: {state}")


def _check_reach(settings: Settings, submission: Submission, *, detach: bool, once: bool) -> None:
    """Raise ConfigurationError for what workers elsewhere could not use."""
    if submission.job_endpoint == "embed" and not once:
        raise ConfigurationError(
            "the runner in this process has no working timers, so nothing would come out: "
            "give --once, or use `radarstream run`"
        )
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
    if detach and submission.environment == "LOOPBACK":
        raise ConfigurationError(
            "--detach needs --environment EXTERNAL: otherwise Python ends with this process"
        )


def _last_state(result: Any, wait: Callable[[Any], str]) -> str:
    """The last state of the job, which Ctrl-C asks the job server to cancel."""
    note("submitted; waiting until the job ends (Ctrl-C asks the job server to cancel it)")
    try:
        return wait(result)
    except KeyboardInterrupt:
        result.cancel()
        note("asked to cancel it; Flink's page tells whether it has ended: if not, cancel it there")
        raise typer.Exit(INTERRUPTED) from None


def _print_options(arguments: list[str], *, as_json: bool) -> None:
    """Print Beam's options."""
    pairs = [argument.removeprefix("--").partition("=") for argument in arguments]
    options = {name: value if given else "true" for name, given, value in pairs}
    if not printed({"options": options}, as_json):
        print_table(("option", "value"), options.items(), title="Beam pipeline options")
