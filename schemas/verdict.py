"""What a defence decided about one snapshot, with everything needed to re-check it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from radarstream.schemas.evidence import Quote
from radarstream.schemas.memory import Probability
from radarstream.schemas.snapshot import ABSENT_UNSET, Strict

MEMORY_NODE = 0  # node number of the memory in `Edge`; documents use their rank, which starts at 1


class Reason(StrEnum):
    """Why a document was kept or rejected."""

    SUPPORTED = "supported"  # source side of the cut
    BEST_OF_NONE = "best_of_none"  # the cut kept nothing: the fallback, by default largest S - F
    NOT_JUDGED = "not_judged"  # the defence does not select documents
    CUT = "cut"  # sink side of the cut
    ISOLATED = "isolated"  # unlike the others, dropped by a similarity check
    UNINFORMATIVE = "uninformative"  # the model read no answer in the document
    NOT_IN_TEXT = "not_in_text"  # nor does the document say what the model answered
    STEERING = "steering"  # its answer tells the judge of relations what to say
    SAME_SITE = "same_site"  # a better ranked page speaks for its site
    SELF_CONTRADICTION = "self_contradiction"  # its site contradicts itself, and has no voice
    CONTRADICTED = "contradicted"  # outside the largest set without contradictions
    NOT_SAMPLED = "not_sampled"  # in no round of samples that was kept
    TIGHT_CLUSTER = "tight_cluster"  # in the cluster of documents that are too much alike
    NEAR_DUPLICATE = "near_duplicate"  # nearly the words of a better ranked document
    OUTVOTED = "outvoted"  # too few other answers share any of its words
    BLOCKED = "blocked"  # a person blocked its source: no defence saw it
    QUARANTINED = "quarantined"  # taught a wrong answer before: no defence saw it
    OUTRANKED = "outranked"  # a reranker put enough others before it: no defence saw it
    SUSPECT = "suspect"  # a filter of candidates took it for planted: no defence saw it
    NOT_DRAWN = "not_drawn"  # below a threshold with noise: no defence saw it
    NOT_READ = "not_read"  # enough was known before: no defence saw it


# A document with one of these was left out before any defence saw it.
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
# In a document with one of these no answer was read.
SILENT = frozenset({Reason.UNINFORMATIVE, Reason.NOT_IN_TEXT})
# A document with one of these has an answer that contradicts another of its site, or itself.
TORN = frozenset({Reason.SELF_CONTRADICTION, Reason.STEERING})
# A document with one of these has an atomic answer, and its site another voice or none.
VOICELESS = frozenset({Reason.SAME_SITE, Reason.SELF_CONTRADICTION})
# A document with one of these was on the keep side of the cut itself.
SOURCE_SIDE = frozenset({Reason.SUPPORTED, Reason.ISOLATED})


class Abstention(StrEnum):
    """Why there is no answer."""

    NO_DOCUMENTS = "no_documents"
    NO_EVIDENCE = "no_evidence"  # every document was uninformative
    NO_CONSENSUS = "no_consensus"  # nothing was kept that could be trusted, and no fallback
    MODEL_ABSTAINED = "model_abstained"
    THIN_EVIDENCE = "thin_evidence"  # too few independent sites say what would be the answer
    OUTWEIGHED = "outweighed"  # as many independent sites say a rival of what would be the answer


class MemoryDecision(StrEnum):
    """What became of the previous answer."""

    RETAINED = "retained"
    FALSIFIED = "falsified"
    NONE = "none"  # no previous answer, or nothing to judge it by


@dataclass(frozen=True, slots=True)
class Excerpt(Strict):
    """A window of a text: `match` is the passage that matters, in it; any part may be empty."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class DocumentVerdict(Strict):
    """What became of one document.

    `keep_evidence` is S_i and `reject_evidence` F_i (RADAR, Eq. 6 and 7); `margin` is by how much
    the energy would rise if this document alone changed sides (0 = a tie). None where the defence
    has no such quantity. `quote` is where the document's passage, as it was read, says the atomic
    answer: its first character, and the one behind its last. `page` is the page of the document
    that the quote is on, counted from 1, where the document has pages. `excerpt` has the words of
    the quote, with some before and after.
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
    """What became of the memory node at one step.

    Priors are what the state carried (pi_S, pi_F); posteriors are the node's terminal capacities:
    for RADAR S_old and F_old, after the Bayesian update with this step's likelihoods (Eq. 13-16).
    None where the memory is no node of the graph.
    """

    decision: MemoryDecision = MemoryDecision.NONE
    previous_answer: str | None = None
    support_prior: Probability | None = None
    conflict_prior: Probability | None = None
    support_posterior: Probability | None = None
    conflict_posterior: Probability | None = None
    margin: float | None = None


# An undirected edge of the cut graph: two nodes and the cost of separating them. A snapshot of 50
# documents has over a thousand of them, so they are plain tuples.
Edge = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Verdict(Strict):
    """The defended answer and why.

    `energy` is E(y) of Eq. 3-5, 18 recomputed in float64 from the labels, and `edges` with the
    documents' and memory's terminals are all that is needed to recompute it. `conflicts` are how
    far the answers of two nodes contradict each other (Eq. 30); with edges, ranks and options the
    terminals follow from them. `candidate` is what would have been answered had more sites said it.
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
        """The answer, or the candidate where there is none."""
        return self.candidate if self.abstained else self.answer

    @property
    def kept_ranks(self) -> tuple[int, ...]:
        """Ranks of the kept documents, ascending."""
        return tuple(d.rank for d in self.documents if d.kept)
