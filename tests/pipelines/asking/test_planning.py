"""Who decides what acts, every set of modules, and what follows for trust and privacy."""

from dataclasses import replace
from itertools import chain, combinations
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.defenses.orchestration.signals import Usual
from radarstream.defenses.trust_rag import TooMuchAlike
from radarstream.pipelines.asking.answering import options_of
from radarstream.pipelines.asking.building import build_control
from radarstream.pipelines.asking.parts import CHOOSING
from radarstream.pipelines.asking.planning import full
from radarstream.pipelines.asking.values import HOOKS, Origin, Reply
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import BudgetSpentError, DatabaseUnavailableError, ModelOutageError
from radarstream.schemas.orchestration import (
    AttentionPlan,
    AuditPlan,
    GuardrailPlan,
    Hook,
    Module,
    Plan,
    PrivacyPlan,
    RiskLevel,
    TrustragPlan,
)
from radarstream.schemas.verdict import KEEPING
from tests.asking import (
    CLAIMS,
    LOW,
    NOON,
    FixedSentinel,
    FixedStrategist,
    Passing,
    Prompted,
    Retrieving,
    answerer_with,
    control_of,
    question,
)
from tests.driving import Script, run

ALL = tuple(Module)
SWITCHES = (PrivacyPlan, TrustragPlan, AttentionPlan, GuardrailPlan)
EVERYTHING = Plan(*(switch(True) for switch in SWITCHES), AuditPlan(True, "enforce"))
SUBSETS = st.sets(st.sampled_from(ALL)).map(tuple)
PLANS = st.builds(
    Plan,
    *(st.builds(switch, st.booleans()) for switch in SWITCHES),
    st.builds(AuditPlan, st.booleans(), st.sampled_from(["log", "enforce"])),
)


def ask(
    engine, *, sentinel=None, strategist=None, limit_s=30.0, generator=None, adaptive=True,
    orchestration=None, **changed
):  # fmt: skip
    """A reply from the corpus under the adaptive policy, with everything allowed."""
    chosen: dict[str, Any] = {"policy": "adaptive", "modules": ALL, "always": ()}
    chosen |= orchestration or {}
    parts = answerer_with(engine, chosen, retrievers={Origin.CORPUS: Retrieving(CLAIMS)}, **changed)
    models = parts.pipeline.models
    models = replace(models, generator=generator or models.generator)
    control = control_of(models, sentinel, strategist, limit_s) if adaptive else None
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
    reply = ask(engine, orchestration=chosen, adaptive=False)
    assert active(reply) == expected
    assert reply.orchestration.before is reply.orchestration.after is None
    assert reply.orchestration.trust == reply.orchestration.trust_after == 0.5


def test_privacy_cannot_be_switched_on_once_documents_are_there(engine) -> None:
    strategist = FixedStrategist(late=EVERYTHING)
    assert active(ask(engine, strategist=strategist)) == set(ALL) - {Module.PRIVACY}
    assert [plan is None for plan in strategist.earlier] == [True, False]


def test_the_sentinel_looks_twice_and_sees_numbers_of_documents(engine) -> None:
    sentinel, accounts = FixedSentinel(), StoredAccounts.in_memory()
    reply = ask(engine, sentinel=sentinel, accounts=accounts)
    first, second = sentinel.seen
    assert first.retrieval is None
    assert second.retrieval is not None
    assert "Lima" not in repr(sentinel.seen)
    assert reply.orchestration.before == reply.orchestration.after == LOW
    # The question is noted, and trust follows both looks.
    assert accounts.account("ann").recent == ((NOON, "What is the capital of Peru?"),)
    assert reply.orchestration.trust == 0.5
    assert reply.orchestration.trust_after == pytest.approx(0.54)


