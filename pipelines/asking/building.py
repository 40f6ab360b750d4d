"""From settings to what answers questions."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Engine

from radarstream.defenses.orchestration.audit import OutputAudit
from radarstream.defenses.orchestration.registry import build_sentinel
from radarstream.defenses.orchestration.signals import Usual, question_signals, retrieval_signals
from radarstream.defenses.orchestration.strategist import ModelStrategist, RuleStrategist
from radarstream.defenses.orchestration.trust import delta_of
from radarstream.defenses.protocol import Signal
from radarstream.pipelines.asking.answering import Answering, Auditor
from radarstream.pipelines.asking.asker import Asker
from radarstream.pipelines.asking.control import ControlPlane
from radarstream.pipelines.asking.finding import Finding, Methods, registered
from radarstream.pipelines.asking.guards import Guards, Prompted, with_sentences
from radarstream.pipelines.asking.hooks import CHOOSING, options_of
from radarstream.pipelines.asking.known import KnownQueries
from radarstream.pipelines.asking.memory import MemoryAccounts
from radarstream.pipelines.asking.planning import Planning
from radarstream.pipelines.asking.plans import plain
from radarstream.pipelines.asking.ports import Accounts, Retriever
from radarstream.pipelines.asking.retrievers import CorpusRetriever, GivenDocuments, WebSearch
from radarstream.pipelines.asking.seeds import drawn, from_question
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.build import (
    build_guard,
    build_models,
    build_reranker_of,
    shared_corpus,
    shared_engine,
)
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import SentenceEmbedder, Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Module

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """What an asker is made of.

    `usable` are the modules that may act here, `control` is None where no risk decides. Of the
    auditors the first may want another answer, which the last judges for good.
    """

    settings: Settings
    engine: Engine
    guard: Guard[Any]
    queries: KnownQueries
    accounts: Accounts
    retrievers: Mapping[Origin, Retriever]
    usable: frozenset[Module]
    control: ControlPlane | None
    auditors: tuple[Auditor, Auditor]
    prompted: Prompted = with_sentences
    seed: Callable[[UserQuestion], int] = drawn
    methods: Methods = registered

    def assembled(self) -> Asker:
        """Put the parts together."""
        chosen = self.settings.orchestration
        allowed = frozenset(chosen.modules) & self.usable
        planning = Planning(chosen, allowed, self.accounts, self.control)
        finding = Finding(
            settings=self.settings,
            engine=self.engine,
            retrievers=self.retrievers,
            accounts=self.accounts,
            models=self.guard.models,
            costs=self.guard.meter,
            may_act=planning.may_act,
            must_act=planning.must_act,
            seed=self.seed,
            methods=self.methods,
        )
        guards = Guards(self.settings, self.guard, self.prompted)
        return Asker(self.queries, planning, finding, Answering(guards, *self.auditors))


def build_asker(
    settings: Settings,
    accounts: Accounts | None = None,
    *,
    engine: Engine | None = None,
    repeatable: bool = False,
) -> Asker:
    """Create what answers questions: the guard of the settings, its defences, where documents are.

    Without `accounts` they are kept in memory. `engine` is the state database, by default that of
    the settings. `repeatable` draws the noise of a retrieval from the question, as studies
    need it; it is of no use against an attacker. Raises ConfigurationError.
    """
    return build_parts(settings, accounts, engine=engine, repeatable=repeatable).assembled()


def build_parts(
    settings: Settings,
    accounts: Accounts | None = None,
    *,
    engine: Engine | None = None,
    repeatable: bool = False,
) -> Parts:
    """Create the parts of an asker, as `build_asker`."""
    engine = engine or shared_engine(settings)
    # Nobody is told an undefended answer, and it would cost a long prompt.
    defense = settings.defense.model_copy(update={"compare_with": ""})
    settings = settings.model_copy(update={"defense": defense})
    guard = build_guard(settings, engine)
    usable, models = usable_modules(settings, engine, guard.models)
    queries = KnownQueries(engine)
    return Parts(
        settings=settings,
        engine=engine,
        guard=replace(guard, models=models),
        queries=queries,
        accounts=accounts or MemoryAccounts(settings.orchestration.trust_gain_per_hour),
        retrievers={
            Origin.DOCUMENTS: GivenDocuments(),
            Origin.CORPUS: CorpusRetriever(shared_corpus(settings), models.embedder),
            Origin.SEARCH: WebSearch(settings, queries),
        },
        usable=usable,
        control=build_control(settings, models),
        auditors=(OutputAudit(on_verbatim="regenerate"), OutputAudit()),
        seed=from_question if repeatable else drawn,
    )


def build_control(settings: Settings, models: Models) -> ControlPlane | None:
    """Create who judges the risk of questions and plans by it; None where no risk decides."""
    chosen = settings.orchestration
    if chosen.policy != "adaptive":
        return None
    rules = RuleStrategist(chosen.threshold, chosen.thresholds)
    by_model = chosen.strategist == "language_model"
    # What is usual was measured with the default embedder; of another nothing is known.
    known = settings.embedder == SentenceEmbedder()
    usual = Usual.of(chosen.thresholds) if known else None
    return ControlPlane(
        sentinel=build_sentinel(chosen.sentinel),
        strategist=ModelStrategist(rules) if by_model else rules,
        models=models,
        of_question=question_signals,
        of_retrieval=partial(retrieval_signals, usual=usual),
        delta_of=delta_of,
        limit_s=chosen.control_s,
    )


def usable_modules(
    settings: Settings, engine: Engine, models: Models
) -> tuple[frozenset[Module], Models]:
    """The modules of the settings that the models allow, and the models with what they ask.

    A module that may act but cannot is left out, with a warning. Raises ConfigurationError for one
    that always acts.
    """
    chosen = settings.orchestration
    usable, needs = set(Module) - set(CHOOSING), frozenset[Signal]()
    reranker = build_reranker_of(settings)
    if reranker is not None:
        needs |= reranker.needs
    for module in CHOOSING:
        if module not in (*chosen.modules, *chosen.always):
            continue
        try:
            method = registered(module, options_of(plain(chosen), module))
            with_needs = build_models(settings, engine, needs | method.needs)
            check_needs(method, with_needs)
        except ConfigurationError as error:
            if module in chosen.always:
                raise
            logger.warning("the module %s cannot act: %s", module, error)
            continue
        usable.add(module)
        if method.needs - needs:
            needs, models = needs | method.needs, with_needs
    return frozenset(usable), models
