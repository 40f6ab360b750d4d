"""The values of an answer event that a check cannot compute again, by their names on the wire."""

import json
from typing import Final

from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck.support import owners_of, sides, speaking
from radarstream.defenses.registry import build_defense
from radarstream.defenses.voices import Voices
from radarstream.schemas.events import AnswerEvent

_ASKED: Final = "an input: the question, the time, and the search"
_RULES: Final = "an input: the settings"
_MODELS: Final = "a check needs the models"
_TEXTS: Final = "a check needs the pages"
_BEFORE: Final = "a check needs the memory before this step"
# A name includes all names below it. All other values follow from the rest of the event.
CAPACITIES: Final = (
    "verdict.documents.keep_evidence",
    "verdict.documents.reject_evidence",
    "verdict.memory.support_posterior",
    "verdict.memory.conflict_posterior",
)
ALWAYS: Final = {
    "query_id": _ASKED,
    "question": _ASKED,
    "step": _ASKED,
    "observed_at": _ASKED,
    "provenance": _ASKED,
    "tags": _ASKED,
    "defense": _RULES,
    "options": _RULES,
    "wanted_more": _MODELS,
    "result_pages": _ASKED,
    "reranking": _MODELS,
    "generator": _MODELS,
    "relation_scorer": _MODELS,
    "undefended_answer": _MODELS,
    "verdict.answer": _MODELS,
    "changed": _MODELS,
    "verdict.documents.atomic_answer": _MODELS,
    "verdict.documents.quote": _MODELS,
    "verdict.documents.excerpt": _TEXTS,
    "verdict.documents.page": _TEXTS,
    "verdict.documents.reason": _MODELS,
    "verdict.edges": _MODELS,
    "verdict.conflicts": _MODELS,
    "support.stances_for": _MODELS,
    "support.stances_against": _MODELS,
    "support.memory": _MODELS,
    "verdict.memory.previous_answer": _BEFORE,
    "verdict.memory.support_prior": _BEFORE,
    "verdict.memory.conflict_prior": _BEFORE,
    "standing": _BEFORE,
    "sources.title": _TEXTS,
    "sources.url": _TEXTS,
}


def not_checked(event: AnswerEvent) -> dict[str, str]:
    """Return by name why values of an event are not checked, if `rechecked` finds no error."""
    named = dict(ALWAYS)
    defense = build_defense(event.defense, json.loads(event.options))
    if not isinstance(defense, Radar | Voices):
        named |= dict.fromkeys(("verdict.documents.kept", "verdict.abstention"), _MODELS)
        named["verdict.memory.decision"] = _MODELS
    elif isinstance(defense, Radar) and not defense.pair_scale:
        named |= dict.fromkeys(CAPACITIES, _MODELS)
    support = event.support
    if support is None:
        return named
    owners = owners_of(event, defense)
    for side, sites, stances in sides(support):
        if sites < speaking(owners, stances):
            named["support.sites_for" if side == "for" else "support.rival_sites"] = _TEXTS
    if support.rival_sites:
        named["support.rival_answer"] = _MODELS
    return named
