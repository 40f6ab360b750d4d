"""Who decides what acts, what acts whatever is decided, and what follows for trust and privacy."""

from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.pipelines.asking.values import Origin, Reply
from radarstream.schemas.errors import BudgetSpentError, DatabaseUnavailableError, ModelOutageError
from radarstream.schemas.orchestration import (
    AttentionPlan,
    AuditPlan,
    GuardrailPlan,
    Module,
    Plan,
    PrivacyPlan,
    RiskLevel,
    TrustragPlan,
)
from tests.asking import (
    CLAIMS,
    LOW,
    NOON,
    FixedSentinel,
    FixedStrategist,
    Passing,
    Retrieving,
    answerer_with,
    control_of,
    question,
)

ALL = tuple(Module)
EVERYTHING = Plan(
    PrivacyPlan(True),
    TrustragPlan(True),
    AttentionPlan(True),
    GuardrailPlan(True),
    AuditPlan(True, "enforce"),
)
SUBSETS = st.sets(st.sampled_from(ALL)).map(tuple)
PLANS = st.builds(
    Plan,
    st.builds(PrivacyPlan, st.booleans()),
    st.builds(TrustragPlan, st.booleans()),
    st.builds(AttentionPlan, st.booleans()),
    st.builds(GuardrailPlan, st.booleans()),
    st.builds(AuditPlan, st.booleans(), st.sampled_from(["log", "enforce"])),
)


def ask(engine, *, sentinel=None, strategist=None, limit_s=30.0, orchestration=None, **changed):
    """A reply from the corpus under the adaptive policy, with everything allowed."""
    chosen: dict[str, Any] = {"policy": "adaptive", "modules": ALL, "always": ()}
    chosen |= orchestration or {}
    parts = answerer_with(engine, chosen, retrievers={Origin.CORPUS: Retrieving(CLAIMS)}, **changed)
    control = control_of(parts.pipeline.models, sentinel, strategist, limit_s)
    return replace(parts, control=control).answer(question(origin=Origin.CORPUS))


def active(reply: Reply) -> set[Module]:
    """The modules that acted, by the records of the hooks."""
    return {Module(record.module) for record in reply.orchestration.hooks if record.enabled}


@settings(max_examples=25, deadline=None)
@given(plan=PLANS, always=SUBSETS, allowed=SUBSETS)
def test_a_plan_switches_on_what_is_allowed_and_never_off_what_always_acts(
    engine, plan, always, allowed
) -> None:
    orchestration = {"always": always, "modules": allowed}
    reply = ask(engine, strategist=FixedStrategist(plan), orchestration=orchestration)
    assert set(always) <= active(reply) <= set(always) | set(allowed)
    assert set(plan.active) & set(allowed) <= active(reply)


@pytest.mark.parametrize(
    ("policy", "expected"), [("none", {Module.AUDIT}), ("static", {Module.AUDIT, Module.TRUSTRAG})]
)
def test_without_adapting_the_policy_says_what_acts(engine, policy, expected) -> None:
    chosen = {"policy": policy, "always": (Module.AUDIT,), "modules": (Module.TRUSTRAG,)}
    parts = answerer_with(engine, chosen, retrievers={Origin.CORPUS: Retrieving(CLAIMS)})
    reply = parts.answer(question(origin=Origin.CORPUS))
    assert active(reply) == expected
    assert reply.orchestration.before is reply.orchestration.after is None
    assert reply.orchestration.trust == reply.orchestration.trust_after == 0.5


def test_privacy_cannot_be_switched_on_once_documents_are_there(engine) -> None:
    strategist = FixedStrategist(late=EVERYTHING)
    assert active(ask(engine, strategist=strategist)) == set(ALL) - {Module.PRIVACY}
    assert [plan is None for plan in strategist.earlier] == [True, False]


def test_the_sentinel_looks_twice_and_sees_numbers_of_documents(engine) -> None:
    sentinel = FixedSentinel()
    reply = ask(engine, sentinel=sentinel)
    first, second = sentinel.seen
    assert first.retrieval is None
    assert second.retrieval is not None
    assert "Lima" not in repr(sentinel.seen)
    assert reply.orchestration.before == reply.orchestration.after == LOW


