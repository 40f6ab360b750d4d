"""Parts of an answerer for tests: control plane, modules, auditors that do what they are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.defenses.orchestration.signals import Seen
from radarstream.defenses.protocol import Complete, Reordering, RetrievalDefense, Signal
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.building import build_answerer
from radarstream.pipelines.asking.control import ControlPlane
from radarstream.pipelines.asking.parts import Prompting
from radarstream.pipelines.asking.retrievers import found_for
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.searching import Finding
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.orchestration import Audited, Module, Plan, RiskLevel, RiskProfile
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import Document

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CAPITAL = "What is the capital of Peru?"
CLAIMS = ("Lima is the capital of Peru.", "Lima is its capital.", "Cusco is the capital of Peru.")
OFF: Mapping[str, Any] = {"policy": "none", "always": ()}
EVERY = frozenset(Module)
LOW = RiskProfile(RiskLevel.LOW, delta=0.02)


def question(text: str = CAPITAL, claims: Sequence[str] = CLAIMS, **given: Any) -> UserQuestion:
    """A question of ann's with documents of her own."""
    documents = tuple(Document(rank, claim) for rank, claim in enumerate(claims, start=1))
    chosen = {"user": "ann", "asked_at": NOON, "origin": Origin.DOCUMENTS, "wanted": 10}
    if given.get("origin", Origin.DOCUMENTS) is Origin.DOCUMENTS:
        chosen["documents"] = documents
    return UserQuestion(text, **(chosen | given))


def settings_with(**orchestration: Any) -> Settings:
    """Settings of scripted models."""
    return load_settings(profile="scripted", orchestration=orchestration)


@dataclass(frozen=True)
class Dropper:
    """Suspects documents that say its word."""

    word: str
    needs: ClassVar[frozenset[Signal]] = frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        pool = checked_pool(pool)
        yield from ()
        suspects = frozenset(n for n, d in enumerate(pool.documents) if self.word in d.text)
        return reranked("dropper", pool, range(len(pool.documents)), suspects=suspects)


def droppers(module: Module, options: Mapping[str, Any]) -> RetrievalDefense:
    """Every module that chooses drops what says its name."""
    assert ("seed" in options) == (module is Module.PRIVACY)
    return Dropper(f"<{module}>")


@dataclass
class Retrieving:
    """Finds these texts, and notes how many were wanted."""

    texts: Sequence[str]
    wanted: list[int] = field(default_factory=list)

    def __call__(self, asked: UserQuestion, wanted: int) -> Finding:
        self.wanted.append(wanted)
        yield found_for(asked, [Document(1, text) for text in self.texts[:wanted]])


@dataclass
class FixedSentinel:
    """Says what it is told to, by itself or, with `asks_model`, from a model; notes what it has
    seen. It raises with a reply, and with `rules_raise` without one.
    """

    made: RiskProfile = LOW
    asks_model: bool = False
    seen: list[Seen] = field(default_factory=list)
    raises: type[Exception] | None = None
    rules_raise: type[Exception] | None = None

    def asks(self, seen: Seen, earlier: RiskProfile | None) -> Complete | None:
        del earlier
        self.seen.append(seen)
        asked = Complete(Task.ANSWER_FROM_DOCUMENTS, seen.question, ("Lima is it.",), final=False)
        return asked if self.asks_model else None

    def profile(
        self, seen: Seen, earlier: RiskProfile | None, reply: str | None = None
    ) -> RiskProfile:
        del seen, earlier
        error = self.rules_raise if reply is None else self.raises
        if error is not None:
            raise error("the sentinel broke")
        if reply is None and self.asks_model:
            return replace(self.made, level=RiskLevel.ELEVATED, sentinel="fallback")
        return self.made


@dataclass
class FixedStrategist:
    """Plans what it is told to, in both stages; `late` in the second alone."""

    made: Plan = Plan()
    late: Plan | None = None
    raises: type[Exception] | None = None
    rules_raise: type[Exception] | None = None
    earlier: list[Plan | None] = field(default_factory=list)

    def asks(self, profile: RiskProfile, seen: Seen, earlier: Plan | None) -> Complete | None:
        del profile, earlier
        asked = Complete(Task.ANSWER_FROM_DOCUMENTS, seen.question, ("Lima is it.",), final=False)
        return asked if self.raises else None

    def plan(
        self, profile: RiskProfile, seen: Seen, earlier: Plan | None, reply: str | None = None
    ) -> Plan:
        del profile, seen
        error = self.rules_raise if reply is None else self.raises
        if error is not None:
            raise error("the strategist broke")
        self.earlier.append(earlier)
        if self.raises:
            return Plan(reasoning="rules")
        return self.late if self.late is not None and earlier is not None else self.made


def control_of(
    models: Models, sentinel: Any = None, strategist: Any = None, limit_s: float = 30.0
) -> ControlPlane:
    """A control plane with fixed parts."""
    return ControlPlane(
        sentinel=sentinel or FixedSentinel(),
        strategist=strategist or FixedStrategist(),
        models=models,
        usual=None,
        limit_s=limit_s,
    )


@dataclass
class Passing:
    """Lets answers pass, or masks, or wants another one."""

    action: Any = "pass"
    heard: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def audit(
        self, answer: str, passages: Sequence[str], question: str = "", *, abstained: bool = False
    ) -> Audited:
        del question, abstained
        self.heard.append((answer, tuple(passages)))
        return Audited(self.action, answer if self.action == "pass" else "[masked]")


@dataclass
class Prompted:
    """Notes with which prompts models are asked."""

    heard: list[Prompting] = field(default_factory=list)

    def __call__(self, models: Models, prompting: Prompting) -> Models:
        self.heard.append(prompting)
        return models


def answerer_with(engine: Engine, orchestration: Mapping[str, Any], **changed: Any) -> Answerer:
    """An answerer on scripted models, every module a fake, without a control plane.

    The settings may be those that only studies have.
    """
    given: dict[str, Any] = {
        "usable": EVERY,
        "methods": droppers,
        "prompted": Prompted(),
        "auditors": (Passing(), Passing()),
        "accounts": StoredAccounts.in_memory(),
    }
    made = build_answerer(settings_with(policy="none", modules=(), always=()), engine=engine)
    section = settings_with().orchestration.model_copy(update=dict(orchestration))
    settings = made.settings.model_copy(update={"orchestration": section})
    return replace(made, settings=settings, **(given | changed))
