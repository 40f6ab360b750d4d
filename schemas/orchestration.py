"""Signals, risks and plans of a service's adaptive defence.

"Adaptive Defense Orchestration for RAG" (ADO), section 4: a Sentinel estimates the risk of a
question, a Strategist makes a plan for four hooks, and a user's trust follows from the risks.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from radarstream.schemas.snapshot import Strict

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Thresholds = Literal["corrected", "paper"]  # measured on questions, or those of ADO
MOST_DELTA = 0.1  # largest change of trust by one risk profile


class Hook(StrEnum):
    """Where a defence acts on one question, in order."""

    PRE_RETRIEVAL = "pre_retrieval"  # A: noise on the choice of documents
    POST_RETRIEVAL = "post_retrieval"  # B: drops documents
    PRE_GENERATION = "pre_generation"  # C: changes the prompt
    POST_GENERATION = "post_generation"  # D: changes the answer


class Module(StrEnum):
    """A defence that a plan switches on; the value is its name in a plan."""

    PRIVACY = "differential_privacy"  # A
    TRUSTRAG = "trustrag"  # B; in studies only
    ATTENTION = "attention_filtering"  # C
    GUARDRAIL = "guardrail"  # C
    AUDIT = "output_audit"  # D


class RiskLevel(StrEnum):
    """How threatening a question looks."""

    LOW = "low"
    ELEVATED = "elevated"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class QuestionSignals(Strict):
    """Signals before the retrieval.

    `lexical_overlap` is M_LEX in [0, 1], `complexity` M_CMP in [0, 1], `velocity` M_INT in 1/s (0
    for the first question). `fills_masks` is whether the question is worded as a membership probe,
    `asks_verbatim` whether it asks for the documents themselves.
    """

    lexical_overlap: float = 0.0
    complexity: float = 0.0
    velocity: float = 0.0
    fills_masks: bool = False
    asks_verbatim: bool = False

    @property
    def velocity_norm(self) -> float:
        """M_INT_norm, in [0, 1]."""
        return min(1.0, self.velocity)


@dataclass(frozen=True, slots=True)
class RetrievalSignals(Strict):
    """Signals after the retrieval: numbers only, no text of documents.

    `dispersion` is M_DIS, 1 less the mean cosine of two documents; `drop_off` is M_DRP, the best
    document's cosine less the last one's. `dispersion_z` is the signed distance of M_DIS from its
    median over benign questions, in robust standard deviations; None if that was not measured.
    """

    dispersion: float = 0.0
    drop_off: float = 0.0
    near_duplicates: bool = False
    dispersion_z: float | None = None


@dataclass(frozen=True, slots=True)
class RiskProfile(Strict):
    """The Sentinel's result: probabilities of four attacks; `delta` is added to the trust."""

    level: RiskLevel
    membership: Share = 0.0
    poisoning: Share = 0.0
    leakage: Share = 0.0
    jailbreak: Share = 0.0
    delta: Annotated[float, Field(ge=-MOST_DELTA, le=MOST_DELTA)] = 0.0
    rationale: str = ""
    sentinel: str = "rules"  # or language_model, fallback


@dataclass(frozen=True, slots=True)
class PrivacyPlan(Strict):
    """DP-RAG: draws a threshold of the retrieval with noise."""

    enabled: bool = False
    epsilon: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 3.0


@dataclass(frozen=True, slots=True)
class TrustragPlan(Strict):
    """TrustRAG's filter.

    `rouge_threshold` is rho, above which two documents are near duplicates. The paper's .25 drops
    half of harmless search results, and every value drops honest copies, so that no service has
    this module; see `docs/orchestration.md`.
    """

    enabled: bool = False
    similarity_threshold: Share = 0.88
    rouge_threshold: Share = 0.8


@dataclass(frozen=True, slots=True)
class AttentionPlan(Strict):
    """The attention-variance filter: `threshold` in percent squared, and most documents dropped."""

    enabled: bool = False
    max_corruptions: Annotated[int, Field(ge=0, le=50)] = 3
    threshold: Annotated[float, Field(ge=0.0)] = 50.0


@dataclass(frozen=True, slots=True)
class GuardrailPlan(Strict):
    """Adds a sentence to the prompt: documents are data, not instructions."""

    enabled: bool = False


@dataclass(frozen=True, slots=True)
class AuditPlan(Strict):
    """The audit of the answer: "log" records findings, "enforce" acts on them."""

    enabled: bool = True
    mode: Literal["log", "enforce"] = "log"


@dataclass(frozen=True, slots=True)
class Plan(Strict):
    """What the hooks do for one question."""

    differential_privacy: PrivacyPlan = PrivacyPlan()
    trustrag: TrustragPlan = TrustragPlan()
    attention_filtering: AttentionPlan = AttentionPlan()
    guardrail: GuardrailPlan = GuardrailPlan()
    output_audit: AuditPlan = AuditPlan()
    reasoning: str = ""

    @property
    def active(self) -> tuple[Module, ...]:
        """The modules that may change the outcome, in the order of the hooks."""
        on = [module for module in Module if getattr(self, module.value).enabled]
        logged = self.output_audit.mode == "log"
        return tuple(m for m in on if m is not Module.AUDIT or not logged)


@dataclass(frozen=True, slots=True)
class HookRecord(Strict):
    """What a hook did: its parameters, documents in and out, and why it changed nothing."""

    hook: Hook
    module: str
    enabled: bool
    parameters: dict[str, Any]
    documents_in: int
    documents_out: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditFinding(Strict):
    """A finding of the audit at `answer[start:end]`."""

    kind: Literal["verbatim", "ungrounded", "personal_data"]
    start: int
    end: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Audited(Strict):
    """The result of the audit; `text` goes to the user.

    `error` says why the audit failed; the answer is then refused, unless the mode is "log".
    """

    action: Literal["pass", "mask", "regenerate", "refuse"]
    text: str
    findings: tuple[AuditFinding, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Orchestration(Strict):
    """All decisions about one question, for logs, traces and studies; no text of documents."""

    plan: Plan
    before: RiskProfile | None = None
    after: RiskProfile | None = None
    question_signals: QuestionSignals | None = None
    retrieval_signals: RetrievalSignals | None = None
    trust: float = 0.5
    trust_after: float = 0.5
    epsilon_spent: float = 0.0
    epsilon_left: float | None = None  # None: not counted
    hooks: tuple[HookRecord, ...] = ()
    audit: Audited | None = None
