"""The Sentinel estimates the risk of a question from its signals, by rules or by a model.

ADO, section 4.3.2. The question is untrusted: the rules do not read it, and a model gets it as a
JSON string. A model can raise the risk of the rules and not lower it, so that a question cannot
gain by talking to the model.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from radarstream.defenses.orchestration.signals import Seen, json_object
from radarstream.defenses.protocol import Complete
from radarstream.schemas.orchestration import MOST_DELTA, RiskLevel, RiskProfile
from radarstream.schemas.prompt import Task
from radarstream.schemas.users import START

ELEVATED: Final = 0.4
CRITICAL: Final = 0.8
QUESTION_CHARACTERS: Final = 1_000  # of a question in a model's prompt
ATTACKS: Final = ("membership", "poisoning", "leakage", "jailbreak")
_LEVELS: Final = tuple(RiskLevel)  # ascending
# Changes of trust (ADO, section 4.3.1): the question needed no defence; its risk switched one on;
# documents were removed or the answer was changed.
CALM_DELTA: Final = 0.02
FIRED_DELTA: Final = -0.05
INTERVENED_DELTA: Final = -0.1


@dataclass(frozen=True, slots=True)
class RuleSentinel:
    """Computes the risk by fixed formulas.

    membership = max(clip((M_LEX - .4) / .6), .5 M_INT_norm + .5 [asks to fill gaps]);
    poisoning = clip(|z of M_DIS| / 6 + .5 [near duplicates]); leakage = .9 if the question asks for
    documents, else clip(M_CMP / .6). Critical from .8, elevated from .4. `delta` is `CALM_DELTA`;
    `delta_of` lowers it.
    """

    def asks(self, _seen: Seen, _earlier: RiskProfile | None) -> None:
        """Return None: no model is asked."""

    def profile(
        self, seen: Seen, _earlier: RiskProfile | None = None, _reply: str | None = None
    ) -> RiskProfile:
        """Return the profile; signals before the retrieval count again after it."""
        asked, found = seen.signals, seen.retrieval
        membership = max(
            clip((asked.lexical_overlap - 0.4) / 0.6),
            clip(0.5 * asked.velocity_norm + 0.5 * asked.fills_masks),
        )
        leakage = 0.9 if asked.asks_verbatim else clip(asked.complexity / 0.6)
        poisoning = 0.0
        if found is not None:
            poisoning = clip(abs(found.dispersion_z or 0.0) / 6.0 + 0.5 * found.near_duplicates)
        level = level_of(max(membership, poisoning, leakage))
        return RiskProfile(
            level, membership, poisoning, leakage, delta=CALM_DELTA, rationale="rules"
        )


@dataclass(frozen=True, slots=True)
class ModelSentinel:
    """Asks a language model, which replies with strict JSON.

    Every probability, the level and the loss of trust are at least those of the rules; in the paper
    the model decides alone.
    """

    def asks(self, seen: Seen, earlier: RiskProfile | None) -> Complete:
        """Return the request, with `facts_of` as its passage."""
        return Complete(Task.ASSESS_RISK, "", (facts_of(seen, earlier),), final=False)

    def profile(
        self, seen: Seen, earlier: RiskProfile | None = None, reply: str | None = None
    ) -> RiskProfile:
        """Return the model's profile; without a valid reply that of `earlier`, else one with low
        probabilities, elevated if the trust is below 0.5.
        """
        judged = profile_in(json_object(reply))
        if judged is None:
            level = RiskLevel.ELEVATED if seen.trust < START else RiskLevel.LOW
            unknown = RiskProfile(level, 0.3, 0.1, 0.1, rationale="no answer")
            judged = replace(earlier or unknown, sentinel="fallback")
        rules = RuleSentinel().profile(seen)
        return replace(
            judged,
            level=max(judged.level, rules.level, key=_LEVELS.index),
            delta=min(judged.delta, rules.delta),
            **{name: max(getattr(judged, name), getattr(rules, name)) for name in ATTACKS},
        )


Sentinel = RuleSentinel | ModelSentinel


def clip(value: float) -> float:
    """Clip to [0, 1]."""
    return min(1.0, max(0.0, value))


def level_of(most: float) -> RiskLevel:
    """Return the level for the largest probability."""
    if most >= CRITICAL:
        return RiskLevel.CRITICAL
    return RiskLevel.ELEVATED if most >= ELEVATED else RiskLevel.LOW


def facts_of(seen: Seen, earlier: RiskProfile | None) -> str:
    """Return one JSON object in ASCII, with the signals, and the question as a string."""
    facts: dict[str, Any] = {"question": seen.question[:QUESTION_CHARACTERS], "trust": seen.trust}
    facts |= asdict(seen.signals)
    if seen.retrieval is not None:
        facts["retrieval"] = asdict(seen.retrieval)
    if earlier is not None:
        facts["first_look"] = {name: getattr(earlier, name) for name in ("level", *ATTACKS)}
    return json.dumps(facts)


def profile_in(reply: dict[str, Any] | None) -> RiskProfile | None:
    """Read a profile from a model's reply and clip its numbers; None if it is not a profile."""
    wanted = {"level", "delta", "rationale", *ATTACKS}
    if reply is None or not {"level"} < set(reply) <= wanted:
        return None
    numbers = {name: reply.get(name, 0.0) for name in ("delta", *ATTACKS)}
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers.values()):
        return None
    try:
        level = RiskLevel(str(reply["level"]).lower())
    except ValueError:
        return None
    return RiskProfile(
        level,
        **{name: clip(numbers[name]) for name in ATTACKS},
        delta=min(MOST_DELTA, max(-MOST_DELTA, numbers["delta"])),
        rationale=str(reply.get("rationale", ""))[:300],
        sentinel="language_model",
    )


def delta_of(profile: RiskProfile | None, *, fired: bool, intervened: bool) -> float:
    """Return the change of a user's trust: the Sentinel's delta, or less by what happened.

    `fired` means that the risk switched a defence on, `intervened` that it removed documents or
    that the audit changed the answer. `schemas.users` applies the change, within limits.
    """
    happened = INTERVENED_DELTA if intervened else FIRED_DELTA if fired else CALM_DELTA
    return happened if profile is None else min(profile.delta, happened)
