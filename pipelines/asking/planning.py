"""Accounts, looks of the Sentinel, plans and trust: what is decided about questions.

What is in `always` acts, whatever is decided. Where nothing can be decided, because the account
cannot be read or the rules break, everything acts that may: an attacker who breaks the control
plane gains nothing by it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from radarstream.defenses.orchestration.protocol import Seen
from radarstream.pipelines.asking.control import ControlPlane
from radarstream.pipelines.asking.course import Course, alive
from radarstream.pipelines.asking.plans import LATER, bounded, full, plain, second_stage
from radarstream.pipelines.asking.ports import Accounts
from radarstream.pipelines.settings.serving import OrchestrationSettings
from radarstream.schemas.orchestration import Module, Plan, RiskProfile
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import Reason

STATIC: Final = "static"
FAILED: Final = "the control plane failed"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Planning:
    """Plans for questions. `allowed` are the modules that may act, `control` is None where no risk
    decides.
    """

    settings: OrchestrationSettings
    allowed: frozenset[Module]
    accounts: Accounts
    control: ControlPlane | None

    @property
    def always(self) -> frozenset[Module]:
        """What acts on every question."""
        return frozenset(self.settings.always)

    @property
    def may_act(self) -> frozenset[Module]:
        """What a plan may switch on, or has to."""
        return self.always | (self.allowed if self.settings.policy != "none" else frozenset())

    @property
    def must_act(self) -> frozenset[Module]:
        """What is known to act before a question is seen."""
        return self.may_act if self.settings.policy == "static" else self.always

    def know(self, courses: Sequence[Course]) -> None:
        """Read the accounts, and note the questions in their order."""
        for course in alive(courses):
            question = course.question
            try:
                account = self.accounts.account(question.user)
                self.accounts.note_question(question.user, question.text, question.asked_at)
                course.trust = account.trust
                if self.control is not None:
                    course.signals = self.control.of_question(
                        question.text, account.recent, question.asked_at
                    )
            except Exception as error:  # noqa: BLE001 whatever it is
                logger.warning("nothing is known of a user: %s", type(error).__name__)
                course.signals = None

    def first(self, courses: Sequence[Course]) -> None:
        """Decide what acts before the retrieval."""
        asked = alive(courses)
        profiles = self._looks(asked, [None] * len(asked))
        plans = self._plans(asked, profiles, [None] * len(asked))
        for course, profile, plan in zip(asked, profiles, plans, strict=True):
            course.before = profile
            course.plan = bounded(plan, self.may_act, self.always)

    def second(self, courses: Sequence[Course]) -> None:
        """Decide about the rest, now that documents are known."""
        if self.control is None:
            return
        asked = [course for course in alive(courses) if course.chosen is not None]
        shown = [shown_of(course) for course in asked]
        for course, signals in zip(asked, self.control.retrieval_signals(shown), strict=True):
            course.retrieval = signals
        known = [course for course in asked if course.retrieval is not None]
        looks = self._looks(known, [course.before for course in known])
        found = dict(zip(map(id, known), looks, strict=True))
        profiles = [found.get(id(course)) for course in asked]
        plans = self._plans(asked, profiles, [course.plan for course in asked])
        for course, profile, plan in zip(asked, profiles, plans, strict=True):
            course.after = profile
            plan = second_stage(plan, course.plan)
            course.plan = bounded(plan, self.may_act, self.always)

    def _looks(
        self, courses: Sequence[Course], earlier: Sequence[RiskProfile | None]
    ) -> list[RiskProfile | None]:
        """The profiles; None where nothing is known of the user, or nobody judges."""
        found: list[RiskProfile | None] = [None] * len(courses)
        known = {place: seen for place, c in enumerate(courses) if (seen := seen_of(c)) is not None}
        if self.control is not None and known:
            before = [earlier[place] for place in known]
            for place, profile in zip(
                known, self.control.look(list(known.values()), before), strict=True
            ):
                found[place] = profile
        return found

    def _plans(
        self,
        courses: Sequence[Course],
        profiles: Sequence[RiskProfile | None],
        earlier: Sequence[Plan | None],
    ) -> list[Plan]:
        """Plans by the risk where it is known, else what acts without."""
        found = [self._without_control() for _ in courses]
        if self.control is None:
            return found
        known = [
            (place, profile, seen, earlier[place])
            for place, (course, profile) in enumerate(zip(courses, profiles, strict=True))
            if profile is not None and (seen := seen_of(course)) is not None
        ]
        made = self.control.plan([(profile, seen, plan) for _, profile, seen, plan in known])
        for (place, *_), plan in zip(known, made, strict=True):
            found[place] = plan or found[place]
        return found

    def _without_control(self) -> Plan:
        """The plan that no risk decides: of the policy, or where the risk is not known."""
        if self.settings.policy == "none":
            return plain(self.settings)
        told = STATIC if self.settings.policy == "static" else FAILED
        return full(self.settings, self.allowed, told)

    def conclude(self, courses: Sequence[Course]) -> None:
        """Move the trust of users by what their questions set off.

        A question that failed earns nothing.
        """
        if self.control is None:
            return
        for course in courses:
            if course.trust is None:
                continue
            switched = frozenset(course.plan.active) - self.always
            before = self.control.delta_of(
                course.before, fired=Module.PRIVACY in switched, intervened=False
            )
            after = self.control.delta_of(
                course.after, fired=bool(switched & LATER), intervened=intervened(course)
            )
            delta = before + after if course.failure is None else min(0.0, before)
            try:
                course.trust_after = self.accounts.move_trust(
                    course.question.user, delta, course.question.asked_at
                )
            except Exception as error:  # noqa: BLE001 whatever it is
                logger.warning("a user's trust could not be moved: %s", type(error).__name__)


def seen_of(course: Course) -> Seen | None:
    """What the Sentinel is shown; None where nothing is known of the user."""
    if course.trust is None or course.signals is None:
        return None
    return Seen(course.question.text, course.trust, course.signals, course.retrieval)


def shown_of(course: Course) -> SearchSnapshot:
    """The documents that signals are taken from: as many as the answer may rest on."""
    assert course.chosen is not None
    return course.chosen.capped(course.question.wanted).snapshot


def intervened(course: Course) -> bool:
    """Whether a defence dropped a document for planted, or the audit changed the answer."""
    dropped = course.chosen is not None and any(
        reason is Reason.SUSPECT for _, reason in course.chosen.dropped
    )
    return dropped or (course.audited is not None and course.audited.action != "pass")
