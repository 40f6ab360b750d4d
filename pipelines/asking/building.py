"""From settings to what answers questions."""

import logging
from dataclasses import replace
from functools import partial

from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.defenses.orchestration.audit import OutputAudit
from radarstream.defenses.orchestration.sentinel import ModelSentinel, RuleSentinel
from radarstream.defenses.orchestration.signals import Usual
from radarstream.defenses.orchestration.strategist import ModelStrategist, RuleStrategist
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.answering import options_of
from radarstream.pipelines.asking.control import ControlPlane
from radarstream.pipelines.asking.known import KnownQueries
from radarstream.pipelines.asking.parts import CHOOSING, registered
from radarstream.pipelines.asking.planning import plain
from radarstream.pipelines.asking.retrievers import WebSearch, given_documents, nearest
from radarstream.pipelines.asking.values import Origin
from radarstream.pipelines.build import (
    build_defense_pipeline,
    build_models,
    build_reranker_of,
    shared_corpus,
    shared_engine,
)
from radarstream.pipelines.settings import SentenceEmbedder, Settings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Module

logger = logging.getLogger(__name__)

CONTROL_S = 10.0  # that a Sentinel or Strategist may take; then the rules decide


def build_answerer(
    settings: Settings, accounts: StoredAccounts | None = None, *, engine: Engine | None = None
) -> Answerer:
    """Create what answers questions from the settings. Raises ConfigurationError.

    Without `accounts` they are kept in memory; `engine` is the state database, by default that of
    the settings.
    """
    engine = engine or shared_engine(settings)
    # Nobody is told an undefended answer, and it would cost a long prompt.
    defense = settings.defense.model_copy(update={"compare_with": ""})
    settings = settings.model_copy(update={"defense": defense})
    pipeline = build_defense_pipeline(settings, engine)
    usable, models = usable_modules(settings, engine, pipeline.models)
    queries = KnownQueries(engine)
    gain_per_hour = settings.orchestration.trust_gain_per_hour
    return Answerer(
        settings=settings,
        pipeline=replace(pipeline, models=models),
        queries=queries,
        accounts=accounts or StoredAccounts.in_memory(gain_per_hour),
        retrievers={
            Origin.DOCUMENTS: given_documents,
            Origin.CORPUS: partial(
                nearest, shared_corpus(settings), models.embedder, settings.reading.further_searches
            ),
            Origin.SEARCH: WebSearch(settings, queries).retrieve,
        },
        usable=usable,
        control=build_control(settings, models),
        auditors=(OutputAudit(on_verbatim="regenerate"), OutputAudit()),
    )


def build_control(settings: Settings, models: Models) -> ControlPlane | None:
    """Create who judges the risk of questions and plans by it; None where no risk decides."""
    chosen = settings.orchestration
    if chosen.policy != "adaptive":
        return None
    rules = RuleStrategist(chosen.threshold, chosen.thresholds)
    # What is usual was measured with the default embedder; of another nothing is known.
    known = settings.embedder == SentenceEmbedder()
    return ControlPlane(
        sentinel=ModelSentinel() if chosen.sentinel == "language_model" else RuleSentinel(),
        strategist=ModelStrategist(rules) if chosen.strategist == "language_model" else rules,
        models=models,
        usual=Usual.of(chosen.thresholds) if known else None,
        limit_s=CONTROL_S,
    )


def usable_modules(
    settings: Settings, engine: Engine, models: Models
) -> tuple[frozenset[Module], Models]:
    """The modules that the models allow, and the models with what these ask. One that cannot act is
    left out with a warning. Raises ConfigurationError if it always acts.
    """
    chosen = settings.orchestration
    usable, needs = set(Module) - set(CHOOSING), frozenset[str]()
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
