"""The Strategist decides which defences act on a question, from its risk profile.

ADO, section 4.3.3. It reads numbers only, no text of the question, of documents or of a Sentinel.
The overrides of the rules hold for a model's plan too; the rules' plan replaces an invalid one.
"""

import json
from dataclasses import asdict, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.orchestration.sentinel import ATTACKS, clip
from radarstream.defenses.orchestration.signals import Seen, json_object
from radarstream.defenses.protocol import Complete
from radarstream.schemas.orchestration import (
    AttentionPlan,
    AuditPlan,
    GuardrailPlan,
    Plan,
    PrivacyPlan,
    RiskLevel,
    RiskProfile,
    Share,
    Thresholds,
    TrustragPlan,
)
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT

TRUST_SLOPE: Final = 0.2  # by which thresholds rise with the trust
HIGH_TRUST: Final = 0.8
UNUSUAL: Final = 2.0  # |z| of M_DIS; 5 % of harmless questions exceed it
OVERLAP_ALERT: Final = 0.7  # M_LEX above which privacy acts whatever the profile
SPEED_ALERT: Final = 0.7  # M_INT_norm
COMPLEXITY_ALERT: Final = 0.6  # M_CMP
EPSILON_ELEVATED: Final = 3.0
EPSILON_CRITICAL: Final = 1.0
SIGMA: Final = 0.88
SIGMA_CRITICAL: Final = {"corrected": SIGMA, "paper": 0.90}
RHO: Final = {"corrected": 0.80, "paper": 0.25}


def theta_eff(theta: float, trust: float) -> float:
    """Return the threshold for a user, lower with less trust, in [0.05, 0.95].

    >>> [round(theta_eff(0.5, trust), 6) for trust in (0.2, 0.5, 0.9)]
    [0.44, 0.5, 0.58]
    """
    return round(min(0.95, max(0.05, theta + TRUST_SLOPE * (trust - 0.5))), 9)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RuleStrategist:
    """Maps profile and signals to a plan by fixed rules.

    Privacy acts from a membership risk of theta, or if questions overlap or come at a bot's speed;
    TrustRAG from a poisoning risk of theta, or if M_DIS is unusual; the attention filter, the
    guardrail and an enforcing audit from a leakage or jailbreak risk of theta, or if the question
    is complex. At level critical all modules of the stage act. With high trust and level low, an
    unusual M_DIS does not count.

    Parameters
    ----------
    threshold
        theta for a trust of 0.5.
    thresholds
        "corrected": TrustRAG's sigma is .88 at every level, and rho has its measured value .8; a
        sigma of .80 would drop all of honest results that are much alike, with all-MiniLM-L6-v2.
        "paper": sigma is .90 at level critical, which flags less although the paper calls it
        stricter, and a rho of .25 drops half of harmless search results.
    """

    threshold: Share = 0.4
    thresholds: Thresholds = "corrected"

    def asks(self, _profile: RiskProfile, _seen: Seen, _earlier: Plan | None) -> None:
        """Return None: no model is asked."""

    def plan(
        self,
        profile: RiskProfile,
        seen: Seen,
        earlier: Plan | None = None,
        _reply: str | None = None,
    ) -> Plan:
        """Return the plan of stage 1, which decides on privacy; with `earlier` that of stage 2,
        which decides on the rest.
        """
        theta = theta_eff(self.threshold, seen.trust)
        if earlier is None:
            return self.first_stage(profile, seen, profile.membership >= theta)
        leaks = max(profile.leakage, profile.jailbreak) >= theta
        return self.second_stage(profile, seen, earlier, profile.poisoning >= theta, leaks)

    def first_stage(self, profile: RiskProfile, seen: Seen, probed: bool) -> Plan:
        """Switch privacy on if the question looks `probed`, or by an override."""
        fast = seen.signals.velocity_norm > SPEED_ALERT
        critical = profile.level is RiskLevel.CRITICAL
        enabled = probed or critical or fast or seen.signals.lexical_overlap > OVERLAP_ALERT
        epsilon = EPSILON_CRITICAL if critical or fast else EPSILON_ELEVATED
        privacy = PrivacyPlan(enabled, epsilon)
        return Plan(differential_privacy=privacy, reasoning="rules")

    def second_stage(
        self, profile: RiskProfile, seen: Seen, earlier: Plan, poisoned: bool, leaks: bool
    ) -> Plan:
        """Switch the rest on if the question looks `poisoned` or `leaks`, or by an override."""
        critical = profile.level is RiskLevel.CRITICAL
        trusted = profile.level is RiskLevel.LOW and seen.trust >= HIGH_TRUST
        found = seen.retrieval
        unusual = found is not None and abs(found.dispersion_z or 0.0) >= UNUSUAL
        poisoned |= critical or (not trusted and unusual)
        leaks |= critical or seen.signals.complexity > COMPLEXITY_ALERT
        sigma = SIGMA_CRITICAL[self.thresholds] if critical else SIGMA
        return replace(
            earlier,
            trustrag=TrustragPlan(poisoned, sigma, RHO[self.thresholds]),
            attention_filtering=AttentionPlan(leaks),
            guardrail=GuardrailPlan(leaks),
            output_audit=AuditPlan(True, "enforce" if leaks else "log"),
            reasoning="rules",
        )

    def overrides(self, profile: RiskProfile, seen: Seen, earlier: Plan | None) -> Plan:
        """Return the least plan: that of the rules without the profile's probabilities."""
        if earlier is None:
            return self.first_stage(profile, seen, probed=False)
        return self.second_stage(profile, seen, earlier, poisoned=False, leaks=False)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ModelStrategist:
    """Asks a language model for a plan in strict JSON; the overrides of `rules` hold for it too.

    The model may switch further modules on, and set an epsilon up to that of the rules and a sigma
    up to .88. It cannot switch off the log of the audit.
    """

    rules: RuleStrategist = RuleStrategist()

    def asks(self, profile: RiskProfile, seen: Seen, earlier: Plan | None) -> Complete:
        """Return the request, with `situation` as its passage."""
        return Complete(Task.PLAN_DEFENSE, "", (situation(profile, seen, earlier),), final=False)

    def plan(
        self,
        profile: RiskProfile,
        seen: Seen,
        earlier: Plan | None = None,
        reply: str | None = None,
    ) -> Plan:
        """Return the model's plan under the overrides; the rules' plan if the reply is invalid."""
        parsed = json_object(reply)
        try:
            planned = TypeAdapter(Plan).validate_python(parsed, strict=False) if parsed else None
        except ValidationError:  # an unknown key, or a value out of range
            planned = None
        if planned is None:
            return self.rules.plan(profile, seen, earlier)
        return bounded_by(planned, self.rules.overrides(profile, seen, earlier), earlier)


