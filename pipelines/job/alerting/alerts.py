"""Sends alerts about changed answers to one receiver, in order and at least once.

    poll -> decode, drop repetitions, select -> wait until due -> deliver -> commit

An alert is committed after the receiver accepts or refuses it. A receiver that is down blocks all
later alerts, so each receiver has its own consumer group.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from radarstream.connectors.kafka.topic_reader import TopicReader, TopicRecord
from radarstream.connectors.webhook import Attempt
from radarstream.pipelines.pages.safe_text import safe_link
from radarstream.pipelines.settings.job import Occasion, QuietHours, SelectedAnswers
from radarstream.schemas.codec import decode_answer, decode_rejected, decode_taught, envelope
from radarstream.schemas.codec.wire import WIRE_SCHEMAS, compact_json
from radarstream.schemas.errors import BrokerError, InputError, ReasonClass
from radarstream.schemas.events import AnswerEvent, RejectedEvent, Source
from radarstream.schemas.incidents import TaughtEvent
from radarstream.schemas.shown import one_line
from radarstream.schemas.sites import site_of
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.times import Clock, milliseconds, wire_time
from radarstream.schemas.verdict import DocumentVerdict, MemoryVerdict, Reason, Verdict

Event = AnswerEvent | RejectedEvent | TaughtEvent

ANSWERS = WIRE_SCHEMAS[AnswerEvent].topic
ATTRIBUTIONS = WIRE_SCHEMAS[RejectedEvent].topic


def decode_either(data: bytes) -> RejectedEvent | TaughtEvent:
    """Decode an attribution event of either kind."""
    try:
        return decode_rejected(data)
    except InputError as error:
        if error.reason is not ReasonClass.UNKNOWN_SCHEMA:
            raise
    return decode_taught(data)


DECODERS: Final[Mapping[str, Callable[[bytes], Event]]] = {
    ANSWERS: decode_answer,
    ATTRIBUTIONS: decode_either,
}
Place = tuple[datetime, int, int]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which events are wanted, by query, tag and time of observation (`since`, aware); what is
    empty selects all. `changed_only` keeps answers with another meaning than before, and no
    attributions.
    """

    queries: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    since: datetime | None = None
    changed_only: bool = False

    def admits(self, event: Event) -> bool:
        """Whether this event is wanted."""
        if self.changed_only and not (isinstance(event, AnswerEvent) and event.changed):
            return False
        return (
            (not self.queries or event.query_id in self.queries)
            and (not self.tags or not self.tags.isdisjoint(event.tags))
            and (self.since is None or event.observed_at >= self.since)
        )


@dataclass
class Following:
    """Turns the records of the two topics into events that are new and wanted."""

    selection: Selection
    newest: dict[tuple[str, str], Place] = field(default_factory=dict)

    def event(self, topic: str, data: bytes) -> Event | None:
        """The event in a record, unless it is a repetition or not wanted. Raises InputError."""
        event = DECODERS[topic](data)
        series, number = topic, 0  # `number` tells an event from others of its query and step
        if isinstance(event, RejectedEvent):
            number = event.rank
        elif isinstance(event, TaughtEvent):
            # It comes long after its answer: only the revisions of one incident are in order.
            series, number = event.incident, event.revision
        # Event time first: a query that was forgotten and watched again starts at step 0.
        place = (event.observed_at, event.step, number)
        newest = self.newest.get((series, event.query_id))
        if newest is not None and place <= newest:
            return None
        self.newest[series, event.query_id] = place
        return event if self.selection.admits(event) else None


SCHEMA = "alert.answer/1"
TITLE_CHARACTERS = 300
TEXT_CHARACTERS = 200
MESSAGE_ALERTS = 20
WORDS: Final[Mapping[Occasion, str]] = {
    "changed": "Answer changed",
    "falsified": "Former answer rejected",
    "abstained": "No answer",
}
HARMLESS: Final = str.maketrans("<>@[]/`*_|", "‹›＠［］⁄ˋ∗＿∣")
LINKS: Final = re.compile(r"\.(?=[^\W\d])")  # a dot as in the name of a host
POLL_S = 1.0
PAUSE_S = 5.0  # before the broker is asked again
MOST_WAITING = 500  # alerts; more of them wait in the topic

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class AlertCounts:
    """What became of the answers read so far."""

    delivered: int = 0
    refused: int = 0
    passed_over: int = 0
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Alert:
    """An answer and the selected occasions that apply to it."""

    event: AnswerEvent
    occasions: tuple[Occasion, ...]

    @property
    def id(self) -> str:
        """The id of the answer's event."""
        return envelope(self.event).id