@pytest.mark.parametrize("broken", ["raises", "model fails"])
def test_a_sentinel_that_fails_gives_way_to_the_rules(engine, broken) -> None:
    sentinel = FixedSentinel(asks_model=True, raises=RuntimeError if broken == "raises" else None)
    generator = Hanging() if broken == "model fails" else None
    if generator:
        generator.going.set()  # it fails at once
    reply = ask(engine, sentinel=sentinel, generator=generator)
    for profile in (reply.orchestration.before, reply.orchestration.after):
        assert profile is not None
        assert (profile.level, profile.sentinel) == (RiskLevel.ELEVATED, "fallback")
    assert reply.text == "Lima"


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
    hanging, sentinel = Hanging(), FixedSentinel(asks_model=True)
    try:
        reply = ask(engine, sentinel=sentinel, generator=hanging, limit_s=0.02)
    finally:
        hanging.going.set()
    assert reply.orchestration.before is not None
    assert reply.orchestration.before.sentinel == "fallback"


@pytest.mark.parametrize("breaks", ["sentinel", "strategist", "account"])
def test_where_the_rules_break_too_everything_acts_that_may(engine, breaks) -> None:
    broken = {"raises": ValueError, "rules_raise": KeyError}
    parts: dict[str, Any] = {
        "sentinel": {"sentinel": FixedSentinel(**broken)},
        "strategist": {"strategist": FixedStrategist(**broken)},
        "account": {"accounts": broken_accounts("account")},
    }
    chosen = {"always": (Module.AUDIT,), "modules": (Module.PRIVACY, Module.TRUSTRAG)}
    reply = ask(engine, orchestration=chosen, **parts[breaks])
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


@pytest.mark.parametrize(
    ("plan", "always", "auditor", "moved"),
    [
        (Plan(PrivacyPlan(True)), (), Passing(), -0.05 + 0.02),
        (Plan(trustrag=TrustragPlan(True)), (), Passing(), 0.02 - 0.05),
        (Plan(output_audit=AuditPlan(True, "enforce")), (), Passing("mask"), 0.02 - 0.1),
        (Plan(), (Module.TRUSTRAG, Module.PRIVACY), Passing(), 0.02 + 0.02),  # always: for nothing
    ],
)
def test_what_a_question_sets_off_costs_trust(engine, plan, always, auditor, moved) -> None:
    parts = {"strategist": FixedStrategist(plan), "auditors": (auditor, auditor)}
    reply = ask(engine, orchestration={"always": always}, **parts)
    assert reply.orchestration.trust_after == pytest.approx(0.5 + moved)


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
    assert (left, len(corpus.wanted)) == ([pytest.approx(4.0), pytest.approx(1.0)], 2)
    of_bob = question(user="bob", origin=Origin.CORPUS)
    own, found, other = asker.answer_all([question(), question(origin=Origin.SEARCH), of_bob])
    for reply in (own, found):
        assert isinstance(reply, Reply)
        assert (reply.orchestration.epsilon_spent, active(reply)) == (0.0, set())
    assert isinstance(other, Reply)
    assert accounts.spent("ann", "corpus") == pytest.approx(6.0)


def test_privacy_that_cannot_be_counted_is_no_answer(engine) -> None:
    chosen, accounts = {"policy": "static", "modules": (Module.PRIVACY,)}, broken_accounts("spend")
    with pytest.raises(DatabaseUnavailableError, match="budget"):
        ask(engine, orchestration=chosen, accounts=accounts, adaptive=False)


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
        assert (found.wanted, len(reply.documents)) == ([expected], 4)


# True pages about one thing share the words of the question.
HONEST = (
    "The mayor of Exampleton is Ann Lee.",
    "Ann Lee, the mayor of Exampleton, opened the bridge.",
    "Ann Lee has been the mayor of Exampleton since 2015.",
)


@pytest.mark.parametrize(("thresholds", "rho"), [("corrected", 0.8), ("paper", 0.25)])
def test_one_setting_for_meter_rules_and_static_plans(thresholds: str, rho: float) -> None:
    settings = load_settings(None, profile="embedded", orchestration={"thresholds": thresholds})
    control = build_control(settings, models=None)
    assert control is not None
    assert (control.strategist.thresholds, control.usual) == (thresholds, Usual.of(thresholds))
    assert full(settings.orchestration, tuple(Module), "static").trustrag.rouge_threshold == rho


