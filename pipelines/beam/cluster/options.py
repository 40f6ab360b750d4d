"""How a job is handed to a cluster: what was asked for, as Beam's pipeline options."""

from apache_beam.options.pipeline_options import FlinkRunnerOptions, PipelineOptions

from radarstream.pipelines.beam.cluster.submission import Submission
from radarstream.schemas.errors import ConfigurationError

JOB_SERVER_S = 60  # how long to wait for a job server to answer
RUNNERS = {"flink": "FlinkRunner", "portable": "PortableRunner"}


def check_version(submission: Submission) -> None:
    """Raise ConfigurationError for a Flink that Beam has no job server for."""
    known = FlinkRunnerOptions.PUBLISHED_FLINK_VERSIONS
    if submission.flink_version not in known:
        raise ConfigurationError(
            f"no Beam job server for Flink {submission.flink_version}; there are {known}"
        )


def arguments(submission: Submission, *, streaming: bool) -> list[str]:
    """Return the options as Beam's command line spells them.

    Those from `checkpointing_interval` on belong to Flink's job server. Python's Beam does not know
    them and passes them on; a job server that does not know them either leaves them out.
    """
    given = [
        f"--runner={RUNNERS[submission.runner]}",
        f"--job_name={submission.job_name}",
        f"--environment_type={submission.environment}",
        f"--parallelism={submission.parallelism}",
    ]
    if streaming:
        given.append("--streaming")
    if submission.environment == "EXTERNAL":
        given.append(f"--environment_config={submission.worker_pool}")
    if submission.job_endpoint:
        given.append(f"--job_endpoint={submission.job_endpoint}")
        given.append(f"--job_server_timeout={JOB_SERVER_S}")
    if submission.runner == "flink":
        given += [
            f"--flink_master={submission.flink_master}",
            f"--flink_version={submission.flink_version}",
        ]
        if submission.job_server_jar:
            given.append(f"--flink_job_server_jar={submission.job_server_jar}")
    if streaming:
        given += [
            f"--checkpointing_interval={round(submission.checkpoint_s * 1_000)}",
            "--checkpointing_mode=EXACTLY_ONCE",
            "--externalized_checkpoints_enabled",
            "--retain_externalized_checkpoints_on_cancellation",
        ]
    if submission.savepoint:
        given.append(f"--savepoint_path={submission.savepoint}")
    return given


def pipeline_options(submission: Submission, *, streaming: bool) -> PipelineOptions:
    """Return Beam's options for a submission."""
    return PipelineOptions(arguments(submission, streaming=streaming))


def model_hints(accelerator: str, memory: str) -> dict[str, str]:
    """Return resource hints for the stages that call models; those not given are left out."""
    given = {"accelerator": accelerator, "min_ram": memory}
    return {name: value for name, value in given.items() if value}
