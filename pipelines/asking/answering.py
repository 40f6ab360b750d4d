"""The generation and hook D: guards answer from what is left, and the answer is audited."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

from radarstream.pipelines.asking.course import Course, alive, each, together
from radarstream.pipelines.asking.finding import NOT_ASKED, chosen_of
from radarstream.pipelines.asking.guards import Guards, Prompting
from radarstream.pipelines.asking.hooks import enabled, record
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.signals.reranking import with_left_out
from radarstream.pipelines.stages import Failure
from radarstream.pipelines.withholding import after, with_withheld
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Memory
from radarstream.schemas.orchestration import Audited, Module
from radarstream.schemas.snapshot import SearchSnapshot

ONLY_WRITTEN: Final = "what it found is only written down"
Variant = tuple[str | None, int, Prompting]


class Auditor(Protocol):
    """Checks an answer, and says what is to be done about what it finds."""

    def audit(
        self, answer: str, passages: Sequence[str], question: str = "", *, abstained: bool = False
    ) -> Audited:
        """What becomes of an answer from these passages. Never raises."""
        ...


@dataclass(frozen=True)
class Answering:
    """Answers questions from the documents that the hooks left.

    `first` may want another answer, which `last` then judges for good.
    """

    guards: Guards
    first: Auditor
    last: Auditor

    def answer(self, courses: Sequence[Course]) -> None:
        """Answer each question, with hook C's guardrail where the plan has it, and audit it."""
        for course in alive(courses):
            guarded = enabled(course.plan, Module.GUARDRAIL)
            count = len(chosen_of(course).snapshot.documents)
            why = "" if guarded else NOT_ASKED
            hook = record(Module.GUARDRAIL, {}, count, acted=guarded, detail=why)
            course.hooks.append(hook)
        self._generate(courses, {id(c): self._prompting(c) for c in courses})
        each(courses, lambda course: self._audit(course, self.first))
        self._answer_again(courses)
        each(courses, self._record)

    def _prompting(self, course: Course) -> Prompting:
        return "guarded" if enabled(course.plan, Module.GUARDRAIL) else "plain"

    def _answer_again(self, courses: Sequence[Course]) -> None:
        """Ask once more for answers that quote, and told not to; what still does is masked."""
        unfit = [
            c for c in alive(courses) if c.audited is not None and c.audited.action == "regenerate"
        ]
        retries = [copy(course) for course in unfit]
        self._generate(retries, dict.fromkeys(map(id, retries), "unquoting"))
        for course, retry in zip(unfit, retries, strict=True):
            if retry.failure is None:
                course.event, course.observed = retry.event, retry.observed
            self._audit(course, self.last)

    def _generate(self, courses: Sequence[Course], prompting: dict[int, Prompting]) -> None:
        """Let the guards answer, each all that it is asked at once."""
        groups: dict[Variant, list[Course]] = {}
        for course in alive(courses):
            key = course.question.defense, course.question.wanted, prompting[id(course)]
            groups.setdefault(key, []).append(course)
        for key, members in groups.items():
            together(members, partial(self._by, key))

    def _by(self, variant: Variant, courses: Sequence[Course]) -> None:
        """Choose, read, gather and decide, as the job does."""
        guard = self.guards.variant(*variant)
        memories: dict[int, Memory[Any]] = {}

        def remember(course: Course) -> None:
            assert course.known is not None
            memories[id(course)] = course.known.memory(guard)

        each(courses, remember)
        asked = alive(courses)
        found = guard.rerank([self._shown(guard, course) for course in asked])
        for course, reranked in zip(asked, found, strict=True):
            assert course.observed is not None
            if isinstance(reranked, Failure):
                course.failure = reranked
                continue
            seen = replace(course.observed, snapshot=self._shown(guard, course), reranked=None)
            course.observed = after(seen, reranked)
        asked = alive(asked)
        snapshots = [c.observed.snapshot for c in asked if c.observed is not None]
        kept = [memories[id(course)] for course in asked]
        items = list(zip(snapshots, guard.gather(snapshots), kept, strict=True))
        for course, outcome in zip(asked, guard.decide(items), strict=True):
            if isinstance(outcome, Failure):
                course.failure = outcome
            else:
                course.event = told(course, outcome[0])

    def _shown(self, guard: Guard[Any], course: Course) -> SearchSnapshot:
        """What a guard is given: a reranker chooses among all that are left, else the best."""
        chosen = chosen_of(course)
        return (chosen if guard.reranker else chosen.capped(course.question.wanted)).snapshot

    def _audit(self, course: Course, auditor: Auditor) -> None:
        """Check the answer. Where the plan only writes down, the answer stays as it is."""
        event = course.event
        assert event is not None and course.observed is not None
        if not enabled(course.plan, Module.AUDIT):
            course.audited = Audited("pass", event.answer)
            return
        passages = [document.passage for document in course.observed.snapshot.documents]
        found = auditor.audit(
            event.answer, passages, event.question, abstained=event.abstention is not None
        )
        if course.plan.output_audit.mode == "log":
            found = replace(found, action="pass", text=event.answer)
        course.audited = found

    def _record(self, course: Course) -> None:
        """Write down what hook D did."""
        assert course.audited is not None
        count = len(chosen_of(course).snapshot.documents)
        plan = course.plan.output_audit
        acted = Module.AUDIT in course.plan.active
        why = course.audited.action if acted else ONLY_WRITTEN if plan.enabled else NOT_ASKED
        parameters = {"mode": plan.mode, "findings": len(course.audited.findings)}
        hook = record(Module.AUDIT, parameters, count, acted=acted, detail=why)
        course.hooks.append(hook)


def told(course: Course, event: AnswerEvent) -> AnswerEvent:
    """The event with the documents that no model saw."""
    assert course.observed is not None
    event = with_withheld(event, course.observed)
    return with_left_out(event, chosen_of(course).dropped)
