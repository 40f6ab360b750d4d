"""Answers the questions of a guard in waves, and remembers the answers in a database."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Final

from radarstream.connectors.closing import Closing
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries import memory
from radarstream.library.answers import Answer, Checked, answer_of
from radarstream.library.questions import Asked, Question
from radarstream.pipelines.beam.folding import row_after, witnesses_of
from radarstream.pipelines.build import build_defense_pipeline
from radarstream.pipelines.documents import DocumentReader
from radarstream.pipelines.round.values import Concluded
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.claims import check_claims, read_claims
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError, RadarstreamError, StateConflictError
from radarstream.schemas.memory import Memory
from radarstream.schemas.records import LogPosition
from radarstream.schemas.snapshot import SearchSnapshot

LOG: Final = "library"  # stands for the id of a Kafka log; nothing is read from it again
TRIES: Final = 20  # if another process answers the same question at the same time


class Answering(Closing):
    """The defence, the models and the database of one guard. One thread at a time may use them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._engine = open_engine(settings.database)
        self.pipeline = build_defense_pipeline(settings, self._engine)
        self._witnesses = witnesses_of(settings)
        self._reader = DocumentReader(settings)
        self._lock = RLock()
        self._closed = False

    def try_many(
        self, questions: Iterable[Asked | Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer | RadarstreamError]:
        """Answer questions as `Guard.try_many`."""
        asked = [q if isinstance(q, Asked) else Asked.of(q) for q in questions]
        outcomes: dict[int, Answer | RadarstreamError] = {}
        waiting: dict[str, deque[int]] = {}
        with self._lock:
            if self._closed:
                raise RuntimeError("this guard is closed: make another one")
            for place, one in enumerate(asked):
                try:
                    if one.to_read:
                        asked[place] = one.read(self._reader, self.settings.limits)
                except RadarstreamError as error:
                    outcomes[place] = error
                else:
                    waiting.setdefault(one.query.id, deque()).append(place)
            while wave := [queue.popleft() for queue in waiting.values() if queue]:
                for _ in range(TRIES):
                    answered = self._answered([asked[place] for place in wave])
                    outcomes.update(zip(wave, answered, strict=True))
                    wave = [p for p in wave if isinstance(outcomes[p], StateConflictError)]
                    if not wave:
                        break
        return [outcomes[place] for place in range(len(asked))]

    def check(self, claim: Question) -> Checked:
        """Check a claim, as `Guard.check`."""
        text = clean(claim.text) if isinstance(claim.text, str) else claim.text
        Asked.of(replace(claim, text=text))
        with self._lock:
            (read,) = read_claims(self.pipeline.models, [text])
            if isinstance(read, RadarstreamError):
                raise read
            (answer,) = self.try_many([replace(claim, text=read.question)])
            if isinstance(answer, RadarstreamError):
                raise answer
            (checked,) = check_claims(self.pipeline.models, [(read, answer.event)])
        if isinstance(checked, RadarstreamError):
            raise checked
        return Checked(checked, answer)

    def close(self) -> None:
        """Close the database and end the process that reads documents."""
        with self._lock:
            self._closed = True
            self._reader.close()
            self._engine.dispose()

    def _answered(self, wave: Sequence[Asked]) -> list[Answer | RadarstreamError]:
        """Answer distinct questions and remember the answers; each failure is one outcome."""
        rows = memory.load(self._engine, [one.query.id for one in wave])
        outcomes: dict[int, Answer | RadarstreamError] = {}
        begun: dict[int, tuple[SearchSnapshot, Memory[Any]]] = {}
        for place, one in enumerate(wave):
            row = rows.get(one.query.id)
            try:
                self.settings.limits.check_count(len(one.documents))
                begun[place] = one.snapshot(row), self._memory(row)
            except RadarstreamError as error:
                outcomes[place] = error
        observed = self.pipeline.withhold([snapshot for snapshot, _ in begun.values()])
        items = [
            (replace(seen, trace=wave[place].trace), memory)
            for seen, (place, (_, memory)) in zip(observed, begun.items(), strict=True)
        ]
        for place, outcome in zip(begun, self.pipeline.finish(items), strict=True):
            if isinstance(outcome, Failure):
                outcomes[place] = outcome
            else:
                one = wave[place]
                outcomes[place] = self._remember(one, rows.get(one.query.id), outcome)
        return [outcomes[place] for place in range(len(wave))]

    def _memory(self, row: memory.MemoryRow | None) -> Memory[Any]:
        """Read a memory. Raises InputError if it is damaged, ConfigurationError if another defence
        wrote it.
        """
        if row is None:
            return self.pipeline.initial_memory()
        if row.defense != self.pipeline.name:
            raise ConfigurationError(
                f"defence {row.defense!r} wrote this memory, not {self.pipeline.name!r}: "
                "name that defence, or another database"
            )
        return memory.remembered(row)

    def _remember(
        self, one: Asked, before: memory.MemoryRow | None, outcome: Concluded[Any]
    ) -> Answer | StateConflictError:
        """Store the memory of an answer; return the conflict if another writer was first."""
        snapshot = outcome.chosen.snapshot
        position = LogPosition(LOG, 0, snapshot.observed_at_ms)
        row = row_after(self.pipeline, outcome.memory, snapshot, position)
        beside = [witness(outcome.event, outcome.chosen) for witness in self._witnesses]
        try:
            memory.commit_fold(self._engine, before, row, beside=beside)
        except StateConflictError as conflict:
            return conflict
        return answer_of(outcome.event, one.given, one.unread)
