"""ReliabilityRAG: the largest set of documents that do not contradict each other.

Read `ReliabilityRag.choose`: exact selection among the documents' own answers; or
`ReliabilityRag.defend_by_samples`: the same selection among answers from random samples.
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

MOST_DOCUMENTS = 20  # for the exact method, as its authors limit it; above, documents are sampled


@dataclass(frozen=True, slots=True)
class Round:
    """An answer from some of the documents: their indices, ascending, and how often drawn."""

    members: tuple[int, ...]
    drawn: int
    answer: AtomicAnswer


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ReliabilityRag(Stateless):
    """Rank-aware maximum independent set of the contradiction graph, or of a graph of samples.

    From "ReliabilityRAG: Effective and Provably Robust Defense for RAG-based Web-Search"
    (arXiv:2509.23519, Algorithm 1 and the sampling framework of its section on scaling); where
    the paper is silent, as in its published code.

    Two documents are joined when the answer of the better ranked one contradicts the other's at
    least `contradiction_threshold` probably, in this direction alone. Of the largest sets without
    a joined pair, the one whose ranks come first in lexicographic order answers. When no document
    answers the question by itself, all are passed on.

    Parameters
    ----------
    method
        "exact": the set above, for at most 20 documents. "sampling": `rounds` answers from
        `sample_size` documents each are selected among in place of documents, and the documents
        behind those selected answer; better ranks are drawn more often. "auto": exact up to 20
        documents, sampling above.

        Sampling needs no signals. "auto" declares those of "exact", because how many
        documents come is not known beforehand. Who always has more than 20 saves an atomic answer
        per document by saying "sampling"; who knows how many asks `needs_for`.
    contradiction_threshold
        beta, in [0, 1].
    rounds, sample_size
        T and m.
    gamma
        Weight of a rank relative to the one before, in [0, 1]; 0 stands for linear weights.
    replacement
        Whether a round may draw a document twice; it is shown once.
    seed
        Draws depend on it, on the query's id and on the time of the observation alone.
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
        """None for sampling."""
        if self.method == "sampling":
            return frozenset()
        return EVIDENCE

    def needs_for(self, documents: int) -> frozenset[Signal]:
        """Those for a snapshot of so many documents."""
        sampled = self.method == "auto" and documents > MOST_DOCUMENTS
        return frozenset() if sampled else self.needs

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Judge one snapshot.

        Raises EvidenceError when a needed signal is missing or "exact" is asked to judge more
        than 20 documents.
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
        """One verdict per document, from what each says alone."""
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
        """(n,) mask of the informative documents to trust."""
        return independent_set(self.edges(relations.contradiction))

    def edges(self, contradiction: NDArray[np.float64]) -> BoolArray:
        """(n, n) whom each is joined to: the better answer, as premise, contradicts the worse."""
        contradicts = np.triu(contradiction >= self.contradiction_threshold, 1)
        return np.asarray(contradicts | contradicts.T)

    def defend_by_samples(self, evidence: Evidence) -> Asking[Verdict]:
        """Answer from the samples whose answers agree; abstains when no sample gives one."""
        rounds = yield from self.ask_samples(evidence)
        informative = [r for r in rounds if not r.answer.abstained]
        # An abstaining round would be a vertex without edges: in every largest set, to no effect.
        if not informative:
            return concluded(judge_samples(evidence, rounds, ()), Abstention.NO_EVIDENCE)
        contradiction = yield from contradictions(evidence.query.text, informative)
        mask = independent_set(self.edges(contradiction), [r.drawn for r in informative])
        chosen = [r for r, taken in zip(informative, mask, strict=True) if taken]
        documents = judge_samples(evidence, rounds, chosen)
        return (yield from answered_from_kept(evidence, documents))

    def ask_samples(self, evidence: Evidence) -> Asking[list[Round]]:
        """Draw and answer the rounds, in the order of their ranks; equal ones are asked once.

        A round's best document comes last in the prompt, nearest to the question.
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
        """Random numbers of this snapshot alone, whatever was judged before."""
        moment = f"{evidence.query.id}@{evidence.observed_at.timestamp()!r}"
        digest = sha256(moment.encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng((self.seed, int.from_bytes(digest)))


def contradictions(question: str, rounds: Sequence[Round]) -> Asking[NDArray[np.float64]]:
    """(n, n) P(answer i contradicts answer j) for i < j, else 0; equal pairs are related once."""
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
    """One verdict per document: kept if it was in a chosen round."""
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
