"""How a job is handed to a cluster: what was asked for, as Beam's pipeline options."""

from pathlib import Path
from typing import Annotated, Literal

from apache_beam.options.pipeline_options import FlinkRunnerOptions, PipelineOptions
from pydantic import Field, model_validator

from schemas.section import Section

JOB_SERVER_S = 60  # how long to wait for a job server to answer
LOCAL_MASTERS = ("[local]", "[auto]")
RUNNERS = {"flink": "FlinkRunner", "portable": "PortableRunner"}
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\[\]:-]+:[0-9]{1,5}$")]


class Submission(Section):
    """Where and how a job is to run; holds no secret.

    `flink` starts Beam's job server here, which needs Java and its jar, and talks to the Flink
    cluster itself. `portable` hands the job to a job server that runs already, Flink's or another.
    """

    runner: Literal["flink", "portable"] = "flink"
    flink_master: str = LOCAL_MASTERS[0]
    flink_version: str = "1.20"
    job_server_jar: Path | None = None
    job_endpoint: Address | Literal["embed", ""] = ""
    job_name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")] = "radarstream"
    parallelism: Annotated[int, Field(ge=1)] = 1
    environment: Literal["LOOPBACK", "EXTERNAL"] = "EXTERNAL"
    worker_pool: Address = "localhost:50000"
    checkpoint_s: Annotated[float, Field(ge=1.0)] = 30.0
    savepoint: str = ""

    @model_validator(mode="after")
    def check(self) -> "Submission":
        """Refuse combinations that could only fail later, on the cluster."""
        if self.runner == "portable" and not self.job_endpoint:
            raise ValueError("the portable runner needs the address of a job server")
        if self.runner == "flink" and self.job_endpoint:
            raise ValueError("the flink runner starts its own job server: use the portable runner")
        known = FlinkRunnerOptions.PUBLISHED_FLINK_VERSIONS
        if self.flink_version not in known:
            raise ValueError(
                f"no Beam job server for Flink {self.flink_version}; there are {known}"
            )
        return self


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
