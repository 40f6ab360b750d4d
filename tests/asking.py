"""Parts of an asker for tests: a control plane, modules and auditors that do what they are told."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
from sqlalchemy import Engine

from radarstream.defenses.orchestration.protocol import Seen
from radarstream.defenses.protocol import Complete, Signal
from radarstream.defenses.responses import Asking, ask
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.defenses.retrieval.protocol import Reordering, RetrievalDefense
from radarstream.pipelines.asking.building import Parts, build_parts
from radarstream.pipelines.asking.control import ControlPlane
from radarstream.pipelines.asking.guards import Prompting
from radarstream.pipelines.asking.memory import MemoryAccounts
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.orchestration import (
    Audited,
    Module,
    Plan,
    QuestionSignals,
    RetrievalSignals,
    RiskLevel,
    RiskProfile,
)
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import Document

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CAPITAL = "What is the capital of Peru?"
CLAIMS = (
    "Lima is the capital of Peru.",
    "Lima is its capital.",
    "Cusco is the capital of Peru.",
)
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

    def retrieve(self, _: UserQuestion, wanted: int) -> tuple[Document, ...]:
        self.wanted.append(wanted)
        return tuple(Document(n, text) for n, text in enumerate(self.texts[:wanted], start=1))


@dataclass
class FixedSentinel:
    """Says what it is told to, by itself or, with `asks`, from a model; notes what it has seen."""

    profile: RiskProfile = LOW
    asks: bool = False
    seen: list[Seen] = field(default_factory=list)
    raises: type[Exception] | None = None
    rules_raise: type[Exception] | None = None

    def look(self, seen: Seen, earlier: RiskProfile | None = None) -> Asking[RiskProfile]:
        del earlier
        self.seen.append(seen)
        if self.raises is not None:
            raise self.raises("the sentinel broke")
        if self.asks:
            yield from ask(Complete(Task.ANSWER, seen.question, ("Lima is it.",), final=False))
        return self.profile

    def without_model(self, seen: Seen, earlier: RiskProfile | None = None) -> RiskProfile:
        del seen, earlier
        if self.rules_raise is not None:
            raise self.rules_raise("the rules broke")
        return replace(self.profile, level=RiskLevel.ELEVATED)


@dataclass
class FixedStrategist:
    """Plans what it is told to, in both stages."""

    made: Any = Plan()
    raises: type[Exception] | None = None
    rules_raise: type[Exception] | None = None
    earlier: list[Plan | None] = field(default_factory=list)

    def plan(
        self, profile: RiskProfile, seen: Seen, earlier: Plan | None = None
    ) -> Generator[Any, Any, Plan]:
        del profile, seen
        yield from ()
        self.earlier.append(earlier)
        if self.raises is not None:
            raise self.raises("the strategist broke")
        made: Plan = self.made
        return made

    def without_model(self, profile: RiskProfile, seen: Seen, earlier: Plan | None = None) -> Plan:
        del profile, seen, earlier
        if self.rules_raise is not None:
            raise self.rules_raise("the rules broke")
        return Plan(reasoning="rules")


def fixed_signals(*_: object) -> QuestionSignals:
    return QuestionSignals(complexity=0.1)


def spread(embeddings: np.ndarray, similarities: Sequence[float], texts: Sequence[str]) -> Any:
    assert len(embeddings) == len(similarities) == len(texts)
    assert list(similarities) == sorted(similarities, reverse=True)
    return RetrievalSignals(dispersion=0.25)


def deltas(profile: RiskProfile | None, *, fired: bool, intervened: bool) -> float:
    """-.1 where a defence intervened, -.05 where one fired, else what the Sentinel says."""
    if intervened or fired:
        return -0.1 if intervened else -0.05
    return 0.02 if profile is None else profile.delta


def control_of(
    models: Models, sentinel: Any = None, strategist: Any = None, limit_s: float = 30.0
) -> ControlPlane:
    """A control plane with fixed parts."""
    return ControlPlane(
        sentinel=sentinel or FixedSentinel(),
        strategist=strategist or FixedStrategist(),
        models=models,
        of_question=fixed_signals,
        of_retrieval=spread,
        delta_of=deltas,
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


def parts_with(engine: Engine, orchestration: Mapping[str, Any], **changed: Any) -> Parts:
    """Parts on scripted models, every module a fake, without a control plane. The settings may be
    those that only studies have.
    """
    given: dict[str, Any] = {
        "usable": EVERY,
        "methods": droppers,
        "prompted": Prompted(),
        "auditors": (Passing(), Passing()),
        "accounts": MemoryAccounts(),
    }
    made = build_parts(settings_with(policy="none", modules=(), always=()), engine=engine)
    section = settings_with().orchestration.model_copy(update=dict(orchestration))
    settings = made.settings.model_copy(update={"orchestration": section})
    return replace(made, settings=settings, **(given | changed))
