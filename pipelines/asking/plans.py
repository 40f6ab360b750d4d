"""What a plan may and must switch on, whoever made it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from radarstream.schemas.orchestration import Module, Plan

FULL: Final = tuple(Module)


def within(plan: Plan, allowed: Collection[Module], always: Collection[Module]) -> Plan:
    """The plan with what is in `always` on, and what is in neither of the two off.

    The audit that is off still writes down what it finds; on, it enforces.
    """
    changed = {}
    for module in Module:
        part = getattr(plan, module.value)
        if module in always:
            part = replace(part, enabled=True)
        elif module not in allowed:
            part = replace(part, enabled=module is Module.AUDIT)
        changed[module.value] = part
    audit = changed[Module.AUDIT.value]
    if Module.AUDIT in always:
        changed[Module.AUDIT.value] = replace(audit, mode="enforce")
    elif Module.AUDIT not in allowed:
        changed[Module.AUDIT.value] = replace(audit, mode="log")
    return replace(plan, **changed)


def with_all(modules: Sequence[Module], reasoning: str = "") -> Plan:
    """A plan that switches on these modules with the options of the paper, and nothing else."""
    return replace(within(Plan(), (), modules), reasoning=reasoning)
