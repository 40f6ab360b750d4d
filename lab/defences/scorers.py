"""Relation scorers by the name a contender gives them (RADAR, Table 5)."""

from sqlalchemy import Engine

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.pipelines import settings as s
from radarstream.pipelines.build import build_relations
from radarstream.pipelines.signals.ports import Models, RelationScorer
from radarstream.schemas.errors import ConfigurationError

KINDS = ("answer_agreement", "language_model", "scripted", "cross_encoder:NAME")


def scorer_settings(name: str) -> s.RelationSettings:
    """Settings of a scorer by name. Raises ConfigurationError for another name."""
    kind, _, model = name.partition(":")
    if kind == "answer_agreement" and not model:
        return s.AnswerAgreement()
    if kind == "language_model" and not model:
        return s.LanguageModel()
    if kind == "scripted" and not model:
        return s.ScriptedRelations()
    if kind == "cross_encoder" and model:
        return s.CrossEncoder(model=model)
    raise ConfigurationError(f"no relation scorer {name!r}; there are {', '.join(KINDS)}")


def build_scorer(name: str, settings: s.Settings, engine: Engine, models: Models) -> RelationScorer:
    """The scorer behind the response cache."""
    cache = ResponseCache(engine, max_entries=settings.cache.max_entries)
    return build_relations(scorer_settings(name), lambda: models.generator, cache)
