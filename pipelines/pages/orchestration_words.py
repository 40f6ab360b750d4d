"""What was decided about a question, in words: risk, modules, epsilon, trust."""

from collections.abc import Sequence
from typing import Final

from radarstream.schemas import orchestration

MODULES: Final = {
    orchestration.Module.PRIVACY: "noisy retrieval",
    orchestration.Module.TRUSTRAG: "TrustRAG's filter",
    orchestration.Module.ATTENTION: "attention filter",
    orchestration.Module.GUARDRAIL: "guardrail",
    orchestration.Module.AUDIT: "audit",
}
LEVELS: Final = {
    orchestration.RiskLevel.LOW: "low",
    orchestration.RiskLevel.ELEVATED: "elevated",
    orchestration.RiskLevel.CRITICAL: "critical",
}
ATTACKS: Final = ("membership", "poisoning", "leakage", "jailbreak")


def module_in_words(record: orchestration.HookRecord) -> str:
    """What a module did, in a few words.

    >>> from radarstream.schemas.orchestration import Hook
    >>> on = HookRecord(Hook.POST_RETRIEVAL, Module.TRUSTRAG, True, {}, 10, 8)
    >>> module_in_words(on)
    "TrustRAG's filter: dropped 2 of 10 documents"
    """
    name = MODULES[orchestration.Module(record.module)]
    if not record.enabled:
        return f"{name}: off, {record.detail}"
    if record.module == orchestration.Module.AUDIT:
        return f"{name}: {AUDITS[record.detail]}"
    if record.module == orchestration.Module.GUARDRAIL:
        return f"{name}: documents are shown as data, not as instructions"
    dropped = record.documents_in - record.documents_out
    return f"{name}: dropped {dropped} of {record.documents_in} documents"


AUDITS: Final = {
    "pass": "the answer passed",
    "mask": "parts of the answer were masked",
    "regenerate": "another answer was asked for",
    "refuse": "the answer was refused",
}


FINDINGS: Final = {
    "verbatim": "it repeats a document word for word",
    "ungrounded": "hardly any of its words are in the documents",
    "personal_data": "it has personal data",
}


def findings_in_words(audited: orchestration.Audited | None) -> str:
    """What the audit found in an answer; empty where it found nothing.

    >>> from radarstream.schemas.orchestration import AuditFinding
    >>> findings_in_words(Audited("pass", "10", (AuditFinding("ungrounded", 0, 2),)))
    'hardly any of its words are in the documents'
    """
    kinds = dict.fromkeys(finding.kind for finding in (audited.findings if audited else ()))
    return ", ".join(FINDINGS[kind] for kind in kinds)


def acted(hooks: Sequence[orchestration.HookRecord]) -> str:
    """The modules that acted; "none" without any.

    >>> acted(())
    'none'
    """
    return ", ".join(MODULES[orchestration.Module(h.module)] for h in hooks if h.enabled) or "none"


def risk_in_words(profile: orchestration.RiskProfile) -> str:
    """A risk profile on one line.

    >>> risk_in_words(RiskProfile(RiskLevel.ELEVATED, membership=0.5))
    'elevated, membership 0.50 (rules)'
    """
    named = [f"{name} {value:.2f}" for name in ATTACKS if (value := getattr(profile, name))]
    return f"{', '.join([LEVELS[profile.level], *named])} ({profile.sentinel})"


def epsilon_in_words(decided: orchestration.Orchestration) -> str:
    """What a question cost of the epsilon budget; empty where nothing was charged."""
    if not decided.epsilon_spent:
        return ""
    left = "" if decided.epsilon_left is None else f", {decided.epsilon_left:g} left"
    return f"epsilon {decided.epsilon_spent:g} spent{left}"
