"""Relation scorers by the name a contender gives them (RADAR, Table 5), and wrong relations on
purpose: what becomes of a defence whose NLI model errs (Table 6).

With probability `rate`, consistency and conflict of a pair are replaced by independent draws from
U(0, 1). The draw is the same in both directions, so that symmetrising leaves it uniform, and
nested: what is replaced at a low rate is replaced by the same values at a higher one.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from sqlalchemy import Engine

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.connectors.models.wrapping import Call, Wrapped
from radarstream.pipelines import settings as s
from radarstream.pipelines.build import build_relations
from radarstream.pipelines.signals.ports import Models, RelationScorer
from radarstream.pipelines.signals.responses import all_answered
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import Evidence, FloatArray, Relations

NOISE = "noise="
KINDS = ("answer_agreement", "language_model", "scripted", "cross_encoder:NAME", "noise=RATE")


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Replaces a share `rate` in [0, 1] of all pairs, decided by `seed` and the pair."""

    rate: float
    seed: int

    def perturbed(self, evidence: Evidence) -> Evidence:
        """Evidence with some relations replaced, each pair of documents decided by itself."""
        if evidence.relations is None:
            return evidence
        entailment = evidence.relations.entailment.copy()
        contradiction = evidence.relations.contradiction.copy()
        ranks = [evidence.documents[i].rank for i in evidence.informative]
        snapshot = f"{evidence.query.id}@{evidence.observed_at.isoformat()}"
        for i, first in enumerate(ranks):
            for j in range(i + 1, len(ranks)):
                drawn = self.draw(snapshot, str(first), str(ranks[j]))
                if drawn is not None:
                    entailment[i, j] = entailment[j, i] = drawn[0]
                    contradiction[i, j] = contradiction[j, i] = drawn[1]
        return replace(evidence, relations=Relations(entailment, contradiction))

    def draw(self, *key: str) -> tuple[float, float] | None:
        """What consistency and conflict of a pair become; None where they stay."""
        decision, consistency, conflict = drawn(self.seed, *key).random(3)
        return (float(consistency), float(conflict)) if decision < self.rate else None


def drawn(seed: int, *key: str) -> np.random.Generator:
    """Random numbers that a seed and some texts decide."""
    text = "\x00".join((str(seed), *key)).encode("utf-8", "surrogatepass")
    source = int.from_bytes(blake2b(text, digest_size=16).digest(), "little")
    return np.random.default_rng(source)


def perturbed_relations(scorer: RelationScorer, perturbation: Perturbation) -> RelationScorer:
    """A relation scorer some of whose rows are replaced, for what a defence asks by itself.

    A replaced row need not sum to 1, its two draws are independent. The model id names the rate
    and the seed.
    """

    def perturb(call: Call) -> FloatArray:
        rows = np.array(all_answered(list(call.ask())), dtype=np.float64)
        for row, pair in zip(rows, call.requests, strict=True):
            first, second = sorted((pair.premise, pair.hypothesis))
            drawn = perturbation.draw(pair.question, first, second)
            if drawn is not None:
                consistency, conflict = drawn
                row[:] = consistency, max(0.0, 1.0 - consistency - conflict), conflict
        return rows

    noise = f"+noise={perturbation.rate}/{perturbation.seed}"
    return Wrapped(scorer, perturb, model_id=scorer.model_id + noise)


def scorer_settings(name: str) -> s.RelationSettings | None:
    """Settings of a scorer by name; None for a perturbation of the run's own.

    Raises ConfigurationError for another name.
    """
    kind, _, model = name.partition(":")
    if kind == "answer_agreement" and not model:
        return s.AnswerAgreement()
    if kind == "language_model" and not model:
        return s.LanguageModel()
    if kind == "scripted" and not model:
        return s.ScriptedRelations()
    if kind == "cross_encoder" and model:
        return s.CrossEncoder(model=model)
    if name.startswith(NOISE):
        return None
    raise ConfigurationError(f"no relation scorer {name!r}; there are {', '.join(KINDS)}")


def build_scorer(
    name: str, settings: s.Settings, engine: Engine, models: Models
) -> RelationScorer | None:
    """The scorer behind the response cache; None for the run's own or a perturbation of it."""
    section = scorer_settings(name) if name else None
    if section is None:
        return None
    cache = ResponseCache(engine, max_entries=settings.cache.max_entries)
    return build_relations(section, lambda: models.generator, cache)


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
