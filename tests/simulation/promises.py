"""What must hold in every life, whatever failed."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import Engine, select

from radarstream.connectors.state_table.database.tables import MEMORY
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.radar import Radar
from radarstream.pipelines.beam.folding import outgoing
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.schemas.codec import (
    decode_answer,
    decode_dead_letter,
    decode_snapshot,
    encode_state,
)
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from tests.scripted_models import scripted_models
from tests.simulation.plan import Plan, snapshot
from tests.simulation.world import Topic, Topics

ANSWERS, DEAD = "answers.defended", "snapshots.deadletter"
EXCUSES = {ReasonClass.LATE, ReasonClass.MODEL_UNAVAILABLE}


@dataclass
class Promises:
    """Watches a life. `broken` holds one line per promise that did not hold."""

    plan: Plan
    topic: Topic
    topics: Topics
    broken: list[str] = field(default_factory=list)
    seen: int = 0
    answered: dict[str, AnswerEvent] = field(default_factory=dict)
    letters: dict[tuple[str, int], set[ReasonClass]] = field(
        default_factory=lambda: defaultdict(set)
    )
    payloads: dict[tuple[str, str], bytes] = field(default_factory=dict)
    steps: dict[str, list[AnswerEvent]] = field(default_factory=lambda: defaultdict(list))
    checked: dict[int, int] = field(default_factory=dict)

    def read_topics(self) -> None:
        """Take in what was published since the last look."""
        new = self.topics.published[self.seen :]
        self.seen += len(new)
        for record in new:
            identity = (record.topic, record.event_id)
            if identity in self.payloads:
                if self.payloads[identity] != record.data:
                    self.broken.append(f"{identity} was published with two payloads")
                continue
            self.payloads[identity] = record.data
            if record.topic == ANSWERS:
                event = decode_answer(record.data)
                self.answered[event.snapshot_id] = event
                self.steps[event.query_id].append(event)
            elif record.topic == DEAD:
                letter = decode_dead_letter(record.data)
                self.letters[letter.source, letter.position].add(letter.reason)

    def check_commit(self, partition: int) -> None:
        """What is committed is published: nothing before it can be lost any more."""
        self.read_topics()
        done = self.topic.below_commit(partition)
        start = min(self.checked.get(partition, 0), len(done))
        for record in done[start:]:
            self.check_handled(record, "was committed")
        self.checked[partition] = len(done)

    def check_handled(self, record: RawRecord, when: str) -> None:
        name = snapshot_id(record.payload)
        if name not in self.answered and (record.source, record.position) not in self.letters:
            self.broken.append(
                f"{record.source} offset {record.position} ({name}) {when} without answer or letter"
            )

    def forgive(self, partition: int) -> None:
        """The log lost this partition: its records count again only if they are sent again."""
        self.checked.pop(partition, None)

    def check_end(self, engine: Engine, *, drained: bool) -> None:
        """Check everything after the last record."""
        self.read_topics()
        if not drained:
            self.broken.append("the log was not read to its end")
        if left := pending(engine):
            self.broken.append(f"{len(left)} events were never published")
        for partition, records in enumerate(self.topic.records):
            for offset in range(len(records)):
                self.check_handled(self.topic.record(partition, offset), "was read")
        for query_id, events in self.steps.items():
            self.check_order(query_id, events)
        self.check_state(engine)
        self.check_letters()

    def check_order(self, query_id: str, events: list[AnswerEvent]) -> None:
        """Steps come without gaps and in order, event times ascend."""
        if [event.step for event in events] != list(range(len(events))):
            self.broken.append(f"steps of {query_id}: {[event.step for event in events]}")
        times = [event.observed_at for event in events]
        if times != sorted(set(times)):
            self.broken.append(f"event times of {query_id} do not ascend")

    def check_state(self, engine: Engine) -> None:
        """Rows and events are those of answering the same snapshots without faults."""
        with engine.connect() as connection:
            rows = {row.query_id: row for row in connection.execute(select(MEMORY))}
            rewinds = connection.exec_driver_sql("SELECT * FROM rewinds").all()
        self.broken += [
            f"the memory of {query_id} went back to step {n}" for query_id, n in rewinds
        ]
        if rows.keys() != self.steps.keys():
            self.broken.append(f"rows of {sorted(rows)}, answers of {sorted(self.steps)}")
            return
        for query_id, events in self.steps.items():
            expected, state = undisturbed(tuple(event.snapshot_id for event in events))
            row = rows[query_id]
            last = int(events[-1].observed_at.timestamp() * 1000)
            if (row.step, row.as_of_ms, row.state) != (len(events), last, state):
                self.broken.append(f"the row of {query_id} is not that of an undisturbed run")
            for identity, data in expected.items():
                if self.payloads.get(identity) != data:
                    self.broken.append(f"{identity} is not as in an undisturbed run")

    def check_letters(self) -> None:
        """A life without disorder, poison and outages has no dead letters; reasons fit the life."""
        reasons = set().union(*self.letters.values()) if self.letters else set()
        allowed = set(ReasonClass) if self.plan.poison else set(EXCUSES)
        if not self.plan.rates.model:
            allowed.discard(ReasonClass.MODEL_UNAVAILABLE)
        if self.plan.in_order or reasons - allowed:
            self.broken += [f"unexpected dead letters: {sorted(reasons)}"] if reasons else []
        if not (self.plan.duplicates or self.plan.recreations):
            self.check_answered_are_not_late()

    def check_answered_are_not_late(self) -> None:
        """Where every snapshot has one record, what was answered cannot be late as well."""
        for partition, records in enumerate(self.topic.records):
            for record in (self.topic.record(partition, offset) for offset in range(len(records))):
                late = ReasonClass.LATE in self.letters.get((record.source, record.position), ())
                if late and snapshot_id(record.payload) in self.answered:
                    self.broken.append(
                        f"{record.source} offset {record.position}: answered and late"
                    )


@cache
def snapshot_id(payload: bytes) -> str | None:
    """The id of the snapshot in a record, None for poison."""
    try:
        return decode_snapshot(payload, limits=Limits()).id
    except InputError:
        return None


def named(identity: str) -> SearchSnapshot:
    """The snapshot of the shared world with this id."""
    query, _ = identity.split("@")
    number = 0
    while (found := snapshot(int(query.removeprefix("cup-")), number)).id != identity:
        number += 1
    return found


@cache
def undisturbed(snapshot_ids: tuple[str, ...]) -> tuple[dict[tuple[str, str], bytes], bytes]:
    """Events by topic and id, and the final state, of answering these snapshots one by one."""
    guard: DefensePipeline[Any] = DefensePipeline("radar", Radar(), scripted_models())
    events: dict[tuple[str, str], bytes] = {}
    memory = guard.initial_memory()
    for identity in snapshot_ids:
        value = named(identity)
        event, memory = guard.answer(value, memory)
        for record in outgoing(event, 0):
            events[record.topic, record.event_id] = record.data
    return events, encode_state(memory.state, memory.standing)
