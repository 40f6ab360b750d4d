"""What was decided about a question, in words: risk, modules, epsilon, trust."""

from collections.abc import Sequence
from typing import Final

from radarstream.schemas.orchestration import (
    Audited,
    HookRecord,
    Module,
    Orchestration,
    RiskLevel,
    RiskProfile,
)

MODULES: Final = {
    Module.PRIVACY: "noisy retrieval",
    Module.TRUSTRAG: "TrustRAG's filter",
    Module.ATTENTION: "attention filter",
    Module.GUARDRAIL: "guardrail",
    Module.AUDIT: "audit",
}
LEVELS: Final = {
    RiskLevel.LOW: "low",
    RiskLevel.ELEVATED: "elevated",
    RiskLevel.CRITICAL: "critical",
}
ATTACKS: Final = ("membership", "poisoning", "leakage", "jailbreak")


def module_in_words(record: HookRecord) -> str:
    """What a module did, in a few words.

    >>> from radarstream.schemas.orchestration import Hook
    >>> on = HookRecord(Hook.POST_RETRIEVAL, Module.TRUSTRAG, True, {}, 10, 8)
    >>> module_in_words(on)
    "TrustRAG's filter: dropped 2 of 10 documents"
    """
    name = MODULES[Module(record.module)]
    if not record.enabled:
        return f"{name}: off, {record.detail}"
    if record.module == Module.AUDIT:
        return f"{name}: {AUDITS[record.detail]}"
    if record.module == Module.GUARDRAIL:
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


def findings_in_words(audited: Audited | None) -> str:
    """What the audit found in an answer; empty where it found nothing.

    >>> from radarstream.schemas.orchestration import AuditFinding
    >>> findings_in_words(Audited("pass", "10", (AuditFinding("ungrounded", 0, 2),)))
    'hardly any of its words are in the documents'
    """
    kinds = dict.fromkeys(finding.kind for finding in (audited.findings if audited else ()))
    return ", ".join(FINDINGS[kind] for kind in kinds)


def acted(hooks: Sequence[HookRecord]) -> str:
    """The modules that acted; "none" without any.

    >>> acted(())
    'none'
    """
    return ", ".join(MODULES[Module(h.module)] for h in hooks if h.enabled) or "none"


def risk_in_words(profile: RiskProfile) -> str:
    """A risk profile on one line.

    >>> risk_in_words(RiskProfile(RiskLevel.ELEVATED, membership=0.5))
    'elevated, membership 0.50 (rules)'
    """
    named = [f"{name} {value:.2f}" for name in ATTACKS if (value := getattr(profile, name))]
    return f"{', '.join([LEVELS[profile.level], *named])} ({profile.sentinel})"


def epsilon_in_words(decided: Orchestration) -> str:
    """What a question cost of the epsilon budget; empty where nothing was charged."""
    if not decided.epsilon_spent:
        return ""
    left = "" if decided.epsilon_left is None else f", {decided.epsilon_left:g} left"
    return f"epsilon {decided.epsilon_spent:g} spent{left}"
