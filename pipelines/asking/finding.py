"""Hooks A, B and C as far as they choose documents, and the retrieval between them."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Engine

from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.retrieval.registry import build_reranker
from radarstream.pipelines.asking.course import Course, alive, each, together
from radarstream.pipelines.asking.hooks import (
    CHOOSING,
    Chosen,
    candidates,
    enabled,
    options_of,
    record,
)
from radarstream.pipelines.asking.ports import Accounts, Retriever
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import rerank
from radarstream.pipelines.stages import Failure
from radarstream.pipelines.withholding import Observed, leave_out
from radarstream.schemas.errors import (
    BudgetSpentError,
    DatabaseUnavailableError,
    InputError,
    ReasonClass,
)
from radarstream.schemas.orchestration import Module
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import Document, SearchSnapshot

NO_RECORD: Final = RawRecord("asked", 0, b"")  # nothing is read from it again
CORPUS: Final = "corpus"  # the name of the one corpus that there is, in accounts
# A filter may keep all: how many documents the answer rests on is decided after it.
ALL: Final = 10_000
NOT_ASKED: Final = "the plan does not switch it on"
PUBLIC: Final = {
    Origin.DOCUMENTS: "the user's own documents are no secret from the user",
    Origin.SEARCH: "the web is no secret",
}
Options = dict[str, Any]
Methods = Callable[[Module, Options], RetrievalDefense]


def registered(module: Module, options: Options) -> RetrievalDefense:
    """The retrieval defence of a module. Raises ConfigurationError."""
    return build_reranker(CHOOSING[module], options)


@dataclass(frozen=True)
class Finding:
    """Finds the documents of questions and lets the modules choose among them.

    More documents are looked for than an answer may rest on where one of the modules in `may_act`
    may drop some; by a search, which costs, only where one in `must_act` is known to act.
    """

    settings: Settings
    engine: Engine
    retrievers: Mapping[Origin, Retriever]
    accounts: Accounts
    models: Models
    costs: Costs
    may_act: Collection[Module]
    must_act: Collection[Module]
    seed: Callable[[UserQuestion], int]
    methods: Methods = registered

    def find(self, courses: Sequence[Course]) -> None:
        """Retrieve documents, leave out those that no model may see, and apply hook A."""
        each(courses, self._pay)
        each(courses, self._retrieve)
        together(courses, self._withhold)
        self.choose(Module.PRIVACY, courses)
        each(courses, self._forget_undrawn)

    def choose(self, module: Module, courses: Sequence[Course]) -> None:
        """Let one module choose; questions with the same options share calls of models."""
        groups: dict[tuple[int, str], list[Course]] = {}
        for course in alive(courses):
            why = self._why_not(module, course)
            if why:
                course.hooks.append(record(module, {}, len(left(course)), acted=False, detail=why))
                continue
            keep = course.question.wanted if module is Module.PRIVACY else ALL
            key = keep, json.dumps(self._options(module, course), sort_keys=True)
            groups.setdefault(key, []).append(course)
        for (keep, options), members in groups.items():
            together(members, partial(self._apply, module, keep, json.loads(options)))

    def _why_not(self, module: Module, course: Course) -> str:
        if not enabled(course.plan, module):
            return NOT_ASKED
        return PUBLIC.get(course.question.origin, "") if module is Module.PRIVACY else ""

    def _options(self, module: Module, course: Course) -> Options:
        options = options_of(course.plan, module)
        if module is Module.PRIVACY:
            options["seed"] = self.seed(course.question)
        return options

    def _apply(
        self, module: Module, keep: int, options: Options, courses: Sequence[Course]
    ) -> None:
        method = self.methods(module, options)
        shown = [chosen_of(course).snapshot for course in courses]
        outcomes = rerank(method, keep, shown, self.models, self.costs)
        told = {name: value for name, value in options.items() if name != "seed"}
        for course, outcome in zip(courses, outcomes, strict=True):
            if isinstance(outcome, Failure):
                course.failure = outcome
                continue
            before = len(left(course))
            if outcome.reranking is not None:
                course.chosen = chosen_of(course).after(outcome.reranking)
            course.hooks.append(record(module, told, before, len(left(course))))

    def _pay(self, course: Course) -> None:
        """Take the epsilon of a threshold from the user's budget, before it is drawn.

        It stays spent if the retrieval fails.
        """
        if self._why_not(Module.PRIVACY, course):
            return
        user, epsilon = course.question.user, course.plan.differential_privacy.epsilon
        budget = self.settings.orchestration.epsilon_budget
        try:
            paid = self.accounts.spend(user, CORPUS, epsilon, budget)
            spent = self.accounts.spent(user, CORPUS)
        except Exception as error:
            raise DatabaseUnavailableError("the epsilon budget of a user is not known") from error
        if not paid:
            raise BudgetSpentError(
                f"the epsilon budget of this user for the corpus is spent: {epsilon:g} of "
                f"{budget:g} is not left; own documents and the web can still be asked"
            )
        course.epsilon_spent = epsilon
        course.epsilon_left = max(0.0, budget - spent)

    def _retrieve(self, course: Course) -> None:
        question, known = course.question, course.known
        retriever = self.retrievers.get(question.origin)
        if retriever is None or known is None:
            raise InputError(ReasonClass.OUT_OF_RANGE, f"no {question.origin} can be asked")
        reserve = self.must_act if question.origin is Origin.SEARCH else self.may_act
        wanted = candidates(question.wanted, reserve)
        found = retriever.retrieve(course.question, wanted)
        snapshot = SearchSnapshot(known.query, known.seen_at(question.asked_at), found)
        course.observed = Observed(NO_RECORD, snapshot)

    def _withhold(self, courses: Sequence[Course]) -> None:
        """Leave out what is in quarantine and of blocked sources, as the job does."""
        found = [course.observed for course in courses if course.observed is not None]
        for course, observed in zip(
            courses, leave_out(self.settings, self.engine, found), strict=True
        ):
            course.observed = observed
            course.chosen = Chosen(observed.snapshot)

    def _forget_undrawn(self, course: Course) -> None:
        """Nobody is told what the noise kept out."""
        if not self._why_not(Module.PRIVACY, course):
            course.chosen = chosen_of(course).private()
            course.observed = Observed(NO_RECORD, course.chosen.snapshot)


def chosen_of(course: Course) -> Chosen:
    """What is left of the documents that were found."""
    assert course.chosen is not None
    return course.chosen


def left(course: Course) -> tuple[Document, ...]:
    """The documents that are left."""
    return chosen_of(course).snapshot.documents
