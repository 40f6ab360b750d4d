"""The fold: concludes the snapshots of each query in event-time order, and writes memory and events
in one transaction per query, if no other worker changed the row. Queries advance in lockstep, so
that they share calls of models. `graph` wraps it for Beam.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    advance,
    commit_fold,
    count,
    load,
    order_decision,
    remembered,
)
from radarstream.connectors.state_table.queries.outbox import append
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.build import shared_corpus
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Chosen, Ready
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.codec import dead_letter, encode_state, outbox_record
from radarstream.schemas.errors import ConfigurationError, InputError, ModelError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent
from radarstream.schemas.memory import Memory
from radarstream.schemas.records import LogPosition, OutboxRecord, RawRecord
from radarstream.schemas.shown import one_line
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import stored_time, wire_time
from radarstream.schemas.verdict import Reason

ValueT_co = TypeVar("ValueT_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Recorded(Generic[ValueT_co]):
    """The value of a snapshot after a step of the round, with its record."""

    record: RawRecord
    value: ValueT_co


@dataclass(frozen=True, slots=True)
class Parked:
    """A record that failed at a step, with its dead letter."""

    record: RawRecord
    letter: DeadLetter


def failed(record: RawRecord, error: Failure) -> DeadLetter:
    """Return the dead letter for a failed model call, or for an error of the defence."""
    if isinstance(error, ModelError):
        return dead_letter(record, InputError(ReasonClass.MODEL_UNAVAILABLE, str(error)))
    detail = f"{type(error).__name__}: {error}"
    return dead_letter(record, InputError(ReasonClass.INTERNAL_ERROR, detail))


def gathered(
    pipeline: DefensePipeline[Any], batch: Sequence[Recorded[SearchSnapshot] | Parked]
) -> list[Recorded[Ready] | Parked]:
    """Gather the evidence of a batch, in order; failed snapshots become dead letters."""
    living = [item for item in batch if not isinstance(item, Parked)]
    made = iter(pipeline.gather([item.value for item in living]) if living else ())
    return [
        item if isinstance(item, Parked) else outcome_of(item.record, next(made)) for item in batch
    ]


def outcome_of(record: RawRecord, made: Ready | Failure) -> Recorded[Ready] | Parked:
    """Return the gathered evidence of a record, or its dead letter."""
    if isinstance(made, Failure):
        return Parked(record, failed(record, made))
    return Recorded(record, made)


BOUNDED_LOG = 0  # partition number of a bounded replay's log
QUERY_CHARACTERS = 64  # of a query's id in the detail of a dead letter
Outcome = AnswerEvent | DeadLetter
# The graph: folds records into the state table and the outbox, and returns the outcomes. Each query
# is folded whole or not at all; repeating a call with the same records folds nothing twice.
Batch = Callable[[Sequence[RawRecord]], list[Outcome]]
Item = Recorded[Ready]
Write = Callable[[Connection], object]
# An event and its snapshot -> a further write in the fold; no page may make it fail.
Witness = Callable[[AnswerEvent, Chosen], Write]


@dataclass(slots=True)
class QueryProgress:
    """The progress of one query in a bundle; with `damage`, its snapshots cannot be folded."""

    waiting: deque[Item]
    stored: MemoryRow | None
    current: MemoryRow | None
    memory: Memory[Any]
    damage: InputError | None = None
    outgoing: list[OutboxRecord] = field(default_factory=list)
    beside: list[Write] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)


def fold_queries(
    pipeline: DefensePipeline[Any],
    engine: Engine,
    snapshots: Mapping[str, Sequence[Item]],
    log_epoch: str,
    witnesses: Sequence[Witness] = (),
) -> Iterator[Outcome]:
    """Fold each query's snapshots into its row; yield new answers and dead letters.

    By its place in a log, a record that is read again is distinguished from a late one. In a
    bounded replay, the event time is the place in a log named `log_epoch`, so that a resumed replay
    skips folded records. `witnesses` write in the query's transaction. Snapshots of a query with a
    damaged row become dead letters. Raises StateConflictError if another worker changed a row,
    ConfigurationError if another defence wrote the rows.
    """
    rows = load(engine, list(snapshots))
    queries = {
        query_id: start(pipeline, engine, rows.get(query_id), readies)
        for query_id, readies in snapshots.items()
    }
    while wave := [
        (progress, ready)
        for progress in queries.values()
        if (ready := next_to_fold(progress, log_epoch)) is not None
    ]:
        outcomes = pipeline.conclude([(item.value, progress.memory) for progress, item in wave])
        for (progress, ready), outcome in zip(wave, outcomes, strict=True):
            if isinstance(outcome, Failure):
                park(progress, failed(ready.record, outcome), ready)
                continue
            event, progress.memory = outcome.event, outcome.memory
            snapshot, position = outcome.chosen.snapshot, log_position(ready, log_epoch)
            row = row_after(pipeline, progress.memory, snapshot, position)
            progress.current = advance(progress.current, row)
            progress.outgoing.extend(outgoing(event, position.partition))
            progress.beside.extend(witness(event, outcome.chosen) for witness in witnesses)
            yield event
    for progress in queries.values():
        yield from progress.dead
        if progress.current is None or progress.current is progress.stored:
            append(engine, progress.outgoing)  # dead letters only
        else:
            commit_fold(
                engine, progress.stored, progress.current, progress.outgoing, progress.beside
            )


def start(
    pipeline: DefensePipeline[Any], engine: Engine, row: MemoryRow | None, readies: Sequence[Item]
) -> QueryProgress:
    """Begin a query at its row."""
    ordered = deque(sorted(readies, key=folding_order))
    progress = QueryProgress(ordered, stored=row, current=row, memory=pipeline.initial_memory())
    if row is None:
        return progress
    try:
        check_defense(pipeline.name, engine, row)
        progress.memory = remembered(row)
    except InputError as error:
        query = one_line(row.query_id, QUERY_CHARACTERS)
        why = f"the memory of query {query} is damaged: {error.detail}"
        progress.damage = InputError(ReasonClass.DAMAGED_STATE, why)
    return progress


def folding_order(ready: Item) -> tuple[int, str, int]:
    """Return the sort key within a query: event time, then place in the source."""
    record = ready.record
    return ready.value.chosen.snapshot.observed_at_ms, record.source, record.position


def check_defense(name: str, engine: Engine, row: MemoryRow) -> None:
    """Raise InputError for a row of another defence, ConfigurationError if most rows are of it."""
    if row.defense == name:
        return
    if row.defense in DEFENSES and 2 * count(engine, name) < count(engine):
        raise ConfigurationError(
            f"the memory of query {row.query_id!r} was written by defence {row.defense!r}, not "
            f"{name!r}: start over or use another database"
        )
    raise InputError(ReasonClass.WRONG_TYPE, f"it is not of defence {name!r}")


def next_to_fold(progress: QueryProgress, log_epoch: str) -> Item | None:
    """Return the query's next new snapshot; park late ones, and all if the memory is damaged."""
    while progress.waiting:
        ready = progress.waiting.popleft()
        as_of_ms = ready.value.chosen.snapshot.observed_at_ms
        position = log_position(ready, log_epoch)
        row = progress.current
        match order_decision(row, as_of_ms, position.epoch, position.partition, position.offset):
            case "fold" | "late" if progress.damage is not None:
                park(progress, dead_letter(ready.record, progress.damage), ready)
            case "fold":
                return ready
            case "late":
                error = InputError(ReasonClass.LATE, lateness(ready.value.chosen.snapshot, row))
                park(progress, dead_letter(ready.record, error), ready)
            case "replayed":
                pass
    return None


