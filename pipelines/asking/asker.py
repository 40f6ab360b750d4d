"""From a user's question to a defended reply: Algorithm 3 of "Adaptive Defense Orchestration".

    account -> signals -> Sentinel -> Strategist -> hook A around the retrieval -> signals
            -> Sentinel -> Strategist -> hook B -> hook C -> guard -> hook D -> trust

A list of questions takes every step together, so that they share calls of models. A question that
fails does so alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from radarstream.connectors.models.batching import places
from radarstream.connectors.models.response_cache import kept_for
from radarstream.pipelines.asking.answering import Answering
from radarstream.pipelines.asking.course import Course, each, together
from radarstream.pipelines.asking.finding import Finding
from radarstream.pipelines.asking.known import KnownQueries, query_of
from radarstream.pipelines.asking.planning import Planning
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.schemas.errors import InputError, RadarstreamError, ReasonClass
from radarstream.schemas.orchestration import Module, Orchestration


@dataclass(frozen=True)
class Asker:
    """Answers questions of users. Thread-safe; holds no state but that of accounts and models."""

    queries: KnownQueries
    planning: Planning
    finding: Finding
    answering: Answering

    def ask(self, question: UserQuestion) -> Reply:
        """Answer one question. Raises RadarstreamError."""
        (outcome,) = self.ask_all([question])
        if isinstance(outcome, RadarstreamError):
            raise outcome
        return outcome

    def ask_all(self, questions: Sequence[UserQuestion]) -> list[Reply | RadarstreamError]:
        """Answer many questions with few calls of each model, in order.

        An error stands in the place of a reply that failed. What the job remembers of a question is
        read and never written. Questions about own documents share calls, and cached replies, with
        those of the same user alone.
        """
        outcomes: dict[int, Reply | RadarstreamError] = {}
        for user, group in places(map(private_to, questions)).items():
            with kept_for(user):
                found = self._together([questions[place] for place in group])
            outcomes |= zip(group, found, strict=True)
        return [outcomes[place] for place in range(len(questions))]

    def _together(self, questions: Sequence[UserQuestion]) -> list[Reply | RadarstreamError]:
        courses = [Course(question) for question in questions]
        each(courses, check)
        together(courses, self._recognise)
        self.planning.know(courses)
        self.planning.first(courses)
        self.finding.find(courses)
        self.planning.second(courses)
        self.finding.choose(Module.TRUSTRAG, courses)
        self.finding.choose(Module.ATTENTION, courses)
        self.answering.answer(courses)
        self.planning.conclude(courses)
        return [course.failure or reply_of(course) for course in courses]

    def _recognise(self, courses: Sequence[Course]) -> None:
        """Find the questions that are watched, and their memories."""
        queries = [query_of(course.question.text) for course in courses]
        for course, known in zip(courses, self.queries.find(queries), strict=True):
            course.known = known


def private_to(question: UserQuestion) -> str:
    """The user who alone may know what a question is answered from; "" where all may."""
    return question.user if question.origin is Origin.DOCUMENTS else ""


def check(course: Course) -> None:
    """Raise InputError for a question that cannot be asked."""
    question = course.question
    query_of(question.text)
    if question.wanted < 1:
        raise InputError(ReasonClass.OUT_OF_RANGE, "a question wants one document or more")
    if question.documents and question.origin is not Origin.DOCUMENTS:
        told = f"documents are given, but those of the {question.origin} are wanted"
        raise InputError(ReasonClass.UNKNOWN_FIELD, told)


def reply_of(course: Course) -> Reply:
    """What the user is told."""
    observed, chosen, event, audited = course.observed, course.chosen, course.event, course.audited
    assert observed is not None and chosen is not None
    assert event is not None and audited is not None
    documents = [*observed.usable.documents, *observed.withheld, *observed.blocked]
    documents += [document for document, _ in chosen.dropped]
    trust = 0.0 if course.trust is None else course.trust
    return Reply(
        question=course.question,
        text=audited.text,
        event=event,
        documents=tuple(sorted(documents, key=lambda document: document.rank)),
        orchestration=Orchestration(
            plan=course.plan,
            before=course.before,
            after=course.after,
            question_signals=course.signals,
            retrieval_signals=course.retrieval,
            trust=trust,
            trust_after=trust if course.trust_after is None else course.trust_after,
            epsilon_spent=course.epsilon_spent,
            epsilon_left=course.epsilon_left,
            hooks=tuple(course.hooks),
            audit=audited,
        ),
    )