Strategist = RuleStrategist | ModelStrategist


def situation(profile: RiskProfile, seen: Seen, earlier: Plan | None) -> str:
    """Return one JSON object with numbers, a level and a stage."""
    facts: dict[str, Any] = {"stage": 1 if earlier is None else 2, "level": profile.level}
    facts |= {name: getattr(profile, name) for name in ATTACKS}
    facts |= {"trust": clip(seen.trust), **asdict(seen.signals)}
    if seen.retrieval is not None:
        facts |= asdict(seen.retrieval)
    return json.dumps(facts)


def bounded_by(planned: Plan, least: Plan, earlier: Plan | None) -> Plan:
    """Return a model's plan, at least as strict as `least`, and equal to it outside its stage."""
    if earlier is None:
        wanted, floor = planned.differential_privacy, least.differential_privacy
        epsilon = min(wanted.epsilon, floor.epsilon)
        privacy = replace(floor, enabled=wanted.enabled or floor.enabled, epsilon=epsilon)
        return replace(least, differential_privacy=privacy, reasoning=planned.reasoning[:300])
    trustrag, attention = planned.trustrag, planned.attention_filtering
    sigma = min(trustrag.similarity_threshold, least.trustrag.similarity_threshold)
    enforce = "enforce" in (planned.output_audit.mode, least.output_audit.mode)
    removals = max(attention.max_corruptions, least.attention_filtering.max_corruptions)
    return replace(
        least,
        trustrag=replace(
            least.trustrag,
            enabled=trustrag.enabled or least.trustrag.enabled,
            similarity_threshold=sigma,
        ),
        attention_filtering=replace(
            least.attention_filtering,
            enabled=attention.enabled or least.attention_filtering.enabled,
            max_corruptions=removals,
        ),
        guardrail=GuardrailPlan(planned.guardrail.enabled or least.guardrail.enabled),
        output_audit=AuditPlan(True, "enforce" if enforce else "log"),
        reasoning=planned.reasoning[:300],
    )
