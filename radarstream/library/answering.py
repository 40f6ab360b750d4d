"""What a guard does: it answers questions in waves and remembers its answers in a database."""

from collections import deque
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any, Final

from radarstream.connectors.closing import Closing
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    commit_fold,
    load,
    remembered,
)
from radarstream.library.answers import Answer, answer_of
from radarstream.library.questions import Asked, Question
from radarstream.pipelines.beam.folding import row_after
from radarstream.pipelines.beam.witnesses import witnesses_of
from radarstream.pipelines.build import build_defense_pipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.stages import Failure
from radarstream.pipelines.withholding import Observed, choose, with_withheld
from radarstream.schemas.errors import ConfigurationError, RadarstreamError, StateConflictError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Memory
from radarstream.schemas.records import LogPosition, RawRecord

LOG: Final = "library"  # in the place of a Kafka log: nothing is read from it again
NO_RECORD: Final = RawRecord(LOG, 0, b"")
TRIES: Final = 20  # when another process answers the same question at the same time


class Answering(Closing):
    """The defence, the models and the database of one guard. Threads take turns."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._engine = open_engine(settings.database)
        self.guard = build_defense_pipeline(settings, self._engine)
        self._witnesses = witnesses_of(settings)
        self._lock = RLock()
        self._closed = False

    def try_many(
        self, questions: Iterable[Asked | Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer | RadarstreamError]:
        """Answer questions as `Guard.try_many`."""
        asked = [q if isinstance(q, Asked) else Asked.of(q) for q in questions]
        outcomes: dict[int, Answer | RadarstreamError] = {}
        waiting: dict[str, deque[int]] = {}
        for place, one in enumerate(asked):
            waiting.setdefault(one.query.id, deque()).append(place)
        with self._lock:
            if self._closed:
                raise RuntimeError("this guard is closed: make another one")
            while wave := [queue.popleft() for queue in waiting.values() if queue]:
                for _ in range(TRIES):
                    answered = self._answered([asked[place] for place in wave])
                    outcomes.update(zip(wave, answered, strict=True))
                    wave = [p for p in wave if isinstance(outcomes[p], StateConflictError)]
                    if not wave:
                        break
        return [outcomes[place] for place in range(len(asked))]

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._closed = True
            self._engine.dispose()

    def _answered(self, wave: Sequence[Asked]) -> list[Answer | RadarstreamError]:
        """Answer and remember; a failure is the outcome of its question alone."""
        rows = load(self._engine, [one.query.id for one in wave])
        outcomes: dict[int, Answer | RadarstreamError] = {}
        begun: dict[int, tuple[Observed, Memory[Any]]] = {}
        for place, one in enumerate(wave):
            row = rows.get(one.query.id)
            try:
                self.settings.limits.check_count(len(one.documents))
                begun[place] = Observed(NO_RECORD, one.snapshot(row)), self._memory(row)
            except RadarstreamError as error:
                outcomes[place] = error
        given = [observed for observed, _ in begun.values()]
        seen: dict[int, Observed] = {}
        for place, found in zip(
            begun, choose(self.settings, self._engine, self.guard, given), strict=True
        ):
            if isinstance(found, Failure):
                outcomes[place] = found
            else:
                seen[place] = found
        snapshots = [observed.snapshot for observed in seen.values()]
        memories = [begun[place][1] for place in seen]
        items = zip(snapshots, self.guard.gather(snapshots), memories, strict=True)
        decided = self.guard.decide(list(items))
        for (place, observed), decision in zip(seen.items(), decided, strict=True):
            if isinstance(decision, Failure):
                outcomes[place] = decision
            else:
                one, (event, memory) = wave[place], decision
                before = rows.get(one.query.id)
                outcomes[place] = self._remember(one, before, observed, event, memory)
        return [outcomes[place] for place in range(len(wave))]

    def _memory(self, row: MemoryRow | None) -> Memory[Any]:
        """Read a memory. Raises InputError for a damaged one, ConfigurationError for another's."""
        if row is None:
            return self.guard.initial_memory()
        if row.defense != self.guard.name:
            raise ConfigurationError(
                f"defence {row.defense!r} wrote this memory, not {self.guard.name!r}: "
                "name that defence, or another database"
            )
        return remembered(row)

    def _remember(
        self,
        one: Asked,
        before: MemoryRow | None,
        observed: Observed,
        event: AnswerEvent,
        memory: Memory[Any],
    ) -> Answer | StateConflictError:
        """Store the memory after an answer, unless another writer was first."""
        event = with_withheld(event, observed)
        snapshot = observed.snapshot
        row = row_after(self.guard, memory, snapshot, LogPosition(LOG, 0, snapshot.observed_at_ms))
        beside = [witness(event, observed) for witness in self._witnesses]
        try:
            commit_fold(self._engine, before, row, beside=beside)
        except StateConflictError as conflict:
            return conflict
        return answer_of(event, one.given)
