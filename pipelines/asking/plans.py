"""What a plan may and must switch on, whoever made it."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from radarstream.defenses.orchestration.strategist import RHO
from radarstream.pipelines.settings.serving import OrchestrationSettings
from radarstream.schemas.orchestration import Module, Plan, TrustragPlan

# What acts after the retrieval.
LATER: Final = frozenset(Module) - {Module.PRIVACY}


def bounded(plan: Plan, allowed: Collection[Module], always: Collection[Module]) -> Plan:
    """The plan with what is in `always` on, and what is in neither of the two off.

    The audit that is off still writes down what it finds; on, it enforces.
    """
    changed = {}
    for module in Module:
        part = getattr(plan, module.value)
        if module in always:
            part = replace(part, enabled=True)
        elif module not in allowed:
            part = replace(part, enabled=False)
        changed[module.value] = part
    audit = changed[Module.AUDIT.value]
    if Module.AUDIT in always:
        audit = replace(audit, mode="enforce")
    elif Module.AUDIT not in allowed:
        audit = replace(audit, enabled=True, mode="log")
    return replace(plan, **(changed | {Module.AUDIT.value: audit}))


def plain(settings: OrchestrationSettings) -> Plan:
    """A plan that switches nothing on, with the thresholds of the settings."""
    return Plan(trustrag=TrustragPlan(rouge_threshold=RHO[settings.thresholds]))


def full(settings: OrchestrationSettings, modules: Collection[Module], reasoning: str) -> Plan:
    """A plan that switches on all these modules."""
    return replace(bounded(plain(settings), (), modules), reasoning=reasoning)


def second_stage(plan: Plan, first: Plan) -> Plan:
    """A plan of the second stage: what was decided before the retrieval stays decided."""
    return replace(plan, differential_privacy=first.differential_privacy)
