"""What `radarstream submit` asks for. Imports no Beam, which takes seconds."""

from typing import Annotated, Literal

from pydantic import Field

from radarstream.schemas.section import Section

Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\[\]:-]+:[0-9]{1,5}$")]


class Submission(Section):
    """Where and how a job is to run, on a job server that runs already; holds no secret."""

    job_endpoint: Address | Literal["embed"]
    job_name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")] = "radarstream"
    parallelism: Annotated[int, Field(ge=1)] = 1
    environment: Literal["LOOPBACK", "EXTERNAL"] = "EXTERNAL"
    worker_pool: Address = "localhost:50000"
    checkpoint_s: Annotated[float, Field(ge=1.0)] = 30.0
    savepoint: str = ""
