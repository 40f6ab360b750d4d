"""Settings of the job: answering, telemetry, collecting, alerts, attribution, ledger of sources."""

from datetime import datetime, time
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, PositiveFloat, field_validator, model_validator

from radarstream.connectors.webhook_options import WebhookOptions
from radarstream.connectors.webpages.options import PageOptions
from radarstream.defenses.attribution.protection import Rules
from radarstream.schemas.section import Section

HOUR = 3600.0
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\[\]:-]+:[0-9]{1,5}$")]
Group = Annotated[str, Field(min_length=1)]
ChannelName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,30}$")]
Occasion = Literal["changed", "falsified", "abstained"]


class JobSettings(Section):
    """How the continuous job reads, retries and gives up."""

    membership: Literal["assign", "group"] = "assign"
    """assign: all partitions or those named; group: the broker divides them among workers"""
    partitions: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """with membership 'assign': the partitions to read; empty = all"""
    batch_records: int = Field(default=256, ge=1)
    """most records in a batch"""
    batch_bytes: int = Field(default=32 * 2**20, ge=2**20)
    """most bytes in a batch"""
    batch_seconds: PositiveFloat = 0.25
    """seconds to wait for a batch to fill"""
    batch_work_seconds: PositiveFloat = 10.0
    """seconds that a batch should take; batches get smaller for slow models"""
    allowed_lateness_s: float = Field(default=0.0, ge=0.0)
    """seconds that a snapshot waits for older ones of its query"""
    clock_tolerance_s: float = Field(default=3_600.0, ge=300.0)
    """seconds that a snapshot may be ahead of this machine's clock; one further ahead becomes a
    dead letter (an outage)"""
    attempts: int = Field(default=30, ge=1)
    """most attempts of one batch or publication"""
    first_pause_s: PositiveFloat = 0.5
    """seconds before the second attempt; doubles with each further one"""
    longest_pause_s: PositiveFloat = 5.0
    """longest pause between attempts, in seconds"""
    dead_share: float = Field(default=0.5, gt=0.0, le=1.0)
    """share of dead letters among the inputs above which the job stops; 1 = never"""
    dead_share_after: int = Field(default=200, ge=1)
    """number of latest inputs over which that share is computed"""

    @model_validator(mode="after")
    def _partitions_need_assign(self) -> Self:
        if self.membership == "group" and self.partitions:
            raise ValueError(
                "in a group the broker gives the partitions: leave partitions out, or set "
                "membership to assign"
            )
        return self


