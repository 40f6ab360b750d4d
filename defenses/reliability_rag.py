"""ReliabilityRAG: the largest set of documents that do not contradict each other.

`ReliabilityRag.choose` selects exactly among the documents' answers, and
`ReliabilityRag.defend_by_samples` among answers from random samples.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import (
    Documents,
    Stateless,
    all_kept,
    answered_from_kept,
    concluded,
    judged,
)
from radarstream.defenses.kernels.reliability import independent_set, rank_samples, rank_weights
from radarstream.defenses.protocol import (
    EVIDENCE,
    Asking,
    Complete,
    CompleteAll,
    Defending,
    Relate,
    Signal,
    ask,
)
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention, Reason, Verdict

BoolArray = NDArray[np.bool_]

MOST_DOCUMENTS = 20  # of the exact method, as its authors limit it


@dataclass(frozen=True, slots=True)
class Round:
    """An answer from some documents: their indices, ascending, and how often they were drawn."""

    members: tuple[int, ...]
    drawn: int
    answer: AtomicAnswer


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ReliabilityRag(Stateless):
    """Rank-aware maximum independent set of the contradiction graph, or of a graph of samples.

    From "ReliabilityRAG: Effective and Provably Robust Defense for RAG-based Web-Search"
    (arXiv:2509.23519, Algorithm 1 and the sampling framework of its section on scaling), and its
    published code where the paper is silent.

    Two documents are joined if the answer of the better ranked one contradicts the other's with
    at least the probability `contradiction_threshold`. Of the largest sets without a joined pair,
    the model answers from the one whose ranks come first in lexicographic order. If no document has
    an answer, it answers from all.

    Parameters
    ----------
    method
        "exact": as above, for at most 20 documents. "sampling": the model answers from `rounds`
        samples of `sample_size` documents each, better ranks more often; the selection is among
        these answers, and the model answers from the documents of the selected samples. "auto":
        exact up to 20 documents, sampling above.

        Sampling needs no signals. "auto" has the `needs` of "exact"; for a known number of
        documents `needs_for` is exact.
    contradiction_threshold
        beta, in [0, 1].
    rounds, sample_size
        T and m.
    gamma
        Weight of a rank relative to the one before, in [0, 1]; 0 means linear weights.
    replacement
        Whether a sample may draw a document twice; the prompt has it once.
    seed
        Seed of the samples, which also depend on the query's id and the event time.
    """

    method: Literal["auto", "exact", "sampling"] = "auto"
    contradiction_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    rounds: Annotated[int, Field(ge=1, le=50)] = 20
    sample_size: Annotated[int, Field(ge=1)] = 2
    gamma: Annotated[float, Field(ge=0.0, le=1.0)] = 0.9
    replacement: bool = True
    seed: Annotated[int, Field(ge=0)] = 0

    @property
    def needs(self) -> frozenset[Signal]:
        """Atomic answers and relations, except for "sampling"."""
        if self.method == "sampling":
            return frozenset()
        return EVIDENCE

    def needs_for(self, documents: int) -> frozenset[Signal]:
        """Return the needed signals for a number of documents."""
        sampled = self.method == "auto" and documents > MOST_DOCUMENTS
        return frozenset() if sampled else self.needs

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Judge one snapshot.

        Raises EvidenceError if a needed signal is missing, or if "exact" gets more than 20
        documents.
        """
        if not evidence.documents:
            return concluded((), Abstention.NO_DOCUMENTS), state
        many = len(evidence.documents) > MOST_DOCUMENTS
        if many and self.method == "exact":
            raise EvidenceError(
                f"too many documents: the exact method of ReliabilityRAG takes {MOST_DOCUMENTS}, "
                f"got {len(evidence.documents)}"
            )
        if not self.needs or (many and self.method == "auto"):
            return (yield from self.defend_by_samples(evidence)), state
        documents = self.judge_documents(evidence)
        return (yield from answered_from_kept(evidence, documents)), state

    def judge_documents(self, evidence: Evidence) -> Documents:
        """Judge the documents by their atomic answers."""
        if evidence.answers is None or evidence.relations is None:
            raise EvidenceError("ReliabilityRAG needs atomic answers and relations between them")
        if not evidence.informative:
            return all_kept(evidence)
        chosen = self.choose(evidence.relations)
        reasons = [Reason.UNINFORMATIVE] * len(evidence.documents)
        for place, kept in zip(evidence.informative, chosen, strict=True):
            reasons[place] = Reason.SUPPORTED if kept else Reason.CONTRADICTED
        return judged(evidence, reasons, evidence.answers)

    def choose(self, relations: Relations) -> BoolArray:
        """Return the (n,) mask of the informative documents to trust."""
        return independent_set(self.edges(relations.contradiction))

    def edges(self, contradiction: NDArray[np.float64]) -> BoolArray:
        """Return the (n, n) joined pairs: the better answer, as premise, contradicts the worse."""
        contradicts = np.triu(contradiction >= self.contradiction_threshold, 1)
        return np.asarray(contradicts | contradicts.T)

    def defend_by_samples(self, evidence: Evidence) -> Asking[Verdict]:
        """Answer from the samples whose answers agree; abstain if no sample gives one."""
        rounds = yield from self.ask_samples(evidence)
        # An abstaining round would be a vertex without edges, in every largest set.
        informative = [r for r in rounds if not r.answer.abstained]
        if not informative:
            return concluded(judge_samples(evidence, rounds, ()), Abstention.NO_EVIDENCE)
        contradiction = yield from contradictions(evidence.query.text, informative)
        mask = independent_set(self.edges(contradiction), [r.drawn for r in informative])
        chosen = [r for r, taken in zip(informative, mask, strict=True) if taken]
        documents = judge_samples(evidence, rounds, chosen)
        return (yield from answered_from_kept(evidence, documents))

    def ask_samples(self, evidence: Evidence) -> Asking[list[Round]]:
        """Draw and answer the rounds, in the order of their ranks; equal ones are asked once.

        The best document of a round comes last in the prompt, nearest to the question.
        """
        samples = rank_samples(
            self.generator_for(evidence),
            rank_weights(len(evidence.documents), self.gamma),
            rounds=self.rounds,
            size=self.sample_size,
            replacement=self.replacement,
        )
        drawn = sorted(Counter(samples).items())
        requests = tuple(
            Complete(
                Task.ANSWER_FROM_DOCUMENTS,
                evidence.query.text,
                tuple(evidence.documents[i].passage for i in reversed(members)),
                final=False,
            )
            for members, _ in drawn
        )
        answers = yield from ask(CompleteAll(requests))
        return [
            Round(members, times, answer)
            for (members, times), answer in zip(drawn, answers, strict=True)
        ]

    def generator_for(self, evidence: Evidence) -> np.random.Generator:
        """Return a generator that depends on the seed and this snapshot only."""
        moment = f"{evidence.query.id}@{evidence.observed_at.timestamp()!r}"
        digest = sha256(moment.encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng((self.seed, int.from_bytes(digest)))


def contradictions(question: str, rounds: Sequence[Round]) -> Asking[NDArray[np.float64]]:
    """Return (n, n) P(answer i contradicts answer j) for i < j, else 0; ask equal pairs once."""
    rows, columns = np.triu_indices(len(rounds), 1)
    texts = [r.answer.text for r in rounds]
    pairs = [(texts[i], texts[j]) for i, j in zip(rows, columns, strict=True)]
    matrix = np.zeros((len(rounds), len(rounds)))
    if pairs:
        distinct = list(dict.fromkeys(pairs))
        premises, hypotheses = zip(*distinct, strict=True)
        related = yield from ask(Relate(question, premises, hypotheses))
        found = dict(zip(distinct, related[:, 2].tolist(), strict=True))
        matrix[rows, columns] = [found[pair] for pair in pairs]
    return matrix


def judge_samples(
    evidence: Evidence, rounds: Sequence[Round], chosen: Sequence[Round]
) -> Documents:
    """Return a verdict per document: kept if it was in a chosen round."""
    kept = {i for r in chosen for i in r.members}
    members = {i for r in rounds if not r.answer.abstained for i in r.members}
    drawn = {i for r in rounds for i in r.members}

    def reason(index: int) -> Reason:
        if index in kept:
            return Reason.SUPPORTED
        if index in members:
            return Reason.CONTRADICTED
        return Reason.UNINFORMATIVE if index in drawn else Reason.NOT_SAMPLED

    return judged(evidence, map(reason, range(len(evidence.documents))))
