"""The Sentinel: how risky a question is, from numbers about it, by rules or by a model.

ADO, section 4.3.2. The question is untrusted text: the rules do not read it, and a model is shown
it as a JSON string. By default a model can raise what the rules say and lower none of it, so that
a question which talks to the model gains nothing.
"""

import json
from dataclasses import asdict, replace
from typing import Any, Final, Literal

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.orchestration.json_reply import json_object
from radarstream.defenses.orchestration.protocol import Seen
from radarstream.defenses.orchestration.trust import CALM_DELTA, bounded
from radarstream.defenses.protocol import AttemptAll, Complete
from radarstream.defenses.responses import Asking, ask
from radarstream.schemas.orchestration import RiskLevel, RiskProfile
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.trust import START

ELEVATED: Final = 0.4
CRITICAL: Final = 0.8
QUESTION_CHARACTERS: Final = 1_000  # of a question that a model is shown
ATTACKS: Final = ("membership", "poisoning", "leakage", "jailbreak")
_LEVELS: Final = (RiskLevel.LOW, RiskLevel.ELEVATED, RiskLevel.CRITICAL)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RuleSentinel:
    """Fixed formulas of the signals; the same signals give the same profile.

    membership = max(clip((M_LEX - .4) / .6), .5 M_INT_norm + .5 [asks to fill gaps]);
    poisoning = clip(|z of M_DIS| / 6 + .5 [near duplicates]); leakage = .9 where documents are
    asked for, else clip(M_CMP / .6). Critical from .8, elevated from .4. `delta` is the gain of a
    calm pass; `trust.delta_of` lowers it by what happened.
    """

    def look(self, seen: Seen, earlier: RiskProfile | None = None) -> Asking[RiskProfile]:
        """The profile; what was seen before the retrieval counts again after it."""
        return self.without_model(seen, earlier)
        yield  # a generator that asks nothing

    def without_model(
        self,
        seen: Seen,
        earlier: RiskProfile | None = None,  # noqa: ARG002 - what it was made of is in `seen`
    ) -> RiskProfile:
        """The profile itself."""
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


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ModelSentinel:
    """A language model that replies with strict JSON.

    Parameters
    ----------
    floor
        "rules": every probability, the level and the loss of trust are at least those of the
        rules. "none": as the paper has it, a model alone decides.
    """

    floor: Literal["rules", "none"] = "rules"

    def look(self, seen: Seen, earlier: RiskProfile | None = None) -> Asking[RiskProfile]:
        """The model's profile, or that of `without_model` where it gave none."""
        request = Complete(Task.ASSESS_RISK, "", (shown(seen, earlier),), final=False)
        (reply,) = yield from ask(AttemptAll((request,)))
        profile = profile_in(json_object(reply))
        if profile is None:
            return self.without_model(seen, earlier)
        return self.floored(profile, seen)

    def without_model(self, seen: Seen, earlier: RiskProfile | None = None) -> RiskProfile:
        """The profile where the model does not answer: that of the first look, if there was one.

        Else what METHODS names: elevated where trust is below 0.5, with a low probability of each.
        """
        if earlier is not None:
            return self.floored(earlier, seen)
        level = RiskLevel.ELEVATED if seen.trust < START else RiskLevel.LOW
        told = RiskProfile(level, 0.3, 0.1, 0.1, rationale="no answer", sentinel="fallback")
        return self.floored(told, seen)

    def floored(self, profile: RiskProfile, seen: Seen) -> RiskProfile:
        """The profile, not below the rules."""
        if self.floor == "none":
            return profile
        rules = RuleSentinel().without_model(seen)
        return replace(
            profile,
            level=max(profile.level, rules.level, key=_LEVELS.index),
            delta=min(profile.delta, rules.delta),
            **{name: max(getattr(profile, name), getattr(rules, name)) for name in ATTACKS},
        )


def clip(value: float) -> float:
    """Within [0, 1]."""
    return min(1.0, max(0.0, value))


def level_of(most: float) -> RiskLevel:
    """The level of the largest probability."""
    if most >= CRITICAL:
        return RiskLevel.CRITICAL
    return RiskLevel.ELEVATED if most >= ELEVATED else RiskLevel.LOW


def shown(seen: Seen, earlier: RiskProfile | None) -> str:
    """What a model is shown: one JSON object of plain ASCII, in which the question is a string."""
    told: dict[str, Any] = {"question": seen.question[:QUESTION_CHARACTERS], "trust": seen.trust}
    told |= asdict(seen.signals)
    if seen.retrieval is not None:
        told["retrieval"] = asdict(seen.retrieval)
    if earlier is not None:
        told["first_look"] = {name: getattr(earlier, name) for name in ("level", *ATTACKS)}
    return json.dumps(told)


def profile_in(reply: dict[str, Any] | None) -> RiskProfile | None:
    """The profile in a model's reply, numbers brought into their range; None if it is not one."""
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
        delta=bounded(numbers["delta"]),
        rationale=str(reply.get("rationale", ""))[:300],
        sentinel="language_model",
    )
