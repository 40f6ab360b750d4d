"""What a check of an answer event takes as it stands, by its name on the wire."""

import json
from typing import Final

from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck.support import owners_of, sides, speaking
from radarstream.defenses.registry import build_defense
from radarstream.defenses.voices import Voices
from radarstream.schemas.events import AnswerEvent

_ASKED: Final = "what was asked, when, and how the pages were found"
_RULES: Final = "the rules in force are settings"
_MODELS: Final = "it takes the models"
_TEXTS: Final = "it takes the pages"
_BEFORE: Final = "it takes the memory before this step"
# A name stands for all that is under it. Whatever is not named follows from the rest.
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
    """Why values of an event are taken as they stand, by name.

    For an event of which `rechecked` has no complaint.
    """
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
