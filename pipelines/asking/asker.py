"""From a user's question to a defended reply: Algorithm 3 of "Adaptive Defense Orchestration".

    account -> signals -> Sentinel -> Strategist -> hook A -> retrieval -> signals -> Sentinel
            -> Strategist -> hook B -> hook C -> guard -> hook D -> trust

A list of questions takes every step together, so that they share calls of models. A question that
fails does so alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from radarstream.pipelines.asking.batching import Batched
from radarstream.pipelines.asking.course import Course, alive, each, unavailable
from radarstream.pipelines.asking.guards import Guards
from radarstream.pipelines.asking.hooks import Chosen, candidates
from radarstream.pipelines.asking.known import known_queries, query_of
from radarstream.pipelines.asking.plans import within
from radarstream.pipelines.asking.ports import Accounts, Retriever
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.signals.reranking import with_left_out
from radarstream.pipelines.stages import Failure
from radarstream.pipelines.withholding import Observed, after, leave_out, with_withheld
from radarstream.schemas.errors import InputError, RadarstreamError, ReasonClass
from radarstream.schemas.orchestration import Orchestration, Plan
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

NO_RECORD = RawRecord("asked", 0, b"")  # nothing is read from it again


class Asker:
    """Answers questions of users. Thread-safe; holds no state but that of accounts and models."""

    def __init__(
        self,
        guards: Guards,
        engine: Engine,
        accounts: Accounts,
        retrievers: Mapping[Origin, Retriever],
        seed: Callable[[UserQuestion], int],
    ) -> None:
        self.settings = guards.settings
        self.guards = guards
        self.engine = engine
        self.accounts = accounts
        self.retrievers = retrievers
        self.seed = seed

    def ask(self, question: UserQuestion) -> Reply:
        """Answer one question. Raises RadarstreamError."""
        (outcome,) = self.ask_all([question])
        if isinstance(outcome, RadarstreamError):
            raise outcome
        return outcome

    def ask_all(self, questions: Sequence[UserQuestion]) -> list[Reply | RadarstreamError]:
        """Answer many questions with few calls of each model, in order.

        An error stands in the place of a reply that failed.
        """
        courses = [Course(question) for question in questions]
        self._know(courses)
        each(courses, self._plan_first)
        each(courses, self._retrieve)
        self._withhold(courses)
        self._answer(courses)
        return [course.failure or self._reply(course) for course in courses]

    def _know(self, courses: Sequence[Course]) -> None:
        """Find the questions that are watched, and their memories."""
        queries = {}

        def read(course: Course) -> None:
            if course.question.wanted < 1:
                raise InputError(ReasonClass.OUT_OF_RANGE, "a question wants one document or more")
            if course.question.documents and course.question.origin is not Origin.DOCUMENTS:
                told = f"documents are given, but those of the {course.question.origin} are wanted"
                raise InputError(ReasonClass.UNKNOWN_FIELD, told)
            queries[id(course)] = query_of(course.question.text)

        each(courses, read)
        asked = alive(courses)
        try:
            found = known_queries(self.engine, [queries[id(course)] for course in asked])
        except DBAPIError as error:
            for course in asked:
                course.failure = unavailable(error)
            return
        for course, known in zip(asked, found, strict=True):
            course.known = known

    def _plan_first(self, course: Course) -> None:
        chosen = self.settings.orchestration
        course.plan = within(Plan(), (), chosen.always)

    def _retrieve(self, course: Course) -> None:
        question = course.question
        retriever = self.retrievers.get(question.origin)
        if retriever is None:
            raise InputError(ReasonClass.OUT_OF_RANGE, f"there is no {question.origin} to ask")
        assert course.known is not None
        wanted = candidates(question.wanted, course.plan, ())
        documents = retriever.retrieve(question, wanted)
        at = course.known.seen_at(question.asked_at)
        snapshot = SearchSnapshot(course.known.query, at, documents)
        course.observed = Observed(NO_RECORD, snapshot)

    def _withhold(self, courses: Sequence[Course]) -> None:
        """Leave out what is in quarantine and of blocked sources, as the job does."""
        asked = alive(courses)
        found = [course.observed for course in asked if course.observed is not None]
        try:
            left = leave_out(self.settings, self.engine, found)
        except DBAPIError as error:
            for course in asked:
                course.failure = unavailable(error)
            return
        for course, observed in zip(asked, left, strict=True):
            course.observed = observed
            course.chosen = Chosen(observed.snapshot).capped(course.question.wanted)

    def _answer(self, courses: Sequence[Course]) -> None:
        """Let the guards answer, each all that it is asked at once."""
        groups: dict[tuple[str | None, int], list[Course]] = {}
        for course in alive(courses):
            key = course.question.defense, course.question.wanted
            groups.setdefault(key, []).append(course)
        for (defense, wanted), asked in groups.items():
            try:
                guard = self.guards.variant(defense, wanted)
            except RadarstreamError as error:
                for course in asked:
                    course.failure = error
                continue
            self._answer_by(guard, asked)

    def _answer_by(self, guard: Guard[Any], courses: Sequence[Course]) -> None:
        def see(course: Course) -> None:
            assert course.known is not None
            memories[id(course)] = course.known.memory(guard)

        memories: dict[int, Any] = {}
        each(courses, see)
        seen: list[Course] = []
        asked = [(c, c.observed, c.chosen) for c in alive(courses)]
        shown = [chosen.snapshot for _, _, chosen in asked if chosen is not None]
        for (course, observed, chosen), found in zip(asked, guard.rerank(shown), strict=True):
            assert observed is not None and chosen is not None
            if isinstance(found, Failure):
                course.failure = found
                continue
            course.observed = after(replace(observed, snapshot=chosen.snapshot), found)
            seen.append(course)
        snapshots = [c.observed.snapshot for c in seen if c.observed is not None]
        kept = [memories[id(course)] for course in seen]
        items = list(zip(snapshots, guard.gather(snapshots), kept, strict=True))
        for course, outcome in zip(seen, guard.decide(items), strict=True):
            if isinstance(outcome, Failure):
                course.failure = outcome
                continue
            assert course.observed is not None and course.chosen is not None
            event = with_withheld(outcome[0], course.observed)
            course.event = with_left_out(event, course.chosen.dropped)

    def _reply(self, course: Course) -> Reply:
        observed, chosen, event = course.observed, course.chosen, course.event
        assert observed is not None and chosen is not None and event is not None
        documents = [*observed.usable.documents, *observed.withheld, *observed.blocked]
        documents += [document for document, _ in chosen.dropped]
        return Reply(
            question=course.question,
            text=event.answer,
            event=event,
            documents=tuple(sorted(documents, key=lambda document: document.rank)),
            orchestration=Orchestration(plan=course.plan, hooks=tuple(course.hooks)),
        )


class AsyncAsker:
    """The asynchronous twin: questions that come while models are busy share the next batch.

    Close it with `await asker.close()`. One event loop at a time may ask it.
    """

    def __init__(self, asker: Asker) -> None:
        self._batched = Batched[UserQuestion, Reply](asker.ask_all, "asker")

    async def ask(self, question: UserQuestion) -> Reply:
        """Answer one question. Raises RadarstreamError, RuntimeError once closed."""
        return await self._batched.ask(question)

    async def close(self) -> None:
        """Wait for the batch that is being answered, and refuse what still waits."""
        await self._batched.close()