@dataclass(frozen=True, slots=True)
class Timing:
    """When alerts are due: at once, or together every `digest`; never in quiet hours.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    >>> Timing(digest=timedelta(hours=1)).is_due(noon, noon + timedelta(minutes=59))
    False
    """

    digest: timedelta = timedelta()
    quiet: QuietHours | None = None

    def is_due(self, first: datetime, now: datetime, *, full: bool = False) -> bool:
        """Whether to send the waiting alerts now; `first` is the earliest observation time, and
        when `full` no more alerts can wait.
        """
        if self.quiet and self.quiet.contain(now):
            return False
        return full or now - first >= self.digest

    @property
    def one_by_one(self) -> bool:
        """Whether alerts never wait for others."""
        return not self.digest and self.quiet is None


@dataclass
class Alerting:
    """Delivers alerts to one receiver, from its last commit on.

    `deliver` gets one alert or all waiting ones. It returns when the receiver accepts or refuses
    them, or when the job stops (a temporary attempt).
    """

    answers: TopicReader
    deliver: Callable[[Sequence[Alert]], Attempt]
    selected: SelectedAnswers
    timing: Timing = Timing()
    _: KW_ONLY
    stopping: Callable[[], bool]
    clock: Clock
    counts: AlertCounts = field(default_factory=AlertCounts, init=False)
    next_offsets: dict[int, int] = field(default_factory=dict, init=False)
    waiting: list[Alert] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        queries, tags = frozenset(self.selected.queries), frozenset(self.selected.tags)
        self.following = Following(Selection(queries, tags))

    def run(self, *, drained: Callable[[], bool] = lambda: False) -> AlertCounts:
        """Deliver until stopping, or until a poll finds nothing and `drained` says so."""
        log.info("alerting")
        while not self.stopping():
            try:
                records = self._poll()
            except BrokerError as error:
                log.warning("the broker does not answer", stage="poll", error=error)
                self.clock.wait(PAUSE_S)
                continue
            for record in records:
                self._take(record)
                if self.stopping() or (self.timing.one_by_one and not self._deliver()):
                    break
                self.next_offsets[record.partition] = record.offset + 1
            ended = not records and drained()
            if ended or self._is_due():
                self._deliver()
            self._commit()
            if ended:
                break
        return self.counts

    def _poll(self) -> Sequence[TopicRecord]:
        if len(self.waiting) < MOST_WAITING:
            return self.answers.poll(timeout_s=POLL_S)
        self.clock.wait(POLL_S)
        return ()

    def _take(self, record: TopicRecord) -> None:
        """Append the record's alert to the waiting ones, if it has one."""
        if record.value is None:  # the query was forgotten
            return
        try:
            event = self.following.event(ANSWERS, record.read())
        except InputError as error:
            self.counts.unreadable += 1
            place = {"partition": record.partition, "offset": record.offset}
            log.warning("an answer cannot be read", reason=error.reason.value, **place)
            return
        happened = occasions_of(event) if isinstance(event, AnswerEvent) else ()
        occasions = tuple(o for o in self.selected.occasions if o in happened)
        if isinstance(event, AnswerEvent) and occasions:
            self.waiting.append(Alert(event, occasions))
        else:
            self.counts.passed_over += 1

    def _is_due(self) -> bool:
        if not self.waiting:
            return False
        full = len(self.waiting) >= MOST_WAITING
        first = min(alert.event.observed_at for alert in self.waiting)
        return self.timing.is_due(first, self.clock.now(), full=full)

    def _deliver(self) -> bool:
        """Deliver the waiting alerts. False if the job stopped before the receiver had them."""
        if not self.waiting:
            return True
        self._commit()  # the receiver may take long
        attempt = self.deliver(self.waiting)
        if attempt.temporary:
            return False
        for alert in self.waiting:
            named = {"query_id": alert.event.query_id, "step": alert.event.step}
            if attempt.accepted:
                log.info("alert delivered", **named, status=attempt.status)
            else:
                log.error("alert refused", **named, status=attempt.status)
        if attempt.accepted:
            self.counts.delivered += len(self.waiting)
        else:
            self.counts.refused += len(self.waiting)
        self.waiting = []
        return True

    def _commit(self) -> None:
        """Commit the read records, unless some of their alerts wait."""
        if not self.next_offsets or (self.waiting and not self.timing.one_by_one):
            return
        try:
            self.answers.commit(self.next_offsets)
        except BrokerError as error:  # the next commit covers it
            log.warning("the broker does not answer", stage="commit", error=error)
        else:
            self.next_offsets = {}


