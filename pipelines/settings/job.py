"""Settings of the continuous job and of what it tells about itself."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from radarstream.schemas.section import Section


class JobSettings(Section):
    """How the continuous job reads, retries and gives up."""

    membership: Annotated[
        Literal["assign", "group"],
        Field(
            description="assign: all partitions or those named; group: the broker shares them out"
        ),
    ] = "assign"
    partitions: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        Field(description="with membership 'assign': read these only; empty means all"),
    ] = ()
    batch_records: Annotated[int, Field(ge=1, description="most records of a batch")] = 256
    batch_bytes: Annotated[int, Field(ge=2**20, description="most bytes of a batch")] = 32 * 2**20
    batch_seconds: Annotated[
        float, Field(gt=0.0, description="how long to wait for a batch to fill")
    ] = 0.25
    batch_work_seconds: Annotated[
        float, Field(gt=0.0, description="how long a batch may take; slow models get small batches")
    ] = 10.0
    allowed_lateness_s: Annotated[
        float, Field(ge=0.0, description="how long a snapshot is held back for older ones")
    ] = 0.0
    clock_tolerance_s: Annotated[
        float,
        Field(
            ge=300.0,
            description="how far ahead of this machine's clock a snapshot may be: it is held back"
            " until it is 5 minutes ahead; one further ahead becomes a dead letter of an outage",
        ),
    ] = 3_600.0
    attempts: Annotated[int, Field(ge=1, description="tries of one batch or publication")] = 30
    first_pause_s: Annotated[float, Field(gt=0.0, description="before the second try; doubles")] = (
        0.5
    )
    longest_pause_s: Annotated[float, Field(gt=0.0, description="longest pause between tries")] = (
        5.0
    )
    dead_share: Annotated[
        float, Field(gt=0.0, le=1.0, description="stop when more of the inputs are dead; 1 = never")
    ] = 0.5
    dead_share_after: Annotated[
        int, Field(ge=1, description="inputs over which the share is taken")
    ] = 200

    @model_validator(mode="after")
    def _the_broker_alone_shares_out(self) -> Self:
        if self.membership == "group" and self.partitions:
            raise ValueError(
                "in a group the broker gives the partitions: leave partitions out, or set "
                "membership to assign"
            )
        return self


def host_and_port(listen: str) -> tuple[str, int]:
    """Take `host:port` or `[address]:port` apart. Raises ValueError.

    >>> host_and_port("[::1]:9464")
    ('::1', 9464)
    """
    host, colon, port = listen.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host == f"[{bare}]"
    if not (colon and bare and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise ValueError("must be host:port, for example 127.0.0.1:9464")
    if ":" in bare and not bracketed:
        raise ValueError("an IPv6 address goes in brackets, for example [::1]:9464")
    return bare, int(port)


def checked_listen(listen: str) -> str:
    """Refuse what is neither empty nor `host:port`. Raises ValueError."""
    if listen:
        host_and_port(listen)
    return listen


class TelemetrySettings(Section):
    """Logs, metrics, health and traces."""

    log_format: Annotated[
        Literal["json", "console"], Field(description="json: one object a line")
    ] = "json"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="least important that is logged"),
    ] = "info"
    listen: Annotated[
        str,
        AfterValidator(checked_listen),
        Field(description="host:port of /metrics, /healthz and /readyz; empty = none"),
    ] = "127.0.0.1:9464"
    silence_s: Annotated[
        float, Field(gt=0.0, description="longest silence of the loop that /healthz forgives")
    ] = 180.0
    busy_silence_s: Annotated[float, Field(gt=0.0, description="the same while a model works")] = (
        1_800.0
    )
    traces: Annotated[
        bool, Field(description="OpenTelemetry traces, configured by the OTEL_… variables")
    ] = False
