"""Ways to break the job on purpose; the simulation must notice each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from sqlalchemy import Connection, Engine, update
from sqlalchemy.exc import OperationalError

from radarstream.connectors.state_table.database.tables import MEMORY
from radarstream.connectors.state_table.queries import memory, outbox
from radarstream.pipelines.beam import folding
from radarstream.pipelines.beam.holding import HoldBack
from radarstream.pipelines.job.answering.driver import Driver
from radarstream.schemas.errors import BrokerError, StateConflictError
from radarstream.schemas.records import RawRecord
from tests.simulation import worker
from tests.simulation.world import UnforeseenError


@contextmanager
def replaced(owner: type | ModuleType, name: str, by: Any) -> Iterator[None]:
    """Let `owner.name` be something else for a while."""
    original = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, original)


def commit_before_publish() -> AbstractContextManager[None]:
    original = Driver.timed

    def timed(self: Driver, stage: str, work: Callable[[], Any]) -> Any:
        if stage == "publish":
            self.commit()
        return original(self, stage, work)

    return replaced(Driver, "timed", timed)


def mark_sent_before_publish() -> AbstractContextManager[None]:
    def publish_outbox(engine: Engine, sink: outbox.Sink, lanes: Any = None) -> int:
        waiting = outbox.pending(engine, lanes=lanes)
        outbox.mark_sent(engine, [entry.seq for entry in waiting])
        if waiting:
            sink.publish([entry.record for entry in waiting])
        return len(waiting)

    return replaced(outbox, "publish_outbox", publish_outbox)


def commit_past_held_records() -> AbstractContextManager[None]:
    def next_offsets(self: HoldBack) -> dict[int, int]:
        return {partition: lane.next_offset for partition, lane in self.lanes.items()}

    return replaced(HoldBack, "next_offsets", next_offsets)


def ignore_compare_and_set() -> AbstractContextManager[None]:
    def replace(connection: Connection, previous: memory.MemoryRow, new: memory.MemoryRow) -> int:
        statement = update(MEMORY).where(MEMORY.c.query_id == previous.query_id)
        return connection.execute(statement, memory.asdict(new)).rowcount

    return replaced(memory, "_replace", replace)


def forget_what_was_polled_before_an_error() -> AbstractContextManager[None]:
    def poll(self: Driver) -> list[RawRecord]:
        ask = partial(self.log.poll, max_bytes=2**20)
        first = ask(max_records=self.batch_size, timeout_s=1.0)
        return first and first + ask(max_records=self.batch_size, timeout_s=0.1)

    return replaced(Driver, "poll", poll)


def fold_repetitions() -> AbstractContextManager[None]:
    def decide(row: memory.MemoryRow | None, as_of_ms: int, *place: Any) -> memory.Decision:
        decision = memory.order_decision(row, as_of_ms, *place)
        return "fold" if row and as_of_ms == row.as_of_ms else decision

    return replaced(folding, "order_decision", decide)


def rewind_memory() -> AbstractContextManager[None]:
    def commit_fold(engine: Engine, previous: Any, new: Any, events: Sequence[Any] = ()) -> None:
        with engine.begin() as connection:
            connection.execute(MEMORY.delete().where(MEMORY.c.query_id == new.query_id))
            connection.execute(MEMORY.insert(), memory.asdict(new))
            outbox.insert_records(connection, events)

    return replaced(folding, "commit_fold", commit_fold)


@contextmanager
def forget_the_highest_offset() -> Iterator[None]:
    def advance(previous: memory.MemoryRow | None, new: memory.MemoryRow) -> memory.MemoryRow:
        return new

    with replaced(memory, "advance", advance), replaced(folding, "advance", advance):
        yield


def fold_before_dead_letters() -> AbstractContextManager[None]:
    """What was parked is written after the fold that passes it by."""
    original = worker.run_graph

    def run_graph(guard: Any, engine: Engine, clock: Any, records: Sequence[RawRecord]) -> Any:
        waiting: list[Any] = []
        with replaced(outbox, "append", lambda _, letters: waiting.extend(letters)):
            outcomes = original(guard, engine, clock, records)
        outbox.append(engine, waiting)
        return outcomes

    return replaced(worker, "run_graph", run_graph)


def swallow_publication_errors() -> AbstractContextManager[None]:
    original = outbox.publish_outbox

    def publish_outbox(engine: Engine, sink: outbox.Sink, lanes: Any = None) -> int:
        class Forgiving:
            def publish(self, records: Sequence[Any]) -> None:
                try:
                    sink.publish(records)
                except BrokerError:
                    return

        return original(engine, Forgiving(), lanes=lanes)

    return replaced(outbox, "publish_outbox", publish_outbox)


def skip_a_batch_that_fails() -> AbstractContextManager[None]:
    original = Driver.folded

    def folded(self: Driver, records: Sequence[RawRecord]) -> Any:
        try:
            return self.batch(records)
        except OperationalError:
            return []
        except (BrokerError, StateConflictError, UnforeseenError):
            return original(self, records)

    return replaced(Driver, "folded", folded)


def release_by_waiting_alone() -> AbstractContextManager[None]:
    """What waited long enough goes, whether or not something older still waits."""

    def take(
        self: HoldBack, records: Sequence[RawRecord], now_s: float, unread: Mapping[int, int]
    ) -> list[RawRecord]:
        released = _take(self, records, now_s, {})
        for lane in self.lanes.values():
            old = [
                o for o, (_, taken_s, _) in lane.held.items() if taken_s <= now_s - self.lateness_s
            ]
            released += [lane.held.pop(offset)[2] for offset in old]
        return released

    return replaced(HoldBack, "take", take)


_take = HoldBack.take

MUTANTS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    mutant.__name__: mutant
    for mutant in (
        commit_before_publish, mark_sent_before_publish, commit_past_held_records,
        ignore_compare_and_set, forget_what_was_polled_before_an_error, fold_repetitions,
        rewind_memory, forget_the_highest_offset, fold_before_dead_letters,
        swallow_publication_errors, skip_a_batch_that_fails, release_by_waiting_alone,
    )
}  # fmt: skip