def occasions_of(event: AnswerEvent) -> tuple[Occasion, ...]:
    """List the occasions for an alert that apply to an answer."""
    happened: dict[Occasion, bool] = {
        "changed": event.changed is True,
        "falsified": event.falsified,
        "abstained": event.abstention is not None,
    }
    return tuple(occasion for occasion, so in happened.items() if so)


def payload(alert: Alert) -> bytes:
    """The request body by `alert.answer.1.json`, the same bytes for the same alert."""
    event = alert.event
    kept, standing = set(event.verdict.kept_ranks), event.standing
    at = None if standing is None else standing.confirmed_at
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "id": alert.id,
        "occasions": list(alert.occasions),
        "query_id": event.query_id,
        "question": event.question,
        "tags": list(event.tags),
        "step": event.step,
        "observed_at": wire_time(event.observed_at),
        "old_answer": event.verdict.memory.previous_answer,
        "new_answer": None if event.abstention else event.answer,
        "abstention": event.abstention,
        "memory": event.verdict.memory.decision,
        "status": event.status,
        "standing_answer": None if standing is None else standing.answer,
        "confirmed_at": None if at is None else wire_time(at),
        "kept_sources": [
            {"title": source.title[:TITLE_CHARACTERS], "url": safe_link(source.url) or ""}
            for source in event.sources
            if source.rank in kept
        ],
        "attributions": len(event.verdict.documents) - len(kept),
    }
    return compact_json(body).encode()


def message(alerts: Sequence[Alert]) -> tuple[str, str]:
    """Title and text for people, about the first `MESSAGE_ALERTS` alerts."""
    first = alerts[0]
    title = f"{WORDS[first.occasions[0]]}: {harmless(first.event.question)}"
    if len(alerts) > 1:
        title = f"{len(alerts)} answers to look at"
    parts = [entry(alert) for alert in alerts[:MESSAGE_ALERTS]]
    if len(alerts) > MESSAGE_ALERTS:
        parts.append(f"and {len(alerts) - MESSAGE_ALERTS} more")
    return title, "\n\n".join(parts)


def entry(alert: Alert) -> str:
    """The lines about one alert."""
    event = alert.event
    previous, kept = event.verdict.memory.previous_answer, set(event.verdict.kept_ranks)
    sites = dict.fromkeys(site_of(source.url) for source in event.sources if source.rank in kept)
    now = "no answer" if event.abstention else f"{harmless(event.answer)} ({event.status})"
    lines = [
        harmless(event.question),
        ", ".join(WORDS[occasion] for occasion in alert.occasions),
        f"before: {harmless(previous) if previous else 'no answer'}",
        f"now: {now}",
        f"sites: {', '.join(harmless(site) for site in sites) or 'none'}",
        f"query {harmless(event.query_id)}, step {event.step}, {wire_time(event.observed_at)}",
    ]
    return "\n".join(lines)


def harmless(text: str) -> str:
    """Make untrusted text safe for a chat or a mail: one line, without links and mentions.

    >>> harmless("<!channel> 3.5 km, see https://evil.example @all")
    '‹!channel› 3.5 km, see https:⁄⁄evil․example ＠all'
    """
    return LINKS.sub("․", one_line(text, TEXT_CHARACTERS)).translate(HARMLESS)


def sample(now: datetime) -> Alert:
    """An alert about an invented query, to test a receiver."""
    source = Source(rank=1, title="A page that never was", url="https://example.org/")
    event = AnswerEvent(
        query_id="radarstream-test",
        question="Does the receiver get alerts?",
        step=1,
        snapshot_id=f"radarstream-test@{milliseconds(now)}",
        observed_at=now,
        provenance=Provenance.SIMULATED,
        defense="radar",
        answer="yes",
        abstention=None,
        changed=True,
        verdict=Verdict(
            answer="yes",
            documents=(DocumentVerdict(source.rank, kept=True, reason=Reason.SUPPORTED),),
            memory=MemoryVerdict(previous_answer="no"),
        ),
        status=AnswerStatus.SINGLE_SOURCE,
        sources=(source,),
        tags=("test",),
    )
    return Alert(event, ("changed",))
