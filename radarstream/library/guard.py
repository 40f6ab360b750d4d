"""A guard for programs: questions and documents in, defended answers out, memory in a database."""

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any, Final, Self

from sqlalchemy import URL

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    commit_fold,
    load,
    remembered,
)
from radarstream.library.answers import Answer, answer_of
from radarstream.library.documents import to_documents
from radarstream.pipelines.build import build_guard
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.settings.loading import overlaid
from radarstream.pipelines.stages import Failure
from radarstream.schemas.codec import clean, encode_state
from radarstream.schemas.errors import (
    ConfigurationError,
    InputError,
    RadarstreamError,
    ReasonClass,
    StateConflictError,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot

LOG: Final = "library"  # in the place of a Kafka log: nothing is read from it again
TRIES: Final = 20  # when another process answers the same question at the same time
MOST_QUESTION, MOST_ID = 2_000, 200  # characters, as on the wire
KEY: Final = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the documents to answer it from; see `Guard.answer`."""

    text: str
    documents: Iterable[Any]
    at: datetime | None = None
    id: str | None = None


class Guard:
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
    ) -> None:
        self._lock = RLock()
        self._closed = False
        self._scratch: TemporaryDirectory[str] | None = None
        if memory is None:
            self._scratch = TemporaryDirectory(prefix="radarstream-")
            memory = Path(self._scratch.name) / "memory.db"
        flags = chosen(model, base_url, defense, profile) | {"database": database_url(memory)}
        self.settings = settings_with(settings, flags)
        self._engine = open_engine(self.settings.database)
        self._guard = build_guard(self.settings, self._engine)

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
                self._answer_wave(asked, wave, outcomes)
        return [outcomes[place] for place in range(len(asked))]

    def close(self) -> None:
        """Close the database; without `memory`, forget everything."""
        with self._lock:
            self._closed = True
            self._engine.dispose()
            if self._scratch is not None:
                self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer_wave(
        self,
        asked: Sequence["Asked"],
        places: Sequence[int],
        outcomes: dict[int, Answer | RadarstreamError],
    ) -> None:
        """Answer one snapshot of each of several queries, again where another writer was first."""
        for _ in range(TRIES):
            answered = self._answered([asked[place] for place in places])
            outcomes.update(zip(places, answered, strict=True))
            places = [p for p in places if isinstance(outcomes[p], StateConflictError)]
            if not places:
                return

    def _answered(self, wave: Sequence["Asked"]) -> list[Answer | RadarstreamError]:
        """Answer and remember; a failure is the outcome of its question alone."""
        rows = load(self._engine, [one.query.id for one in wave])
        begun: dict[int, tuple[SearchSnapshot, Memory[Any]]] = {}
        outcomes: dict[int, Answer | RadarstreamError] = {}
        for place, one in enumerate(wave):
            row = rows.get(one.query.id)
            try:
                begun[place] = one.snapshot(row), self._memory(row)
            except RadarstreamError as error:
                outcomes[place] = error
        snapshots = [snapshot for snapshot, _ in begun.values()]
        evidence = self._guard.gather(snapshots)
        memories = [memory for _, memory in begun.values()]
        decided = self._guard.decide(list(zip(snapshots, evidence, memories, strict=True)))
        for place, decision in zip(begun, decided, strict=True):
            if isinstance(decision, Failure):
                outcomes[place] = decision
            else:
                one = wave[place]
                before = rows.get(one.query.id)
                outcomes[place] = self._remember(one, before, begun[place][0], *decision)
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
        one: "Asked",
        before: MemoryRow | None,
        snapshot: SearchSnapshot,
        event: AnswerEvent,
        memory: Memory[Any],
    ) -> Answer | StateConflictError:
        """Store the memory after an answer, unless another writer was first."""
        row = MemoryRow(
            query_id=event.query_id,
            defense=self._guard.name,
            step=memory.step,
            as_of_ms=snapshot.observed_at_ms,
            log_epoch=LOG,
            log_partition=0,
            log_offset=snapshot.observed_at_ms,
            state=encode_state(memory.state),
        )
        try:
            commit_fold(self._engine, before, row)
        except StateConflictError as conflict:
            return conflict
        return answer_of(event, one.given)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its documents read once: as given, and as documents of a snapshot."""

    query: Query
    given: tuple[Any, ...]
    documents: tuple[Document, ...]
    at: datetime | None

    @staticmethod
    def of(given_as: Question | tuple[str, Iterable[Any]]) -> "Asked":
        """Read a question. Raises TypeError for documents without text and values of other types,
        ValueError for a question or id that is empty or too long, an id with control characters,
        and a time without a zone. Control characters of a question are dropped.
        """
        question = given_as if isinstance(given_as, Question) else Question(*given_as)
        if not isinstance(question.text, str) or not isinstance(question.id, str | None):
            raise TypeError("a question and its id are strings")
        if not isinstance(question.at, datetime | None):
            raise TypeError("the time `at` is a datetime")
        id_characters = MOST_ID if question.id is None else len(question.id)
        if not 0 < len(question.text.strip()) <= MOST_QUESTION or not 0 < id_characters <= MOST_ID:
            raise ValueError(
                f"a question has 1 to {MOST_QUESTION} characters, an id 1 to {MOST_ID}"
            )
        if question.id is not None and clean(question.id) != question.id:
            raise ValueError("an id has no control characters")
        if isinstance(question.documents, str | bytes | Mapping):
            raise TypeError("`documents` is one document: put it into a list")
        given = tuple(question.documents)
        query = Query.from_text(clean(question.text))
        if question.id is not None:
            query = replace(query, id=question.id)
        return Asked(query, given, to_documents(given), in_utc(question.at))

    def snapshot(self, row: MemoryRow | None) -> SearchSnapshot:
        """Return the snapshot; of now, but after the memory, where no time was given.

        Raises InputError where the memory is as new as the documents, or newer.
        """
        snapshot = SearchSnapshot(self.query, self.at or datetime.now(UTC), self.documents)
        ahead_ms = row.as_of_ms - snapshot.observed_at_ms if row is not None else -1
        if ahead_ms < 0:
            return snapshot
        if self.at is not None:
            told = f"the memory is as new as {self.at.isoformat()}, or newer"
            raise InputError(ReasonClass.LATE, told)
        try:
            later = snapshot.observed_at + timedelta(milliseconds=ahead_ms + 1)
        except OverflowError:
            raise InputError(ReasonClass.LATE, "no time is newer than the memory") from None
        return replace(snapshot, observed_at=later)


def in_utc(at: datetime | None) -> datetime | None:
    """Return a time in UTC. Raises ValueError without a zone and outside of the years 1 to 9999."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("the time `at` has no time zone")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time `at` is outside of the years 1 to 9999") from None


def settings_with(settings: Settings | str | Path | None, flags: dict[str, Any]) -> Settings:
    """Return the settings with the flags laid over them."""
    if isinstance(settings, Settings):
        return Settings.model_validate(overlaid(settings.model_dump(), flags))
    return load_settings(Path(settings) if settings else None, **flags)


def chosen(
    model: str | None, base_url: str | None, defense: str | None, profile: str | None
) -> dict[str, Any]:
    """Return the settings that the parameters stand for."""
    flags: dict[str, Any] = {} if profile is None else {"profile": profile}
    if defense is not None:
        flags["defense"] = {"name": defense}
    if model is None and base_url is None:
        return flags
    generator = {"kind": "openai"}
    if model is not None:
        generator["model"] = model
    if base_url is not None:
        generator["base_url"] = base_url
        if KEY not in os.environ:
            generator["api_key_variable"] = ""
    return {"profile": "api", **flags, "generator": generator}


def database_url(memory: str | Path) -> str:
    """Return the URL of a database that may be given as a path."""
    text = str(memory)
    if "://" in text:
        return text
    return URL.create("sqlite", database=text).render_as_string()
