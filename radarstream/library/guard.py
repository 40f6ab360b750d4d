"""A guard for programs: questions and documents in, defended answers out, memory in a database."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
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
from radarstream.library.parameters import chosen, database_url, settings_with
from radarstream.library.questions import Asked, Question
from radarstream.pipelines.beam.folding import row_after
from radarstream.pipelines.beam.witnesses import witnesses_of
from radarstream.pipelines.build import build_guard
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.loading import read_environment
from radarstream.pipelines.stages import Failure
from radarstream.pipelines.withholding import Observed, choose, with_withheld
from radarstream.schemas.errors import ConfigurationError, RadarstreamError, StateConflictError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Memory
from radarstream.schemas.records import LogPosition, RawRecord

LOG: Final = "library"  # in the place of a Kafka log: nothing is read from it again
NO_RECORD: Final = RawRecord(LOG, 0, b"")
TRIES: Final = 20  # when another process answers the same question at the same time


class Guard(Closing):
    """Answers questions from documents that may lie, and remembers its answers.

    Each answer updates the memory of its question, so ask in the order of time. Several threads
    may use one guard and take turns; several processes may share one database.

    Parameters
    ----------
    model, base_url
        A model behind an OpenAI-compatible service. Its key is read from the environment variable
        OPENAI_API_KEY; a service that you name by `base_url` may want none. Without either, the
        embedded models answer, and no network is asked.
    memory
        Database of the memory: a SQLAlchemy URL (`sqlite:///m.db`, `postgresql://user@host/name`)
        or the path of a SQLite file. Without it, a closed guard forgets everything.
    defense
        Name of the defence: radar, reliability_rag, …
    profile
        Which models answer by default: embedded, api, gpu or scripted (rules, for tests).
    settings
        Settings, or a TOML file of them. The other parameters win.
    reranker, keep
        Name of the reranker that chooses at most `keep` of the documents of a question before the
        defence sees them: prog_rank, …; "" for none.

    Raises
    ------
    ConfigurationError
        Where a setting, a model or the database cannot be used; the message says what to do.

    Examples
    --------
    >>> says = ["Lima is the capital.", "Lima is its capital.", "Cusco is its capital."]
    >>> with Guard(profile="scripted") as guard:
    ...     answer = guard.answer("What is the capital of Peru?", says)
    >>> answer.text, [judged.kept for judged in answer.documents]
    ('Lima', [True, True, False])
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        base_url: str | None = None,
        memory: str | Path | None = None,
        defense: str | None = None,
        profile: str | None = None,
        settings: Settings | str | Path | None = None,
        reranker: str | None = None,
        keep: int | None = None,
    ) -> None:
        self._lock = RLock()
        self._closed = False
        self._scratch: TemporaryDirectory[str] | None = None
        if memory is None:
            self._scratch = TemporaryDirectory(prefix="radarstream-")
            memory = Path(self._scratch.name) / "memory.db"
        flags = chosen(model, base_url, defense, profile) | {"database": database_url(memory)}
        asked_for = "compare_with" in read_environment().get("defense", {})
        if settings is None and not asked_for:  # nobody reads it, and it costs a long prompt
            flags["defense"] = flags.get("defense", {}) | {"compare_with": ""}
        retrieval = {"name": reranker, "keep": keep}
        flags["retrieval"] = {name: v for name, v in retrieval.items() if v is not None}
        self.settings = settings_with(settings, flags)
        self._engine = open_engine(self.settings.database)
        self._guard = build_guard(self.settings, self._engine)
        self._witnesses = witnesses_of(self.settings)

    def answer(
        self,
        question: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002 the word of the wire format
    ) -> Answer:
        """Answer one question from documents, the best first.

        `documents` are strings, mappings, or documents of LangChain, LlamaIndex or Haystack, see
        `radarstream.library.documents`. `at` is when they were found, by default now. `id` keys
        the memory, by default the question's own words.
        Raises ModelError where a model does not answer, InputError for documents that are not
        newer than the memory, TypeError for documents without text, RuntimeError after `close`.
        """
        return self.answer_many([Question(question, documents, at, id)])[0]

    def answer_many(
        self, questions: Iterable[Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer]:
        """Answer many questions with few calls of each model; answers keep the order.

        Give `Question`s, or pairs of question and documents. The same question may occur again:
        its later documents meet the memory of the earlier ones. Where some fail, the others are
        answered and remembered before the first error is raised; `try_many` returns the errors.
        """
        answers = []
        for outcome in self.try_many(questions):
            if isinstance(outcome, RadarstreamError):
                raise outcome
            answers.append(outcome)
        return answers

    def try_many(
        self, questions: Iterable["Asked | Question | tuple[str, Iterable[Any]]"]
    ) -> list[Answer | RadarstreamError]:
        """Answer many questions; an error stands in the place of an answer that failed."""
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
        """Close the database; without `memory`, forget everything."""
        with self._lock:
            self._closed = True
            self._engine.dispose()
            if self._scratch is not None:
                self._scratch.cleanup()

    def _answered(self, wave: Sequence[Asked]) -> list[Answer | RadarstreamError]:
        """Answer and remember; a failure is the outcome of its question alone."""
        rows = load(self._engine, [one.query.id for one in wave])
        outcomes: dict[int, Answer | RadarstreamError] = {}
        begun: dict[int, tuple[Observed, Memory[Any]]] = {}
        for place, one in enumerate(wave):
            row = rows.get(one.query.id)
            try:
                begun[place] = Observed(NO_RECORD, one.snapshot(row)), self._memory(row)
            except RadarstreamError as error:
                outcomes[place] = error
        given = [observed for observed, _ in begun.values()]
        seen: dict[int, Observed] = {}
        for place, found in zip(
            begun, choose(self.settings, self._engine, self._guard, given), strict=True
        ):
            if isinstance(found, Failure):
                outcomes[place] = found
            else:
                seen[place] = found
        snapshots = [observed.snapshot for observed in seen.values()]
        memories = [begun[place][1] for place in seen]
        items = zip(snapshots, self._guard.gather(snapshots), memories, strict=True)
        decided = self._guard.decide(list(items))
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
            return self._guard.initial_memory()
        if row.defense != self._guard.name:
            raise ConfigurationError(
                f"defence {row.defense!r} wrote this memory, not {self._guard.name!r}: "
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
        row = row_after(self._guard, memory, snapshot, LogPosition(LOG, 0, snapshot.observed_at_ms))
        beside = [witness(event, observed) for witness in self._witnesses]
        try:
            commit_fold(self._engine, before, row, beside=beside)
        except StateConflictError as conflict:
            return conflict
        return answer_of(event, one.given)
