"""Reads figures out of verdicts, and re-checks them from what the verdict says alone."""

from radarstream.schemas.verdict import SOURCE_SIDE, MemoryDecision, Reason, Verdict


def keep_values(verdict: Verdict) -> list[float]:
    return [d.keep_evidence for d in verdict.documents if d.keep_evidence is not None]


def reject_values(verdict: Verdict) -> list[float]:
    return [d.reject_evidence for d in verdict.documents if d.reject_evidence is not None]


def recomputed_energy(verdict: Verdict) -> float:
    """E(y) from what the verdict says and nothing else."""
    kept = {d.rank: d.reason in SOURCE_SIDE for d in verdict.documents}
    total = sum(
        d.reject_evidence if kept[d.rank] else d.keep_evidence
        for d in verdict.documents
        if d.reason is not Reason.UNINFORMATIVE
    )
    memory = verdict.memory
    if memory.support_posterior is not None and memory.conflict_posterior is not None:
        kept[0] = memory.decision is MemoryDecision.RETAINED
        total += memory.conflict_posterior if kept[0] else memory.support_posterior
    return total + sum(capacity for a, b, capacity in verdict.edges if kept[a] != kept[b])
