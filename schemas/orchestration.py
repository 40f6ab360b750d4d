"""Adaptive defence of a service: what is seen of a question, how risky it is, what is done.

"Adaptive Defense Orchestration for RAG" (ADO), section 4: a Sentinel tells the risk, a Strategist
makes a plan for four hooks, and the trust of a user follows from what happened.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from radarstream.schemas.snapshot import Strict

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Thresholds = Literal["corrected", "paper"]  # of measured questions, or those of ADO
MOST_DELTA = 0.1  # of trust, by one look of the Sentinel


class Hook(StrEnum):
    """Where a defence acts on one question, in order."""

    PRE_RETRIEVAL = "pre_retrieval"  # A: noise on which documents are found
    POST_RETRIEVAL = "post_retrieval"  # B: documents in, documents out
    PRE_GENERATION = "pre_generation"  # C: what the model is shown and told
    POST_GENERATION = "post_generation"  # D: the answer


class Module(StrEnum):
    """A defence that a plan switches on; the value is its name in a plan."""

    PRIVACY = "differential_privacy"  # A
    TRUSTRAG = "trustrag"  # B; in studies alone
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
    """What is seen before the retrieval.

    `lexical_overlap` is M_LEX in [0, 1], `complexity` M_CMP in [0, 1], `velocity` M_INT in 1/s (0
    for the first question). `fills_masks` and `asks_verbatim` say whether the wording is that of a
    membership probe, or of a request for the documents themselves.
    """

    lexical_overlap: float = 0.0
    complexity: float = 0.0
    velocity: float = 0.0
    fills_masks: bool = False
    asks_verbatim: bool = False

    @property
    def velocity_norm(self) -> float:
        """M_INT_norm, at most 1."""
        return min(1.0, self.velocity)


@dataclass(frozen=True, slots=True)
class RetrievalSignals(Strict):
    """What is seen after the retrieval: numbers only, never text of documents.

    `dispersion` is M_DIS, 1 less the mean cosine of two documents; `drop_off` M_DRP, the cosine of
    the best less that of the last. `dispersion_z` is how many robust standard deviations M_DIS is
    from its median over benign questions, signed; None where none was measured.
    """

    dispersion: float = 0.0
    drop_off: float = 0.0
    near_duplicates: bool = False
    dispersion_z: float | None = None


@dataclass(frozen=True, slots=True)
class RiskProfile(Strict):
    """What the Sentinel says. Probabilities of four attacks; `delta` is what it adds to trust."""

    level: RiskLevel
    membership: Share = 0.0
    poisoning: Share = 0.0
    leakage: Share = 0.0
    jailbreak: Share = 0.0
    delta: Annotated[float, Field(ge=-MOST_DELTA, le=MOST_DELTA)] = 0.0
    rationale: str = ""
    sentinel: str = "rules"  # who said so: rules, language_model, fallback


@dataclass(frozen=True, slots=True)
class PrivacyPlan(Strict):
    """DP-RAG: a threshold is drawn with noise."""

    enabled: bool = False
    epsilon: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 3.0


@dataclass(frozen=True, slots=True)
class TrustragPlan(Strict):
    """TrustRAG's filter.

    `rouge_threshold` is rho, above which two documents are near duplicates. The paper's .25 drops
    half of harmless search results, and at any it drops honest copies of one text: no service has
    it, see `docs/orchestration.md`.
    """

    enabled: bool = False
    similarity_threshold: Share = 0.88
    rouge_threshold: Share = 0.8


@dataclass(frozen=True, slots=True)
class AttentionPlan(Strict):
    """The attention-variance filter: percent squared, and how many documents may go."""

    enabled: bool = False
    max_corruptions: Annotated[int, Field(ge=0, le=50)] = 3
    threshold: Annotated[float, Field(ge=0.0)] = 50.0


@dataclass(frozen=True, slots=True)
class GuardrailPlan(Strict):
    """A sentence in the prompt that documents are data, not instructions."""

    enabled: bool = False


@dataclass(frozen=True, slots=True)
class AuditPlan(Strict):
    """The audit of the answer: "log" only writes down what it finds."""

    enabled: bool = True
    mode: Literal["log", "enforce"] = "log"


@dataclass(frozen=True, slots=True)
class Plan(Strict):
    """What the hooks do for one question. An unknown key makes a plan of a model invalid."""

    differential_privacy: PrivacyPlan = PrivacyPlan()
    trustrag: TrustragPlan = TrustragPlan()
    attention_filtering: AttentionPlan = AttentionPlan()
    guardrail: GuardrailPlan = GuardrailPlan()
    output_audit: AuditPlan = AuditPlan()
    reasoning: str = ""

    @property
    def active(self) -> tuple[Module, ...]:
        """The modules that may change something, in the order of the hooks."""
        on = [module for module in Module if getattr(self, module.value).enabled]
        logged = self.output_audit.mode == "log"
        return tuple(m for m in on if m is not Module.AUDIT or not logged)


@dataclass(frozen=True, slots=True)
class HookRecord(Strict):
    """What a hook did: documents in and out, with the parameters it had; why it changed nothing."""

    hook: Hook
    module: str
    enabled: bool
    parameters: dict[str, Any]
    documents_in: int
    documents_out: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditFinding(Strict):
    """Something that the audit found in an answer: `start` and `end` are characters of it."""

    kind: Literal["verbatim", "ungrounded", "personal_data"]
    start: int
    end: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Audited(Strict):
    """What became of an answer at the last hook; `text` is what the user is given.

    `error` says why the audit itself failed: such an answer is refused, unless nothing is enforced.
    """

    action: Literal["pass", "mask", "regenerate", "refuse"]
    text: str
    findings: tuple[AuditFinding, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Orchestration(Strict):
    """All that was decided about one question, for logs, traces and studies; no document text."""

    plan: Plan
    before: RiskProfile | None = None
    after: RiskProfile | None = None
    question_signals: QuestionSignals | None = None
    retrieval_signals: RetrievalSignals | None = None
    trust: float = 0.5
    trust_after: float = 0.5
    epsilon_spent: float = 0.0
    epsilon_left: float | None = None  # None: nobody counts
    hooks: tuple[HookRecord, ...] = ()
    audit: Audited | None = None
