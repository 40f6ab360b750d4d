"""The Strategist: which defences act on a question, from its risk profile.

ADO, section 4.3.3. It reads numbers alone, neither the question nor documents nor what a Sentinel
wrote about them. A plan of a model passes the same overrides as the rules and a failed one is
replaced by the rules' plan.
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

TRUST_SLOPE: Final = 0.2  # of thresholds: more trust, higher thresholds
HIGH_TRUST: Final = 0.8
UNUSUAL: Final = 2.0  # |z| of M_DIS; a twentieth of harmless questions passes it
OVERLAP_ALERT: Final = 0.7  # M_LEX above which privacy acts whatever the profile says
SPEED_ALERT: Final = 0.7  # M_INT_norm
COMPLEXITY_ALERT: Final = 0.6  # M_CMP
EPSILON_ELEVATED: Final = 3.0
EPSILON_CRITICAL: Final = 1.0
SIGMA: Final = 0.88
SIGMA_CRITICAL: Final = {"corrected": SIGMA, "paper": 0.90}
RHO: Final = {"corrected": 0.80, "paper": 0.25}


def theta_eff(theta: float, trust: float) -> float:
    """The threshold for a user: lower with less trust, within [0.05, 0.95].

    >>> [round(theta_eff(0.5, trust), 6) for trust in (0.2, 0.5, 0.9)]
    [0.44, 0.5, 0.58]
    """
    return round(min(0.95, max(0.05, theta + TRUST_SLOPE * (trust - 0.5))), 9)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RuleStrategist:
    """A fixed mapping from profile and signals to a plan.

    Privacy acts from a membership risk of theta, or where questions overlap or come at a bot's
    speed; TrustRAG from a poisoning risk of theta, or where M_DIS is unusual; the attention filter,
    the guardrail and an enforcing audit from a leakage or jailbreak risk of theta, or where the
    question is complex. At level critical all modules of the stage act. With high trust and level
    low, only the overrides about the user's own questions remain.

    Parameters
    ----------
    threshold
        theta before trust moves it.
    thresholds
        "corrected": TrustRAG's sigma is .88 at every level, and near duplicates begin at a measured
        rho of .8. A sigma of .80 at level critical would be stricter, and with all-MiniLM-L6-v2 it
        leaves nothing of honest results that are much alike. "paper": critical raises sigma to .90,
        which is called stricter there and flags less; a rho of .25 drops half of harmless search
        results.
    """

    threshold: Share = 0.4
    thresholds: Thresholds = "corrected"

    def asks(self, _profile: RiskProfile, _seen: Seen, _earlier: Plan | None) -> None:
        """No model is asked."""

    def plan(
        self,
        profile: RiskProfile,
        seen: Seen,
        earlier: Plan | None = None,
        _reply: str | None = None,
    ) -> Plan:
        """The plan of stage 1, which only decides on privacy; with `earlier` that of stage 2, which
        decides on the rest and cannot switch privacy on.
        """
        theta = theta_eff(self.threshold, seen.trust)
        if earlier is None:
            return self.first_stage(profile, seen, profile.membership >= theta)
        leaks = max(profile.leakage, profile.jailbreak) >= theta
        return self.second_stage(profile, seen, earlier, profile.poisoning >= theta, leaks)

    def first_stage(self, profile: RiskProfile, seen: Seen, probed: bool) -> Plan:
        """Privacy where the question looks `probed`, or an override asks for it."""
        fast = seen.signals.velocity_norm > SPEED_ALERT
        critical = profile.level is RiskLevel.CRITICAL
        enabled = probed or critical or fast or seen.signals.lexical_overlap > OVERLAP_ALERT
        epsilon = EPSILON_CRITICAL if critical or fast else EPSILON_ELEVATED
        privacy = PrivacyPlan(enabled, epsilon)
        return Plan(differential_privacy=privacy, reasoning="rules")

    def second_stage(
        self, profile: RiskProfile, seen: Seen, earlier: Plan, poisoned: bool, leaks: bool
    ) -> Plan:
        """The rest, where it looks `poisoned` or like a leak, or an override asks for it."""
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
        """What acts whatever a model's plan says: the rules without the profile's probabilities."""
        if earlier is None:
            return self.first_stage(profile, seen, probed=False)
        return self.second_stage(profile, seen, earlier, poisoned=False, leaks=False)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ModelStrategist:
    """A language model whose plan is strict JSON; the overrides of `rules` hold for it too.

    It may choose what acts where no override decides, and within bounds how strictly: an epsilon
    at most that of the rules, a sigma at most .88. It does not switch off the log of the audit.
    """

    rules: RuleStrategist = RuleStrategist()

    def asks(self, profile: RiskProfile, seen: Seen, earlier: Plan | None) -> Complete:
        """Numbers, a level and a stage."""
        return Complete(Task.PLAN_DEFENSE, "", (situation(profile, seen, earlier),), final=False)

    def plan(
        self,
        profile: RiskProfile,
        seen: Seen,
        earlier: Plan | None = None,
        reply: str | None = None,
    ) -> Plan:
        """The model's plan under the overrides, or the rules' plan if it is not a plan."""
        planned = plan_in(json_object(reply))
        if planned is None:
            return self.rules.plan(profile, seen, earlier)
        return bounded_by(planned, self.rules.overrides(profile, seen, earlier), earlier)


Strategist = RuleStrategist | ModelStrategist


def situation(profile: RiskProfile, seen: Seen, earlier: Plan | None) -> str:
    """What a model is shown: numbers, a level and a stage as one JSON object."""
    facts: dict[str, Any] = {"stage": 1 if earlier is None else 2, "level": profile.level}
    facts |= {name: getattr(profile, name) for name in ATTACKS}
    facts |= {"trust": clip(seen.trust), **asdict(seen.signals)}
    if seen.retrieval is not None:
        facts |= asdict(seen.retrieval)
    return json.dumps(facts)


def plan_in(reply: dict[str, Any] | None) -> Plan | None:
    """The plan in a model's reply; None for an unknown key or a value that cannot be."""
    try:
        return TypeAdapter(Plan).validate_python(reply, strict=False) if reply else None
    except ValidationError:
        return None


def bounded_by(planned: Plan, least: Plan, earlier: Plan | None) -> Plan:
    """A model's plan, nowhere weaker than `least`, of which it keeps what its stage forbids."""
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
