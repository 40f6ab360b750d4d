"""Settings of the job: answering, telemetry, collecting, alerts, attribution, ledger of sources."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PositiveFloat, model_validator

from radarstream.connectors.webhook import WebhookOptions
from radarstream.connectors.webpages.options import PageOptions
from radarstream.defenses.attribution.protection import Rules
from radarstream.schemas.section import Section
from radarstream.schemas.sites import Granularity
from radarstream.schemas.sources import LedgerRules

HOUR = 3600.0
Group = Annotated[str, Field(min_length=1)]
Occasion = Literal["changed", "falsified", "abstained"]


class JobSettings(Section):
    """How the continuous job reads, retries and gives up."""

    membership: Literal["assign", "group"] = Field(
        default="assign",
        description="assign: all partitions or those named; group: the broker shares them out",
    )
    partitions: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="with membership 'assign': read these only; empty means all"
    )
    batch_records: int = Field(default=256, ge=1, description="most records of a batch")
    batch_bytes: int = Field(default=32 * 2**20, ge=2**20, description="most bytes of a batch")
    batch_seconds: PositiveFloat = Field(
        default=0.25, description="how long to wait for a batch to fill"
    )
    batch_work_seconds: PositiveFloat = Field(
        default=10.0, description="how long a batch may take; slow models get small batches"
    )
    allowed_lateness_s: float = Field(
        default=0.0, ge=0.0, description="how long a snapshot is held back for older ones"
    )
    clock_tolerance_s: float = Field(
        default=3_600.0,
        ge=300.0,
        description="how far ahead of this machine's clock a snapshot may be: it is held back"
        " until it is 5 minutes ahead; one further ahead becomes a dead letter of an outage",
    )
    attempts: int = Field(default=30, ge=1, description="tries of one batch or publication")
    first_pause_s: PositiveFloat = Field(default=0.5, description="before the second try; doubles")
    longest_pause_s: PositiveFloat = Field(default=5.0, description="longest pause between tries")
    dead_share: float = Field(
        default=0.5, gt=0.0, le=1.0, description="stop when more of the inputs are dead; 1 = never"
    )
    dead_share_after: int = Field(
        default=200, ge=1, description="inputs over which the share is taken"
    )

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

    log_format: Literal["json", "console"] = Field(
        default="json", description="json: one object a line"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least important that is logged"
    )
    listen: Annotated[str, AfterValidator(checked_listen)] = Field(
        default="127.0.0.1:9464",
        description="host:port of /metrics, /healthz and /readyz; empty = none",
    )
    silence_s: PositiveFloat = Field(
        default=180.0, description="longest silence of the loop that /healthz forgives"
    )
    busy_silence_s: PositiveFloat = Field(
        default=1_800.0, description="the same while a model works"
    )
    traces: bool = Field(
        default=False, description="OpenTelemetry traces, configured by the OTEL_… variables"
    )


class WatchSettings(Section):
    """How `radarstream watch` goes through its list."""

    fetch_pages: bool = Field(
        default=False, description="read the result pages, not only their snippets"
    )
    pages: PageOptions = PageOptions()
    lease_s: PositiveFloat = Field(
        default=900.0, description="a fetch that takes longer may be done again by another"
    )
    first_pause_s: PositiveFloat = Field(
        default=60.0, description="after a query's first failure; doubles with each more"
    )
    longest_pause_s: PositiveFloat = Field(
        default=6 * HOUR, description="longest pause of a query that fails"
    )
    exhausted_pause_s: PositiveFloat = Field(
        default=HOUR, description="of all queries, when credits or searches are used up"
    )
    publish_attempts: int = Field(default=6, ge=1, description="tries to publish one snapshot")


class AlertSettings(Section):
    """Which answers cause an alert, and who receives it."""

    webhook: WebhookOptions | None = None
    occasions: Annotated[tuple[Occasion, ...], Field(min_length=1)] = Field(
        default=("changed",), description="changed: another meaning; falsified: the memory was cut"
    )
    queries: tuple[str, ...] = Field(default=(), description="only these; empty means all")
    tags: tuple[str, ...] = Field(default=(), description="only with one of these")
    group: Group = Field(
        default="radarstream-alerts",
        description="consumer group that remembers what was delivered; default: kafka.group"
        " + -alerts",
    )
    start: Literal["latest", "beginning"] = Field(
        default="latest", description="where a group begins that has delivered nothing yet"
    )


class AttributionSettings(Rules):
    """Complaints about answers, their deep attribution, quarantine."""

    enabled: bool = Field(
        default=False,
        description="the job keeps what the last answers were made of and leaves out texts in"
        " quarantine",
    )
    self_detect: bool = Field(
        default=False,
        description="the job itself complains about answers that differ from the undefended"
        " one, and memories it falsified; each complaint costs an attribution of the budget",
    )
    attributor: str = Field(
        default="rag_origin", description="who says which texts taught an answer"
    )
    options: dict[str, Any] | None = Field(
        default=None,
        description="of the attributor, by name; none = its own, but `rag_origin` with"
        ' `check_unaided = "uncontradicted"`',
    )
    corpus_texts: int = Field(
        default=50,
        ge=0,
        description="with corpus.archive: archived texts looked at beside the results",
    )
    keep_steps: int = Field(
        default=2, ge=1, description="last answers of a query that one can complain about"
    )
    keep_days: PositiveFloat = Field(
        default=30.0, description="older ones, by event time, are not kept"
    )
    attributions_per_hour: int = Field(
        default=30, ge=1, description="wrong answers attributed in an hour"
    )
    model_calls_per_day: int = Field(
        default=50_000, ge=1, description="no attribution begins above so many model calls"
    )
    attempts: int = Field(default=3, ge=1, description="tries of one attribution")
    open_days: PositiveFloat = Field(
        default=7.0, description="a complaint that has waited so long is given up, as unusable"
    )
    retention_days: PositiveFloat = Field(
        default=365.0,
        description="complaints and what followed are kept so long, events of sources included",
    )
    poll_s: PositiveFloat = Field(default=2.0, description="pause of an idle worker")
    group: Group = Field(
        default="radarstream-complaints",
        description="consumer group of the complaints; default: kafka.group + -complaints",
    )

    @property
    def chosen_options(self) -> dict[str, Any]:
        """The options that are set, or what was measured to suit the attributor best."""
        if self.options is not None:
            return self.options
        return {"check_unaided": "uncontradicted"} if self.attributor == "rag_origin" else {}


class SourceSettings(LedgerRules):
    """Who is blamed for wrong answers, and what that counts.

    A defence listens by its option `source_prior`.
    """

    block: bool = Field(
        default=True, description="leave out the documents of sources that a person blocked"
    )
    learn: bool = Field(
        default=False,
        description="sources that support an answer which the next snapshot bears out gain a"
        " little",
    )
    granularity: Granularity = Field(
        default="site",
        description="what a source is: site (registered domain), host, or its sections",
    )
