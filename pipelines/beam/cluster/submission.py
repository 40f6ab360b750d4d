"""What `radarstream submit` is asked for.

Imports no Beam, which takes seconds: what is wrong is told at once.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from radarstream.schemas.section import Section

Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\[\]:-]+:[0-9]{1,5}$")]


class Submission(Section):
    """Where and how a job is to run; holds no secret.

    `flink` starts Beam's job server here, which needs Java and its jar, and talks to the Flink
    cluster itself. `portable` hands the job to a job server that runs already, Flink's or another.
    """

    runner: Literal["flink", "portable"] = "flink"
    flink_master: str = "[local]"
    flink_version: str = "1.19"
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
        return self
