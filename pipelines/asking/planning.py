"""Accounts, looks of the Sentinel, plans and trust. Modules in `always` act in any case; where
nothing can be decided, because an account cannot be read or the rules break, everything acts that
may.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from radarstream.defenses.orchestration.sentinel import delta_of
from radarstream.defenses.orchestration.signals import Seen, question_signals
from radarstream.defenses.orchestration.strategist import RHO
from radarstream.pipelines.asking.known import KnownQuery, query_of
from radarstream.pipelines.asking.parts import Parts
from radarstream.pipelines.asking.values import (
    Found,
    Origin,
    Planned,
    Recognised,
    Replied,
    UserQuestion,
)
from radarstream.pipelines.settings.root import OrchestrationSettings
from radarstream.schemas.errors import InputError, RadarstreamError, ReasonClass
from radarstream.schemas.orchestration import Module, Plan, RiskProfile, TrustragPlan
from radarstream.schemas.snapshot import Query
from radarstream.schemas.verdict import Reason

LATER: Final = frozenset(Module) - {Module.PRIVACY}  # what acts after the retrieval
STATIC: Final = "static"
FAILED: Final = "the control plane failed"

logger = logging.getLogger(__name__)


def checked(question: UserQuestion) -> tuple[UserQuestion, Query]:
    """A question with its query. Raises InputError for one that cannot be asked."""
    query = query_of(question.text)
    if question.wanted < 1:
        raise InputError(ReasonClass.OUT_OF_RANGE, "a question wants one document or more")
    if question.documents and question.origin is not Origin.DOCUMENTS:
        why = f"documents are given, but those of the {question.origin} are wanted"
        raise InputError(ReasonClass.UNKNOWN_FIELD, why)
    return question, query


def worded(question: UserQuestion) -> UserQuestion:
    """The same question, or claim. Raises InputError for one that cannot be asked."""
    query_of(question.text, "claim" if question.is_claim else "question")
    return question


def recognised(parts: Parts, asked: Sequence[tuple[UserQuestion, Query]]) -> list[Recognised]:
    """Find the questions that are watched, and read the accounts of their users."""
    found = parts.queries.find([query for _, query in asked])
    return [_known(parts, question, one) for (question, _), one in zip(asked, found, strict=True)]


def _known(parts: Parts, question: UserQuestion, known: KnownQuery) -> Recognised:
    """Read the account, and note the question in it."""
    user, text, at = question.user, question.text, question.asked_at
    if question.withstand is not None:
        known = replace(known, query=replace(known.query, withstand=question.withstand))
    try:
        account = parts.accounts.account(user)
        parts.accounts.note_question(user, text, at)
        seen = Seen(text, account.trust, question_signals(text, account.recent, at))
    except Exception as error:  # noqa: BLE001 whatever it is
        logger.warning("nothing is known of a user: %s", type(error).__name__)
        return Recognised(question, known, None, None)
    return Recognised(question, known, account.trust, None if parts.control is None else seen)


def first_plans(parts: Parts, asked: Sequence[Recognised]) -> list[Planned]:
    """Decide what acts before the retrieval."""
    decided = _decide(parts, [one.seen for one in asked], [(None, None)] * len(asked))
    return [
        Planned(one, risk, bounded(plan, parts.may_act, parts.always))
        for one, (risk, plan) in zip(asked, decided, strict=True)
    ]


def second_plans(parts: Parts, found: Sequence[Found]) -> Sequence[Found]:
    """Decide about the rest, now that documents are known; privacy stays as it was decided."""
    if parts.control is None:
        return found
    signals = parts.control.retrieval_signals([one.best.snapshot for one in found])
    seen = [
        None if one.seen is None or found_of is None else replace(one.seen, retrieval=found_of)
        for one, found_of in zip(found, signals, strict=True)
    ]
    decided = _decide(parts, seen, [(one.risk, one.plan) for one in found])
    return [
        replace(
            one,
            seen=now or one.seen,
            risk=risk,
            plan=bounded(
                replace(plan, differential_privacy=one.plan.differential_privacy),
                parts.may_act,
                parts.always,
            ),
        )
        for one, now, (risk, plan) in zip(found, seen, decided, strict=True)
    ]


def _decide(
    parts: Parts,
    seen: Sequence[Seen | None],
    earlier: Sequence[tuple[RiskProfile | None, Plan | None]],
) -> list[tuple[RiskProfile | None, Plan]]:
    """A profile, if anybody judges, and its plan; without a risk that of the policy,
    or everything.
    """
    chosen, control = parts.settings.orchestration, parts.control
    without = plain(chosen)
    if chosen.policy != "none":
        why = STATIC if chosen.policy == "static" else FAILED
        without = full(chosen, parts.allowed, why)
    decided: list[tuple[RiskProfile | None, Plan]] = [(None, without)] * len(seen)
    known = {place: one for place, one in enumerate(seen) if one is not None}
    if control is None or not known:
        return decided
    looks = control.look(list(known.values()), [earlier[place][0] for place in known])
    risks = {n: risk for n, risk in zip(known, looks, strict=True) if risk is not None}
    plans = control.plan([(risk, known[n], earlier[n][1]) for n, risk in risks.items()])
    for (place, risk), plan in zip(risks.items(), plans, strict=True):
        decided[place] = risk, plan or without
    return decided


def trust_after(parts: Parts, planned: Planned, answered: Replied | RadarstreamError) -> float:
    """Move the trust of a user by what the question set off; one that failed earns nothing."""
    question, trust = planned.asked.question, planned.asked.trust
    if parts.control is None or trust is None:
        return trust or 0.0
    fired = Module.PRIVACY in set(planned.plan.active) - parts.always
    delta = delta_of(planned.risk, fired=fired, intervened=False)
    if isinstance(answered, Replied):
        found = answered.draft.found
        later = LATER & set(found.plan.active) - parts.always
        delta += delta_of(found.risk, fired=bool(later), intervened=intervened(answered))
    else:
        delta = min(0.0, delta)
    try:
        return parts.accounts.move_trust(question.user, delta, question.asked_at)
    except Exception as error:  # noqa: BLE001 whatever it is
        logger.warning("a user's trust could not be moved: %s", type(error).__name__)
        return trust


def intervened(answered: Replied) -> bool:
    """Whether a defence dropped a document for planted, or the audit changed the answer."""
    dropped = any(reason is Reason.SUSPECT for _, reason in answered.draft.found.observed.left_out)
    return dropped or answered.audited.action != "pass"


def bounded(plan: Plan, allowed: Collection[Module], always: Collection[Module]) -> Plan:
    """The plan with `always` on and what is in neither of the two off. The audit writes down what
    it finds when off, and enforces when on.
    """
    changed = {}
    for module in Module:
        part = getattr(plan, module.value)
        if module in always:
            part = replace(part, enabled=True)
        elif module not in allowed:
            part = replace(part, enabled=False)
        changed[module.value] = part
    audit = changed[Module.AUDIT.value]
    if Module.AUDIT in always:
        audit = replace(audit, mode="enforce")
    elif Module.AUDIT not in allowed:
        audit = replace(audit, enabled=True, mode="log")
    return replace(plan, **(changed | {Module.AUDIT.value: audit}))


def plain(settings: OrchestrationSettings) -> Plan:
    """A plan that switches nothing on, with the thresholds of the settings."""
    return Plan(trustrag=TrustragPlan(rouge_threshold=RHO[settings.thresholds]))


def full(settings: OrchestrationSettings, modules: Collection[Module], reasoning: str) -> Plan:
    """A plan that switches on all these modules."""
    return replace(bounded(plain(settings), (), modules), reasoning=reasoning)