@pytest.mark.parametrize("broken", ["raises", "model fails"])
def test_a_sentinel_that_fails_gives_way_to_the_rules(engine, broken) -> None:
    sentinel = FixedSentinel(asks_model=True, raises=RuntimeError if broken == "raises" else None)
    chosen = {"policy": "adaptive", "always": ()}
    parts = answerer_with(engine, chosen, retrievers={Origin.CORPUS: Retrieving(CLAIMS)})
    models = parts.pipeline.models
    if broken == "model fails":
        models = replace(models, generator=Deaf())
    made = replace(parts, control=control_of(models, sentinel))
    reply = made.answer(question(origin=Origin.CORPUS))
    for profile in (reply.orchestration.before, reply.orchestration.after):
        assert profile is not None
        assert (profile.level, profile.sentinel) == (RiskLevel.ELEVATED, "fallback")
    assert reply.text == "Lima"


class Deaf:
    """A generator that never answers."""

    model_id = "deaf"

    def complete(self, prompts: object) -> None:
        raise ModelOutageError("nobody there")


def test_a_strategist_that_breaks_gives_way_to_the_rules(engine) -> None:
    reply = ask(engine, strategist=FixedStrategist(raises=ValueError))
    assert reply.orchestration.plan.reasoning == "rules"


class Hanging:
    """A generator that does not answer until it is told to."""

    model_id = "hanging"

    def __init__(self) -> None:
        self.going = Event()

    def complete(self, prompts):
        self.going.wait(30)
        raise ModelOutageError(f"{len(prompts)} prompts too late")


def test_a_model_that_hangs_is_not_waited_for(engine) -> None:
    hanging = Hanging()
    chosen = {"policy": "adaptive", "always": ()}
    parts = answerer_with(engine, chosen, retrievers={Origin.CORPUS: Retrieving(CLAIMS)})
    models = replace(parts.pipeline.models, generator=hanging)
    control = control_of(models, FixedSentinel(asks_model=True), limit_s=0.02)
    try:
        reply = replace(parts, control=control).answer(question(origin=Origin.CORPUS))
    finally:
        hanging.going.set()
    assert reply.orchestration.before is not None
    assert reply.orchestration.before.sentinel == "fallback"


@pytest.mark.parametrize("breaks", ["sentinel", "strategist", "account"])
def test_where_the_rules_break_too_everything_acts_that_may(engine, breaks) -> None:
    broken = {"raises": ValueError, "rules_raise": KeyError}
    parts: dict[str, Any] = {}
    if breaks == "sentinel":
        parts["sentinel"] = FixedSentinel(**broken)
    if breaks == "strategist":
        parts["strategist"] = FixedStrategist(**broken)
    if breaks == "account":
        parts["accounts"] = broken_accounts("account")
    allowed = (Module.PRIVACY, Module.TRUSTRAG)
    orchestration = {"always": (Module.AUDIT,), "modules": allowed}
    reply = ask(engine, orchestration=orchestration, **parts)
    assert active(reply) == {Module.PRIVACY, Module.TRUSTRAG, Module.AUDIT}
    assert reply.text == "Lima"


def broken_accounts(*methods: str) -> StoredAccounts:
    """Accounts of which some methods raise."""

    def broken(*_: object) -> Any:
        raise OSError("the disk is gone")

    return type("Broken", (StoredAccounts,), dict.fromkeys(methods, broken)).in_memory()


@pytest.mark.parametrize("method", ["note_question", "move_trust"])
def test_an_account_that_cannot_be_written_costs_no_answer(engine, method) -> None:
    assert ask(engine, accounts=broken_accounts(method)).text == "Lima"


def test_questions_are_noted_and_trust_follows_both_looks(engine) -> None:
    accounts = StoredAccounts.in_memory()
    reply = ask(engine, accounts=accounts)
    assert accounts.account("ann").recent == ((NOON, "What is the capital of Peru?"),)
    assert reply.orchestration.trust == 0.5
    assert reply.orchestration.trust_after == pytest.approx(0.54)


