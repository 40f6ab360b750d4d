"""Relation scorers by the name a contender gives them, for comparing them (RADAR, Table 5)."""

from sqlalchemy import Engine

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.pipelines import settings as s
from radarstream.pipelines.build import build_relations
from radarstream.pipelines.evaluation.defences.perturbation import Perturbation
from radarstream.pipelines.signals.ports import Embedder, RelationScorer
from radarstream.schemas.errors import ConfigurationError

NOISE = "noise="
KINDS = ("answer_agreement", "scripted", "cross_encoder:NAME", "noise=RATE")


def scorer_settings(name: str) -> s.RelationSettings | None:
    """Settings of a scorer by name; None for a perturbation of the run's own.

    Raises ConfigurationError for another name.
    """
    kind, _, model = name.partition(":")
    if kind == "answer_agreement" and not model:
        return s.AnswerAgreement()
    if kind == "scripted" and not model:
        return s.ScriptedRelations()
    if kind == "cross_encoder" and model:
        return s.CrossEncoder(model=model)
    if name.startswith(NOISE):
        return None
    raise ConfigurationError(f"no relation scorer {name!r}; there are {', '.join(KINDS)}")


def build_scorer(
    name: str, settings: s.Settings, engine: Engine, embedder: Embedder
) -> RelationScorer | None:
    """The scorer behind the response cache; None for the run's own or a perturbation of it."""
    section = scorer_settings(name) if name else None
    if section is None:
        return None
    cache = ResponseCache(engine, max_entries=settings.cache.max_entries)
    return Cached(build_relations(section, embedder), cache)


def perturbation_of(name: str, seed: int) -> Perturbation | None:
    """The perturbation that a name such as `noise=0.3` stands for; None for any other.

    Raises ConfigurationError when the rate is not in [0, 1].
    """
    if not name.startswith(NOISE):
        return None
    try:
        rate = float(name.removeprefix(NOISE))
    except ValueError:
        rate = -1.0
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"{name!r} is not a rate from 0 to 1")
    return Perturbation(rate, seed)
