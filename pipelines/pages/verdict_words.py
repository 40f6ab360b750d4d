"""A verdict in words: why a document was kept or rejected, why there is no answer; and what was
decided about a question: risk, modules, epsilon, trust.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from radarstream.pipelines.pages.safe_text import format_time, shorten, written_address
from radarstream.schemas.claims import CheckedClaim, ClaimVerdict
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.orchestration import (
    Audited,
    HookRecord,
    Module,
    Orchestration,
    RiskProfile,
)
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import Document
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import (
    KEEPING,
    MEMORY_NODE,
    Abstention,
    DocumentVerdict,
    MemoryDecision,
    Reason,
    Verdict,
)

STRONG_CONFLICT = 0.5
RIVAL = 80  # characters of a rival answer beside the answer
WEAK_AGREEMENT = 0.5  # share of the step's strongest edge below which two answers disagree
ABSTENTIONS = {
    Abstention.NO_DOCUMENTS: "there is no document to answer from",
    Abstention.NO_EVIDENCE: "the model read no answer in any document",
    Abstention.NO_CONSENSUS: "the documents contradict each other and none was kept",
    Abstention.MODEL_ABSTAINED: "the model would not answer from the kept documents",
    Abstention.THIN_EVIDENCE: "too few independent sites say what would be the answer",
    Abstention.OUTWEIGHED: "as many independent sites say another answer",
}


STATUSES: Final = {
    AnswerStatus.CORROBORATED: "corroborated",
    AnswerStatus.SINGLE_SOURCE: "single source",
    AnswerStatus.DISPUTED: "disputed",
    AnswerStatus.REMEMBERED: "remembered",
    AnswerStatus.ABSTAINED: "no answer",
}
TONES: Final = {  # colours and marks of the same
    AnswerStatus.CORROBORATED: "good",
    AnswerStatus.SINGLE_SOURCE: "other",
    AnswerStatus.DISPUTED: "bad",
    AnswerStatus.REMEMBERED: "",
    AnswerStatus.ABSTAINED: "",
}


CLAIM_TONES: Final = {
    ClaimVerdict.SUPPORTED: "good",
    ClaimVerdict.REFUTED: "bad",
    ClaimVerdict.DISPUTED: "other",
    ClaimVerdict.NOT_ENOUGH_EVIDENCE: "",
}


def support_in_words(support: Support, answer: str | None = None) -> str:
    """What is behind an answer and against it, for a reader; `answer` where it is not read above.

    >>> support_in_words(Support(4, 1, memory=-1.0, rival_answer="Rome", to_silence=3, to_change=4))
    '4 independent sites say so, 1 says Rome; the memory disagrees; 3 more lying sites could ...'
    >>> support_in_words(Support(), "Rome")
    'no site says Rome'
    """
    said = "so" if answer is None else shorten(answer, RIVAL)
    parts = [f"{_sites(support.sites_for)} {_say(support.sites_for)} {said}"]
    if support.rival_answer is not None:
        rival = shorten(support.rival_answer, RIVAL)
        parts = [f"{parts[0]}, {support.rival_sites} {_say(support.rival_sites)} {rival}"]
    if abs(support.memory) >= STRONG_CONFLICT:
        parts.append(f"the memory {'agrees' if support.memory > 0 else 'disagrees'}")
    if support.to_silence is not None:
        parts.append(
            f"{support.to_silence} more lying {'site' if support.to_silence == 1 else 'sites'}"
            f" could silence it, {support.to_change} could change it"
        )
    return "; ".join(parts)


def claim_in_words(checked: CheckedClaim) -> str:
    """What became of a claim, and how many sites are on either side.

    >>> from radarstream.schemas.claims import Claim
    >>> claim = Claim("Lima is the capital.", "What is the capital?", "Lima")
    >>> claim_in_words(CheckedClaim(claim, ClaimVerdict.REFUTED, 1, 3))
    'refuted: 1 independent site supports it, 3 contradict it'
    """
    pro, contra = checked.supporting, checked.contradicting
    verdict = checked.verdict.replace("_", " ")
    return (
        f"{verdict}: {_sites(pro)} {'support' if pro > 1 else 'supports'} it, "
        f"{contra or 'none'} {'contradict' if contra > 1 else 'contradicts'} it"
    )


def depth_in_words(event: AnswerEvent) -> str:
    """How many documents and result pages were read, and whether they settled the answer."""
    text = f"{len(event.seen)} of {len(event.verdict.documents)} documents were read"
    if pages := event.result_pages:
        text += f", of {pages} result page{'s' * (pages > 1)}"
    return f"{text}; more could have decided" if event.wanted_more else text


def _sites(count: int) -> str:
    return f"{count or 'no'} {'independent ' * bool(count)}site{'s' * (count > 1)}"


def _say(count: int) -> str:
    return "say" if count > 1 else "says"


def judged_in_words(
    document: DocumentVerdict,
    verdict: Verdict,
    support: Support | None = None,
    checked: CheckedClaim | None = None,
) -> tuple[str, str]:
    """Where a document stands towards the answer, and why it was kept or cut; of a claim that was
    `checked`, where it stands towards that, and why it does not count, "" where it does. Without
    `support` the why of a cut one names those who do not agree.

    >>> cut = DocumentVerdict(2, False, Reason.UNINFORMATIVE)
    >>> judged_in_words(cut, Verdict("Lima", (cut,)))
    ('rejected', 'the model read no answer in it')
    """
    if checked is not None:
        uncounted = "" if document.reason in KEPT_OR_CUT else REASONS[document.reason]
        if (stance := dict(checked.stances).get(document.rank)) is not None:
            return stance.value, uncounted
        return "says nothing" if document.atomic_answer is None else "says neither", uncounted
    support = support or Support()
    if document.rank in support.ranks_for:
        side = "says so"
    elif document.rank in support.ranks_against:
        side = "otherwise"
    elif document.reason is Reason.NOT_JUDGED:
        side = "read"
    else:
        side = "kept" if document.kept else "rejected"
    return side, _why(document, verdict, support)


def place_in_words(document: Document, page: int | None) -> str:
    """Where a document's answer stands: its address, title or text, and the page.

    >>> place_in_words(Document(1, "Lima.", "minutes.pdf"), 2)
    'minutes.pdf, p. 2'
    """
    place = written_address(document.url) or document.title or document.text
    return place if page is None else f"{place}, p. {page}"


def standing_in_words(standing: StandingAnswer) -> str:
    """Since when the last answer is not confirmed.

    >>> standing_in_words(StandingAnswer("Rome", None))
    'Rome stands; when it was last confirmed is not known'
    """
    if standing.confirmed_at is None:
        return f"{standing.answer} stands; when it was last confirmed is not known"
    return f"{standing.answer} stands, unconfirmed since {format_time(standing.confirmed_at)}"


def memory_in_words(event: AnswerEvent) -> str:
    """What became of the previous answer, in a word: it stands unless given up for another."""
    decision = event.verdict.memory.decision
    if decision is MemoryDecision.NONE:
        return ""
    if decision is MemoryDecision.FALSIFIED and not event.falsified:
        return "stands"
    return "stands" if event.abstention else str(decision)


# What only says on which side of the cut an answer is.
KEPT_OR_CUT: Final = {*KEEPING, Reason.CUT, Reason.ISOLATED}
REASONS: Final = {
    Reason.BEST_OF_NONE: "the cut kept nothing; this is the fallback",
    Reason.ISOLATED: "survived the cut, but its answer is unlike the other kept answers",
    Reason.UNINFORMATIVE: "the model read no answer in it",
    Reason.NOT_IN_TEXT: "what the model answered was not found in the text",
    Reason.SAME_SITE: "a better ranked page speaks for its site",
    Reason.SELF_CONTRADICTION: "its site contradicts itself, and has no voice",
    Reason.NOT_READ: "not read: enough was known before",
    Reason.STEERING: "steers the model: its answer agrees with answers from elsewhere, too",
    Reason.NOT_JUDGED: "this defence does not select documents",
    Reason.CONTRADICTED: "outside the largest set of documents that do not contradict each other",
    Reason.NOT_SAMPLED: "in no round of samples that was kept",
    Reason.TIGHT_CLUSTER: "in a group of documents that are too much alike",
    Reason.NEAR_DUPLICATE: "nearly the words of a better ranked document",
    Reason.OUTVOTED: "too few other answers share any of its words",
    Reason.BLOCKED: "from a source that a person blocked",
    Reason.QUARANTINED: "in quarantine: it taught a wrong answer before",
    Reason.OUTRANKED: "outranked: the reranker put enough others before it",
    Reason.SUSPECT: "suspect: the reranker took it for planted",
    Reason.NOT_DRAWN: "not drawn: it was below a threshold with noise",
}


def reranking_in_words(reranking: Reranking) -> str:
    """What a reranker did, in one line.

    >>> from radarstream.schemas.retrieval import JudgedCandidate
    >>> dropped = JudgedCandidate(2, 1, False, 0.9, Reason.SUSPECT)
    >>> reranking_in_words(Reranking("gmtp", (JudgedCandidate(1, 2, True, 0.8), dropped)))
    'gmtp dropped 1 of 2 candidates (1 suspect)'
    """
    candidates, dropped = reranking.candidates, reranking.dropped
    counts = Counter(str(one.reason) for one in dropped if one.reason is not None)
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    text = f"{reranking.method} dropped {len(dropped)} of {len(candidates)} candidates"
    return f"{text} ({why})" if why else text


def _why(document: DocumentVerdict, verdict: Verdict, support: Support) -> str:
    if document.reason is Reason.CUT:
        return _why_cut(document, verdict, support)
    if document.reason is not Reason.SUPPORTED:
        return REASONS[document.reason]
    if friends := name_nodes(_neighbours(document.rank, verdict, agreeing=True)):
        return f"agrees with {friends}"
    unopposed = document.reject_evidence == 0
    return "nothing contradicts it" if unopposed else "its support outweighs the conflict"


def _why_cut(document: DocumentVerdict, verdict: Verdict, support: Support) -> str:
    keep, reject = document.keep_evidence, document.reject_evidence
    nodes = _neighbours(document.rank, verdict, agreeing=False)
    if document.rank in support.ranks_for:
        nodes = ()  # what it conflicts with is not the answer
    elif document.rank in support.ranks_against:
        nodes = tuple(node for node in nodes if node in (MEMORY_NODE, *support.ranks_for))
    opponents = name_nodes(nodes)
    if document.margin is not None and abs(document.margin) <= 1e-9:
        return "as much speaks against it as for it"
    if keep is None or reject is None:
        return f"no agreement with {opponents}" if opponents else "on the rejected side of the cut"
    if reject >= STRONG_CONFLICT and opponents:
        return f"contradicted by {opponents}"
    if reject > keep and opponents:
        return f"more conflict than support; no agreement with {opponents}"
    if reject > keep:
        return "more conflict than support"
    return "falls with the documents that share its answer"


def _neighbours(rank: int, verdict: Verdict, *, agreeing: bool) -> tuple[int, ...]:
    """Kept nodes, the memory included, that agree with `rank` strongly (or hardly at all)."""
    if not verdict.edges:
        return ()
    strongest = max(capacity for _, _, capacity in verdict.edges)
    agreement = {a + b - rank: capacity for a, b, capacity in verdict.edges if rank in (a, b)}
    kept = [d.rank for d in verdict.documents if d.kept and d.rank != rank]
    if verdict.memory.decision is MemoryDecision.RETAINED:
        kept.append(MEMORY_NODE)
    return tuple(
        node
        for node in kept
        if (agreement.get(node, 0.0) >= WEAK_AGREEMENT * strongest) == agreeing
    )


def name_nodes(nodes: Sequence[int]) -> str:
    """Documents in words, at most six by number.

    >>> name_nodes((2, 3, 5, 0))
    'documents 2, 3, 5 and the memory'
    """
    ranks = [str(node) for node in nodes if node != MEMORY_NODE]
    listed = ", ".join(ranks[:6]) + (f" and {len(ranks) - 6} more" if len(ranks) > 6 else "")
    parts = [f"{'document' if len(ranks) == 1 else 'documents'} {listed}"] if ranks else []
    return " and ".join([*parts, *(["the memory"] if MEMORY_NODE in nodes else [])])


MODULES: Final = {
    Module.PRIVACY: "noisy retrieval",
    Module.TRUSTRAG: "TrustRAG's filter",
    Module.ATTENTION: "attention filter",
    Module.GUARDRAIL: "guardrail",
    Module.AUDIT: "audit",
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

    >>> from radarstream.schemas.orchestration import RiskLevel
    >>> risk_in_words(RiskProfile(RiskLevel.ELEVATED, membership=0.5))
    'elevated, membership 0.50 (rules)'
    """
    named = [f"{name} {value:.2f}" for name in ATTACKS if (value := getattr(profile, name))]
    return f"{', '.join([profile.level, *named])} ({profile.sentinel})"


def epsilon_in_words(decided: Orchestration) -> str:
    """What a question cost of the epsilon budget; empty where nothing was charged."""
    if not decided.epsilon_spent:
        return ""
    left = "" if decided.epsilon_left is None else f", {decided.epsilon_left:g} left"
    return f"epsilon {decided.epsilon_spent:g} spent{left}"


def decided_in_words(decided: Orchestration) -> list[tuple[str, str]]:
    """What was decided about a question, as names and values: trust, risk, plan, privacy, audit.

    >>> from radarstream.schemas.orchestration import Plan
    >>> decided_in_words(Orchestration(Plan()))
    [('trust', '0.50, then 0.50')]
    """
    audited = decided.audit
    audit = audited and ": ".join(filter(None, (audited.action, findings_in_words(audited))))
    facts = (
        ("trust", f"{decided.trust:.2f}, then {decided.trust_after:.2f}"),
        ("risk of the question", decided.before and risk_in_words(decided.before)),
        ("risk with its documents", decided.after and risk_in_words(decided.after)),
        ("plan", decided.plan.reasoning),
        ("privacy", epsilon_in_words(decided)),
        ("audit", audit),
    )
    return [(name, value) for name, value in facts if value]