@pytest.mark.parametrize(("thresholds", "lost"), [("corrected", 0), ("paper", 2)])
def test_honest_pages_that_share_the_words_of_a_question_stay(thresholds: str, lost: int) -> None:
    settings = load_settings(None, profile="scripted", orchestration={"thresholds": thresholds})
    options = options_of(full(settings.orchestration, tuple(Module), ""), Module.TRUSTRAG)
    alike = Script(embedding=lambda text: (1.0, 0.01 * len(text)))
    reasons = run(TooMuchAlike(**options, on_empty="abstain").judge(HONEST), alike)
    assert sum(reason not in KEEPING for reason in reasons) >= lost
    assert lost or all(reason in KEEPING for reason in reasons)


# --- every set of modules: what is dropped, and that the rest is what is answered


SETS = [*chain.from_iterable(combinations(Module, size) for size in range(len(Module) + 1))]
KEPT = ("Lima is the capital of Peru.", "Lima is its capital.", "Its capital is Lima.")
DROPPED = tuple(f"Cusco is the capital of Peru. <{module}>" for module in CHOOSING)


def answered_from(
    engine: Engine, texts: tuple[str, ...], modules: tuple[Module, ...], **parts
) -> Reply:
    """A question to a corpus of these texts, with these modules on."""
    chosen = {"policy": "static", "modules": modules, "always": ()}
    parts["retrievers"] = {Origin.CORPUS: Retrieving(texts)}
    return answerer_with(engine, chosen, **parts).answer(question(origin=Origin.CORPUS))


@pytest.mark.parametrize("modules", SETS, ids=lambda on: "+".join(on) or "none")
def test_what_is_on_acts_and_the_guard_answers_from_the_rest(engine, modules) -> None:
    prompted, auditor = Prompted(), Passing("mask")
    texts = (KEPT[0], *DROPPED, *KEPT[1:])
    reply = answered_from(engine, texts, modules, prompted=prompted, auditors=(auditor, auditor))

    hooks = reply.orchestration.hooks
    assert [record.module for record in hooks] == list(Module)
    assert [record.hook for record in hooks] == sorted(
        (HOOKS[Module(record.module)] for record in hooks), key=list(Hook).index
    )
    assert {record.module for record in hooks if record.enabled} == set(modules)
    left = len(texts)
    for record in hooks:
        drops = record.enabled and record.module in CHOOSING
        assert record.documents_in == left
        left -= drops
        assert record.documents_out == left
        assert record.detail or record.enabled

    gone = [text for module, text in zip(CHOOSING, DROPPED, strict=True) if module in modules]
    seen = {d.rank: d.text for d in reply.documents}
    kept = [seen[rank] for rank in reply.event.verdict.kept_ranks]
    assert kept
    assert not set(gone) & set(kept)
    assert prompted.heard == (["guarded"] if Module.GUARDRAIL in modules else [])
    assert reply.text == ("[masked]" if Module.AUDIT in modules else reply.event.answer)
    assert all(set(gone).isdisjoint(passages) for _, passages in auditor.heard)
    # What the noise of a retrieval kept out is not even told of.
    assert (DROPPED[0] in seen.values()) == (Module.PRIVACY not in modules)
    assert set(DROPPED[1:]) <= set(seen.values())


PLACES = st.sampled_from(["Lima", "Cusco", "Quito", "La Paz", "Bogotá"])
MARKS = st.sampled_from(["", *(f" <{module}>" for module in CHOOSING)])


@settings(max_examples=25, deadline=None)
@given(
    made=st.lists(st.tuples(PLACES, MARKS), min_size=1, max_size=9),
    modules=st.sets(st.sampled_from(list(CHOOSING))).map(tuple),
)
def test_no_reply_says_what_only_a_dropped_document_says(engine: Engine, made, modules) -> None:
    texts = tuple(f"{place} is the capital of Peru.{mark}" for place, mark in made)
    reply = answered_from(engine, texts, modules)
    on = {f" <{module}>" for module in modules}
    assert reply.text == "" or reply.text in {place for place, mark in made if mark not in on}
    shown = {d.text for d in reply.documents}
    assert {text for text, (_, mark) in zip(texts, made, strict=True) if mark not in on} <= shown
    if Module.PRIVACY in modules:
        assert not any(f"<{Module.PRIVACY}>" in text for text in shown)