@pytest.mark.parametrize(
    ("plan", "auditor", "moved"),
    [
        (Plan(PrivacyPlan(True)), Passing(), -0.05 + 0.02),
        (Plan(trustrag=TrustragPlan(True)), Passing(), 0.02 - 0.05),
        (Plan(output_audit=AuditPlan(True, "enforce")), Passing("mask"), 0.02 - 0.1),
    ],
)
def test_what_a_question_sets_off_costs_trust(engine, plan, auditor, moved) -> None:
    reply = ask(engine, strategist=FixedStrategist(plan), auditors=(auditor, auditor))
    assert reply.orchestration.trust_after == pytest.approx(0.5 + moved)


def test_what_always_acts_costs_no_trust(engine) -> None:
    reply = ask(engine, orchestration={"always": (Module.TRUSTRAG, Module.PRIVACY)})
    assert reply.orchestration.trust_after == pytest.approx(0.54)


def test_a_spent_budget_refuses_the_corpus_and_nothing_else(engine) -> None:
    accounts, corpus = StoredAccounts.in_memory(), Retrieving(CLAIMS)
    chosen = {"policy": "static", "modules": (Module.PRIVACY,), "always": (), "epsilon_budget": 7.0}
    retrievers = {Origin.CORPUS: corpus, Origin.SEARCH: Retrieving(CLAIMS)}
    parts = answerer_with(engine, chosen, accounts=accounts)
    asker = replace(parts, retrievers={**parts.retrievers, **retrievers})
    ours = [question(f"{n}: what is it?", origin=Origin.CORPUS) for n in range(3)]
    first, second, refused = asker.answer_all(ours)
    assert isinstance(refused, BudgetSpentError)
    left = [reply.orchestration.epsilon_left for reply in (first, second)]  # type: ignore
    assert left == [pytest.approx(4.0), pytest.approx(1.0)]
    assert len(corpus.wanted) == 2
    own, found, other = asker.answer_all(
        [question(), question(origin=Origin.SEARCH), question(user="bob", origin=Origin.CORPUS)]
    )
    for reply in (own, found):
        assert isinstance(reply, Reply)
        assert (reply.orchestration.epsilon_spent, active(reply)) == (0.0, set())
    assert isinstance(other, Reply)
    assert accounts.spent("ann", "corpus") == pytest.approx(6.0)


def test_privacy_that_cannot_be_counted_is_no_answer(engine) -> None:
    chosen = {"policy": "static", "modules": (Module.PRIVACY,), "always": ()}
    parts = answerer_with(
        engine,
        chosen,
        accounts=broken_accounts("spend"),
        retrievers={Origin.CORPUS: Retrieving(CLAIMS)},
    )
    with pytest.raises(DatabaseUnavailableError, match="budget"):
        parts.answer(question(origin=Origin.CORPUS))


def test_more_is_looked_for_where_a_module_may_drop_some(engine) -> None:
    for modules, policy, origin, expected in (
        ((), "static", Origin.CORPUS, 4),
        ((Module.AUDIT, Module.GUARDRAIL), "static", Origin.CORPUS, 4),
        ((Module.TRUSTRAG,), "static", Origin.CORPUS, 12),
        ((Module.TRUSTRAG,), "static", Origin.SEARCH, 12),
        ((Module.TRUSTRAG,), "adaptive", Origin.CORPUS, 12),
        ((Module.TRUSTRAG,), "adaptive", Origin.SEARCH, 4),  # a search costs
    ):
        found = Retrieving([f"Page {n}: Lima is the capital." for n in range(20)])
        chosen = {"policy": policy, "modules": modules, "always": ()}
        parts = answerer_with(engine, chosen, retrievers={origin: found})
        control = control_of(parts.pipeline.models) if policy == "adaptive" else None
        reply = replace(parts, control=control).answer(question(origin=origin, wanted=4))
        assert found.wanted == [expected]
        assert len(reply.documents) == 4
