"""The decision of a defence about one snapshot, with all that is needed to check it again."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from radarstream.schemas.evidence import Quote
from radarstream.schemas.memory import Probability
from radarstream.schemas.snapshot import ABSENT_UNSET, Strict

MEMORY_NODE = 0  # node number of the memory in `Edge`; documents have their rank, from 1


class Reason(StrEnum):
    """Why a document was kept or rejected."""

    SUPPORTED = "supported"  # source side of the cut
    BEST_OF_NONE = "best_of_none"  # the cut kept nothing: the fallback, by default largest S - F
    NOT_JUDGED = "not_judged"  # the defence keeps every document
    CUT = "cut"  # sink side of the cut
    ISOLATED = "isolated"  # unlike the others, dropped by a similarity check
    UNINFORMATIVE = "uninformative"  # the model found no answer in the document
    NOT_IN_TEXT = "not_in_text"  # the document does not say what the model answered
    STEERING = "steering"  # its answer tries to steer the judge of relations
    SAME_SITE = "same_site"  # a better ranked page speaks for its site
    SELF_CONTRADICTION = "self_contradiction"  # its owner's pages contradict each other: no voice
    CONTRADICTED = "contradicted"  # outside the largest set without contradictions
    NOT_SAMPLED = "not_sampled"  # in none of the samples that were kept
    TIGHT_CLUSTER = "tight_cluster"  # in a cluster of documents that are too similar
    NEAR_DUPLICATE = "near_duplicate"  # nearly the words of a better ranked document
    OUTVOTED = "outvoted"  # too few other answers share any of its words
    BLOCKED = "blocked"  # a person blocked its source: no defence saw it
    QUARANTINED = "quarantined"  # taught a wrong answer before: no defence saw it
    OUTRANKED = "outranked"  # a reranker preferred others: no defence saw it
    SUSPECT = "suspect"  # a reranker took it for planted: no defence saw it
    NOT_DRAWN = "not_drawn"  # below a threshold with noise: no defence saw it
    NOT_READ = "not_read"  # the answer was settled before: no defence saw it


# No defence saw a document with one of these.
UNSEEN = frozenset(
    {
        Reason.BLOCKED,
        Reason.QUARANTINED,
        Reason.OUTRANKED,
        Reason.SUSPECT,
        Reason.NOT_DRAWN,
        Reason.NOT_READ,
    }
)
KEEPING = frozenset({Reason.SUPPORTED, Reason.BEST_OF_NONE, Reason.NOT_JUDGED})  # of kept documents
# A document with one of these has no atomic answer.
SILENT = frozenset({Reason.UNINFORMATIVE, Reason.NOT_IN_TEXT})
# A document with one of these has an answer that contradicts itself or another one of its owner.
TORN = frozenset({Reason.SELF_CONTRADICTION, Reason.STEERING})
# A document with one of these has an atomic answer and is not a voice.
VOICELESS = frozenset({Reason.SAME_SITE, Reason.SELF_CONTRADICTION})
# A document with one of these is on the source side of the cut.
SOURCE_SIDE = frozenset({Reason.SUPPORTED, Reason.ISOLATED})


class Abstention(StrEnum):
    """Why there is no answer."""

    NO_DOCUMENTS = "no_documents"
    NO_EVIDENCE = "no_evidence"  # every document was uninformative
    NO_CONSENSUS = "no_consensus"  # no document is trusted, and there is no fallback
    MODEL_ABSTAINED = "model_abstained"
    THIN_EVIDENCE = "thin_evidence"  # too few independent sites say the candidate
    OUTWEIGHED = "outweighed"  # at least as many independent sites say a rival of the candidate


class MemoryDecision(StrEnum):
    """The decision about the previous answer."""

    RETAINED = "retained"
    FALSIFIED = "falsified"
    NONE = "none"  # no previous answer, or no evidence about it


@dataclass(frozen=True, slots=True)
class Excerpt(Strict):
    """A part of a text: `match` is the quote, with text before and after it; each may be empty."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class DocumentVerdict(Strict):
    """The decision about one document.

    `keep_evidence` is S_i and `reject_evidence` F_i (RADAR, Eq. 6 and 7); `margin` is by how much
    the energy rises if this document alone changes sides (0 = a tie); None if the defence has no
    such quantity. `quote` is where the passage that was read says the atomic answer, `excerpt` has
    its text, `page` is its page, from 1, in a document with pages.
    """

    rank: Annotated[int, Field(ge=1)]
    kept: bool
    reason: Reason
    atomic_answer: str | None = None
    keep_evidence: float | None = None
    reject_evidence: float | None = None
    margin: float | None = None
    quote: Annotated[Quote | None, ABSENT_UNSET] = None
    excerpt: Annotated[Excerpt | None, ABSENT_UNSET] = None
    page: Annotated[Annotated[int, Field(ge=1)] | None, ABSENT_UNSET] = None


@dataclass(frozen=True, slots=True)
class MemoryVerdict(Strict):
    """The decision about the memory node at one step.

    Priors are pi_S and pi_F of the state; posteriors are the node's terminal capacities, for RADAR
    S_old and F_old after the Bayesian update with this step's likelihoods (Eq. 13-16). None if the
    memory is not a node of the graph.
    """

    decision: MemoryDecision = MemoryDecision.NONE
    previous_answer: str | None = None
    support_prior: Probability | None = None
    conflict_prior: Probability | None = None
    support_posterior: Probability | None = None
    conflict_posterior: Probability | None = None
    margin: float | None = None


# An undirected edge of the cut graph: two nodes and the cost of separating them. A plain tuple,
# because a snapshot of 50 documents has over a thousand edges.
Edge = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Verdict(Strict):
    """The defended answer and why.

    `energy` is E(y) of RADAR's Eq. 3-5 and 18, computed in float64 from the labels; `edges` and the
    terminals of documents and memory suffice to compute it again. `conflicts` are how far the
    answers of two nodes contradict each other (Eq. 30); edges, conflicts, ranks and options
    determine the terminals. `candidate` is an answer that was not given, for lack of sites.
    """

    answer: str
    documents: tuple[DocumentVerdict, ...]
    abstention: Abstention | None = None
    memory: MemoryVerdict = MemoryVerdict()
    energy: float | None = None
    edges: tuple[Edge, ...] = ()
    conflicts: tuple[Edge, ...] = ()
    candidate: Annotated[str | None, ABSENT_UNSET] = None

    @property
    def abstained(self) -> bool:
        """Whether there is no answer."""
        return self.abstention is not None

    @property
    def weighed(self) -> str | None:
        """The answer, or the candidate if there is no answer."""
        return self.candidate if self.abstained else self.answer

    @property
    def kept_ranks(self) -> tuple[int, ...]:
        """Ranks of the kept documents, ascending."""
        return tuple(d.rank for d in self.documents if d.kept)