def lateness(snapshot: SearchSnapshot, row: MemoryRow | None) -> str:
    """Say how late a snapshot is, in words that a repeated fold gives too."""
    query, until = one_line(snapshot.query.id, QUERY_CHARACTERS), "now"
    if row is not None:
        until = stored_time(row.as_of_ms)
    return (
        f"observed {wire_time(snapshot.observed_at)}, but query {query} has answered up to {until}"
    )


def log_position(ready: Item, log_epoch: str) -> LogPosition:
    """Return the record's place in its log, in a bounded replay by the event time."""
    as_of_ms = ready.value.chosen.snapshot.observed_at_ms
    return ready.record.log or LogPosition(log_epoch, BOUNDED_LOG, as_of_ms)


def park(progress: QueryProgress, letter: DeadLetter, ready: Item) -> None:
    """Add a dead letter to the transaction of its query."""
    progress.dead.append(letter)
    progress.outgoing.append(outbox_record(letter, lane=lane_of(ready.record)))


def lane_of(record: RawRecord) -> int:
    """Return the outbox lane of a record: its partition."""
    return record.log.partition if record.log else BOUNDED_LOG


def row_after(
    pipeline: DefensePipeline[Any],
    memory: Memory[Any],
    snapshot: SearchSnapshot,
    position: LogPosition,
) -> MemoryRow:
    """Return the row after the fold of a snapshot."""
    return MemoryRow(
        query_id=snapshot.query.id,
        defense=pipeline.name,
        step=memory.step,
        as_of_ms=snapshot.observed_at_ms,
        log_epoch=position.epoch,
        log_partition=position.partition,
        log_offset=position.offset,
        state=encode_state(memory.state, memory.standing),
    )


def outgoing(event: AnswerEvent, lane: int) -> list[OutboxRecord]:
    """Return the answer event, and a rejected event per document that was read and not kept."""
    cited = {source.rank: source for source in event.sources}
    attributions = [
        RejectedEvent(
            query_id=event.query_id,
            step=event.step,
            snapshot_id=event.snapshot_id,
            observed_at=event.observed_at,
            rank=judged.rank,
            url=cited[judged.rank].url,
            title=cited[judged.rank].title,
            reason=judged.reason,
            atomic_answer=judged.atomic_answer,
            defended_answer=event.answer,
            keep_evidence=judged.keep_evidence,
            reject_evidence=judged.reject_evidence,
            margin=judged.margin,
            tags=event.tags,
        )
        for judged in event.verdict.documents
        if not judged.kept and judged.reason is not Reason.NOT_READ
    ]
    events: list[AnswerEvent | RejectedEvent] = [event, *attributions]
    return [outbox_record(value, lane=lane) for value in events]


def witnesses_of(settings: Settings) -> tuple[Witness, ...]:
    """Return the further writes of a fold: events for histories and the console, snapshots for
    complaints, and pages for the corpus.
    """
    serving, attribution = settings.serving, settings.attribution
    witnesses: list[Witness] = []
    if steps := serving.keep_events:
        witnesses.append(lambda event, _: partial(keep_event, event=event, steps=steps))
    if attribution.enabled:
        witnesses.append(
            lambda event, chosen: partial(
                keep_answer,
                kept=KeptAnswer.of(event, chosen.snapshot),
                steps=attribution.keep_steps,
            )
        )
    if settings.corpus.archive:
        corpus = shared_corpus(settings)
        # Also pages that a reranker dropped, which another question may need.
        witnesses.append(lambda _, chosen: partial(corpus.archive, snapshot=chosen.usable))
    return tuple(witnesses)
