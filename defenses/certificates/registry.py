"""What certifies the answers of each defence, by its name."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from radarstream.defenses.certificates.cut import certify_radar
from radarstream.defenses.certificates.independent_sets import certify_independent_set
from radarstream.defenses.certificates.keywords import certify_keywords
from radarstream.defenses.certificates.parts import unproved
from radarstream.defenses.certificates.silence import silence_bounds
from radarstream.defenses.certificates.votes import certify_majority
from radarstream.defenses.certificates.voting_cut import certify_radar_plus
from radarstream.schemas.certificate import Certificate
from radarstream.schemas.events import AnswerEvent

Certifier = Callable[[Any, AnswerEvent], Certificate]

ALL_AT_ONCE = "one document among those that a model reads at once may decide"


def without_proof(reason: str) -> Certifier:
    """A certifier that always gives the same reason."""
    return partial(_without_proof, reason)


def _without_proof(reason: str, defense: Any, event: AnswerEvent) -> Certificate:  # noqa: ARG001
    return unproved(defense, reason)


CERTIFIERS: dict[str, Certifier] = {
    "astute_rag": without_proof(ALL_AT_ONCE),
    "instruct_rag": without_proof(ALL_AT_ONCE),
    "majority": certify_majority,
    "radar": certify_radar,
    "radar_plus": certify_radar_plus,
    "reliability_rag": certify_independent_set,
    "robust_rag": certify_keywords,
    "robust_rag_decoding": without_proof("the event does not tell the probabilities of tokens"),
    "trust_rag": without_proof("one document may move the clusters"),
    "vanilla": without_proof(ALL_AT_ONCE),
    "vanilla_claims": without_proof(ALL_AT_ONCE),
}


def certified(name: str, defense: Any, event: AnswerEvent, min_support: int = 0) -> Certificate:
    """What it takes to change an answer of the defence of this name, from its event alone.

    `min_support` is how many independent sites had to say the answer.
    """
    certificate = CERTIFIERS[name](defense, event)
    silence = silence_bounds(event, min_support) if certificate.bounds else ()
    return replace(certificate, min_support=min_support, silence=silence)