def host_and_port(listen: str) -> tuple[str, int]:
    """Parse `host:port` or `[address]:port`. Raises ValueError.

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
    """Check an address that is empty or `host:port`. Raises ValueError."""
    if listen:
        host_and_port(listen)
    return listen


class Submission(Section):
    """Where and how a job server runs the job; without secrets."""

    job_endpoint: Address | Literal["embed"]
    job_name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")] = "radarstream"
    parallelism: Annotated[int, Field(ge=1)] = 1
    environment: Literal["LOOPBACK", "EXTERNAL"] = "EXTERNAL"
    worker_pool: Address = "localhost:50000"
    checkpoint_seconds: Annotated[float, Field(ge=1.0)] = 30.0
    savepoint: str = ""


class TelemetrySettings(Section):
    """Logs, metrics and health."""

    log_format: Literal["json", "console"] = "json"
    """json writes one object per line"""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """lowest level that is logged"""
    listen: Annotated[str, AfterValidator(checked_listen)] = "127.0.0.1:9464"
    """host:port that serves /metrics, /healthz and /readyz; empty = none"""
    silence_s: PositiveFloat = 180.0
    """seconds without progress after which /healthz fails"""


class WatchSettings(Section):
    """How `radarstream watch` fetches the queries of the watchlist."""

    fetch_pages: bool = False
    """read the result pages, not only their snippets"""
    pages: PageOptions = PageOptions()
    further_searches: int = Field(default=0, ge=0, le=5)
    """further result pages, a credit each, that a fetch requests beyond `k` if the last answer of
    the query needed more documents; 0 = none"""
    first_pause_s: PositiveFloat = 60.0
    """seconds before a failed query is tried again; doubles with each further failure"""
    longest_pause_s: PositiveFloat = 6 * HOUR
    """longest pause of a failing query, in seconds"""


class SelectedAnswers(Section):
    """Which answers cause an alert to a receiver."""

    occasions: Annotated[tuple[Occasion, ...], Field(min_length=1)] = ("changed",)
    """changed: the answer means something else; falsified: the previous answer was rejected"""
    queries: tuple[str, ...] = ()
    """ids of queries to report; empty = all"""
    tags: tuple[str, ...] = ()
    """report only queries with one of these tags (watchlist); empty = all"""


class QuietHours(Section):
    """Hours of the day in which a channel gets no alerts."""

    start: time
    """when they begin, such as 22:00"""
    end: time
    """when they end, such as 07:00; waiting alerts are then sent together"""
    timezone: str = "UTC"
    """time zone, such as Europe/Berlin"""

    @field_validator("timezone")
    @classmethod
    def check_timezone(cls, name: str) -> str:
        """Refuse a time zone that this machine does not know."""
        try:
            ZoneInfo(name)
        except (ValueError, OSError, ZoneInfoNotFoundError):
            raise ValueError("not a time zone, such as Europe/Berlin") from None
        return name

    def contain(self, moment: datetime) -> bool:
        """Whether an aware time is in the quiet hours.

        >>> from datetime import UTC
        >>> night = QuietHours(start=time(22), end=time(7))
        >>> [night.contain(datetime(2026, 1, 5, hour, tzinfo=UTC)) for hour in (6, 7, 22)]
        [True, False, True]
        """
        now = moment.astimezone(ZoneInfo(self.timezone)).time()
        if self.start <= self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


class ChannelSettings(SelectedAnswers):
    """People to alert by Apprise: mail, Slack, Teams, ntfy and others."""

    variable: str
    """environment variable with Apprise addresses, separated by blanks"""
    digest_hours: Annotated[float, Field(ge=0.0)] = 0.0
    """hours whose alerts come in one message; 0 = each at once"""
    quiet: QuietHours | None = None


class AlertSettings(SelectedAnswers):
    """Which answers cause an alert, and who receives it."""

    webhook: WebhookOptions | None = None
    channels: dict[ChannelName, ChannelSettings] = Field(default={}, max_length=20)
    """people to alert, by a name of yours: `[alerts.channels.NAME]`"""
    group: Group = "radarstream-alerts"
    """consumer group of delivered alerts; default: kafka.group + -alerts; for a channel, followed
    by -NAME"""
    start: Literal["latest", "beginning"] = "latest"
    """where a new group starts to read"""


class AttributionSettings(Rules):
    """Complaints about answers, their attribution, quarantine."""

    enabled: bool = False
    """the job keeps the snapshots of the last answers and leaves out texts in quarantine"""
    attributor: str = "rag_origin"
    """method that finds the texts that taught an answer"""
    options: dict[str, Any] | None = None
    """options of the attributor, by name; none = its defaults, but `check_unaided =
    "uncontradicted"` for `rag_origin`"""
    corpus_texts: int = Field(default=50, ge=0)
    """with corpus.archive: archived texts that are examined in addition to the search results"""
    keep_steps: int = Field(default=2, ge=1)
    """number of last answers of a query that complaints may be about"""
    keep_days: PositiveFloat = 30.0
    """days (event time) after which an answer cannot be complained about"""
    attributions_per_hour: int = Field(default=30, ge=1)
    """most wrong answers that are attributed per hour"""
    model_calls_per_day: int = Field(default=50_000, ge=1)
    """model calls per day after which no attribution starts"""
    attempts: int = Field(default=3, ge=1)
    """most attempts of one attribution"""
    open_days: PositiveFloat = 7.0
    """days after which a waiting complaint becomes unusable"""
    retention_days: PositiveFloat = 365.0
    """days that complaints, incidents and quarantined texts are kept"""
    poll_s: PositiveFloat = 2.0
    """seconds that an idle worker pauses"""
    group: Group = "radarstream-complaints"
    """consumer group of the complaints; default: kafka.group + -complaints"""

    @property
    def chosen_options(self) -> dict[str, Any]:
        """The configured options, or those that were measured best for the attributor."""
        if self.options is not None:
            return self.options
        return {"check_unaided": "uncontradicted"} if self.attributor == "rag_origin" else {}
