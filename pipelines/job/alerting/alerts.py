"""Alerts: answers that changed, one webhook call each, in order and at least once.

    poll -> decode, drop repetitions, select -> deliver -> commit

An alert is committed once the receiver has it or has refused it. A receiver that is down holds
everything up.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any

import structlog

from radarstream.connectors.kafka.topic_reader import TopicReader, TopicRecord
from radarstream.connectors.webhook import Attempt
from radarstream.pipelines.job.alerting.following import ANSWERS, Following, Selection
from radarstream.pipelines.settings.job import AlertSettings, Occasion
from radarstream.schemas.codec import envelope
from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import BrokerError, InputError
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.times import Clock, milliseconds, wire_time
from radarstream.schemas.verdict import DocumentVerdict, MemoryVerdict, Reason, Verdict

SCHEMA = "alert.answer/1"
TITLE_CHARACTERS = 300
URL_CHARACTERS = 2_000
POLL_S = 1.0
PAUSE_S = 5.0  # before the broker is asked again

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class AlertCounts:
    """What became of the answers read so far."""

    delivered: int = 0
    refused: int = 0
    passed_over: int = 0
    unreadable: int = 0


@dataclass
class Alerting:
    """Delivers the alerts that the answers call for, read on from the last commit."""

    answers: TopicReader
    deliver: Callable[[str, bytes], Attempt]
    settings: AlertSettings
    _: KW_ONLY
    stopping: Callable[[], bool]
    clock: Clock
    counts: AlertCounts = field(default_factory=AlertCounts, init=False)
    next_offsets: dict[int, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        queries, tags = frozenset(self.settings.queries), frozenset(self.settings.tags)
        self.following = Following(Selection(queries, tags))

    def run(self, *, drained: Callable[[], bool] = lambda: False) -> AlertCounts:
        """Deliver until stopping, or until a poll finds nothing and `drained` says so."""
        log.info("alerting")
        while not self.stopping():
            try:
                records = self.answers.poll(timeout_s=POLL_S)
            except BrokerError as error:
                log.warning("the broker does not answer", stage="poll", error=error)
                self.clock.wait(PAUSE_S)
                continue
            if not records and drained():
                break
            for record in records:
                if self.stopping() or not self._finished(record):
                    break
                self.next_offsets[record.partition] = record.offset + 1
            self._commit()
        return self.counts

    def _finished(self, record: TopicRecord) -> bool:
        """Deliver if that is called for; False when stopped before the receiver had it."""
        if record.value is None:  # the query was forgotten
            return True
        try:
            event = self.following.event(ANSWERS, record.read())
        except InputError as error:
            self.counts.unreadable += 1
            place = {"partition": record.partition, "offset": record.offset}
            log.warning("an answer cannot be read", reason=error.reason.value, **place)
            return True
        occasions = occasions_of(event) if isinstance(event, AnswerEvent) else ()
        wanted = [occasion for occasion in self.settings.occasions if occasion in occasions]
        if not isinstance(event, AnswerEvent) or not wanted:
            self.counts.passed_over += 1
            return True
        self._commit()  # waiting for the receiver may take long
        attempt = self.deliver(envelope(event).id, alert(event, wanted))
        if attempt.temporary:
            return False
        named = {"query_id": event.query_id, "step": event.step, "status": attempt.status}
        if attempt.accepted:
            self.counts.delivered += 1
            log.info("alert delivered", **named)
        else:
            self.counts.refused += 1
            log.error("alert refused", **named)
        return True

    def _commit(self) -> None:
        if not self.next_offsets:
            return
        try:
            self.answers.commit(self.next_offsets)
        except BrokerError as error:  # the next commit covers it
            log.warning("the broker does not answer", stage="commit", error=error)
        else:
            self.next_offsets = {}


def occasions_of(event: AnswerEvent) -> tuple[Occasion, ...]:
    """Say what is remarkable about an answer."""
    happened: dict[Occasion, bool] = {
        "changed": event.changed is True,
        "falsified": event.falsified,
        "abstained": event.abstention is not None,
    }
    return tuple(occasion for occasion, so in happened.items() if so)


def alert(event: AnswerEvent, occasions: Sequence[Occasion]) -> bytes:
    """The request body by `alert.answer.1.json`; equal events give equal bytes, texts are
    shortened.
    """
    kept, standing = set(event.verdict.kept_ranks), event.standing
    at = None if standing is None else standing.confirmed_at
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "id": envelope(event).id,
        "occasions": list(occasions),
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
            {"title": source.title[:TITLE_CHARACTERS], "url": source.url[:URL_CHARACTERS]}
            for source in event.sources
            if source.rank in kept
        ],
        "attributions": len(event.verdict.documents) - len(kept),
    }
    return compact_json(body).encode()


def sample(now: datetime) -> tuple[str, bytes]:
    """Return id and body of an alert that is about no query, to try a receiver out."""
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
    return f"{envelope(event).id}/{wire_time(now)}", alert(event, ["changed"])
