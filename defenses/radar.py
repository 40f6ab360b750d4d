"""RADAR: exact selection of mutually consistent documents, with a memory of the last answer.

Read `Radar.defend` beside Algorithm 1 of the paper; `docs/radar.md` says what the paper leaves
open and what was chosen.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from defenses.kernels.belief import bayes
from defenses.kernels.centrality import eigenvector_centrality, rescaled
from defenses.kernels.min_cut import MinCut, flip_margins, min_cut
from defenses.kernels.relations import both_ways, symmetrise
from defenses.protocol import Complete, Defending, Embed, Relate, Request, Signal
from schemas.errors import EvidenceError
from schemas.evidence import AtomicAnswer, Evidence, FloatArray, Relations
from schemas.memory import Belief
from schemas.prompt import Task
from schemas.snapshot import STRICT
from schemas.verdict import (
    MEMORY_NODE,
    Abstention,
    DocumentVerdict,
    Edge,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)

BoolArray = NDArray[np.bool_]
NO_WEIGHT = 1e-12  # centralities that sum to less weigh every document alike


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The cut graph of one step.

    One node per informative document in rank order, numbered by rank, then MEMORY_NODE if there
    is a previous answer. `source`, `sink` are (n,), `pair` is (n, n) with a zero diagonal.
    """

    nodes: tuple[int, ...]
    texts: tuple[str, ...]
    source: FloatArray
    sink: FloatArray
    pair: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What the cut kept and what is finally `trusted`: (n,) mask over the graph's nodes."""

    graph: Graph
    cut: MinCut
    trusted: BoolArray


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Radar:
    """Min-cut over atomic answers, with a Bayesian memory node.

    From "RADAR: Defending RAG Dynamically against Retrieval Corruption" (Algorithm 1).

    Keeps the documents on the source side of a minimum s-t cut whose capacities come from how the
    atomic answers entail and contradict each other (Eq. 3-9), drops isolated ones (Eq. 10) and
    answers from the rest. From the second informative snapshot on, the previous answer is one
    more node with Bayesian terminal capacities (Eq. 11-16), and the answer is synthesised from
    atomic answers (Eq. 17).

    Parameters
    ----------
    epsilon, iterations, delta
        Self-loop, power steps and stabiliser of the centrality (Eq. 32-36).
    similarity_threshold
        lambda: least mean cosine to the other kept answers (Eq. 40), in [-1, 1].
    pair_scale
        Factor on every pairwise capacity; 1 is the paper's energy. Less resists relation scorers
        that see a little entailment everywhere.
    on_empty
        What to do when the cut keeps nothing.
    """

    epsilon: Annotated[float, Field(ge=0.0)] = 0.01
    iterations: Annotated[int, Field(ge=1)] = 10
    delta: Annotated[float, Field(gt=0.0)] = 1e-8
    similarity_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.3
    pair_scale: Annotated[float, Field(ge=0.0)] = 1.0
    on_empty: Literal["best_document", "all_informative", "abstain"] = "best_document"

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.ATOMIC_ANSWERS, Signal.RELATIONS})

    def initial_state(self) -> Belief | None:
        """No previous answer."""
        return None

    def defend(self, evidence: Evidence, state: Belief | None) -> Defending[Belief | None]:
        """Judge one snapshot (Algorithm 1, lines 4-24).

        The state moves only when there is a new answer. Raises EvidenceError when answers or
        relations are missing, or when a response is not what its request asked for.
        """
        question = evidence.query.text
        answers = informative_answers(evidence)
        if not answers:
            return verdict_without_evidence(evidence, state), state
        graph = self.build_graph(evidence, answers)
        if state is not None:
            consistency, conflict = yield from relate(question, state.answer, answers)
            graph = self.add_history(graph, state, consistency, conflict)

        cut = min_cut(graph.source, graph.sink, graph.pair)
        trusted = yield from self.drop_isolated(graph, self.select(graph, cut))
        selection = Selection(graph, cut, trusted)
        if not trusted.any():
            return verdict_on(evidence, state, selection, Abstention.NO_CONSENSUS), state

        if state is None:
            documents = trusted_passages(evidence, selection)
            answer = yield Complete(Task.ANSWER_FROM_DOCUMENTS, question, documents)
        else:
            claims = tuple(graph.texts[i] for i in np.flatnonzero(trusted))
            answer = yield Complete(Task.SYNTHESISE_ANSWERS, question, claims)
        if answer.abstained:
            return verdict_on(evidence, state, selection, Abstention.MODEL_ABSTAINED), state

        consistency, conflict = yield from relate(question, answer.text, answers)
        belief = Belief(answer.text, float(consistency.mean()), float(conflict.mean()))
        return verdict_on(evidence, state, selection, answer), belief

    def build_graph(self, evidence: Evidence, answers: tuple[str, ...]) -> Graph:
        """Nodes and capacities of the informative documents (lines 6-7; Eq. 6, 7, 29-36)."""
        relations = known_relations(evidence)
        ranks = tuple(evidence.documents[i].rank for i in evidence.informative)
        consistency = symmetrise(relations.entailment)
        raw = eigenvector_centrality(
            consistency, epsilon=self.epsilon, iterations=self.iterations, delta=self.delta
        )
        centrality = rescaled(raw, delta=self.delta)
        return Graph(
            nodes=ranks,
            texts=answers,
            source=keep_evidence(centrality, np.array(ranks), retrieved=len(evidence.documents)),
            sink=reject_evidence(symmetrise(relations.contradiction), centrality),
            pair=self.pair_scale * consistency,
        )

    def add_history(
        self, graph: Graph, state: Belief, consistency: FloatArray, conflict: FloatArray
    ) -> Graph:
        """Join the previous answer as the last node (line 9; Eq. 13-16).

        `consistency` and `conflict` are (n,): the previous answer against each document's.
        """
        n = len(graph.nodes)
        pair = np.zeros((n + 1, n + 1))
        pair[:n, :n] = graph.pair
        pair[n, :n] = pair[:n, n] = self.pair_scale * consistency
        support = bayes(state.support, float(consistency.mean()))
        refutation = bayes(state.conflict, float(conflict.mean()))
        return Graph(
            nodes=(*graph.nodes, MEMORY_NODE),
            texts=(*graph.texts, state.answer),
            source=np.append(graph.source, support),
            sink=np.append(graph.sink, refutation),
            pair=pair,
        )

    def select(self, graph: Graph, cut: MinCut) -> BoolArray:
        """The source side (line 12), or what `on_empty` says if that is empty; (n,) mask."""
        if cut.kept.any() or self.on_empty == "abstain":
            return cut.kept
        documents: BoolArray = np.array(graph.nodes) != MEMORY_NODE
        if self.on_empty == "all_informative":
            return documents
        best = np.argmax(np.where(documents, graph.source - graph.sink, -np.inf))
        fallback = np.zeros_like(documents)
        fallback[best] = True
        return fallback

    def drop_isolated(
        self, graph: Graph, selected: BoolArray
    ) -> Generator[Request, Any, BoolArray]:
        """Drop answers unlike the other selected ones (line 13; Eq. 37-40); (n,) mask.

        One pass. Keeps the selection when every answer would go.
        """
        members = np.flatnonzero(selected)
        if len(members) < 2:
            return selected
        response = yield Embed(tuple(graph.texts[i] for i in members))
        vectors = finite_rows("embeddings", response, len(members))
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, 0.0)
        means = cosines.sum(axis=1) / (len(members) - 1)
        agreeing = members[means >= self.similarity_threshold]
        if len(agreeing) == 0:
            return selected
        trusted = np.zeros_like(selected)
        trusted[agreeing] = True
        return trusted


def keep_evidence(centrality: FloatArray, ranks: NDArray[np.int_], *, retrieved: int) -> FloatArray:
    """S_i = centrality times exp(-rank / k) (Eq. 6).

    `ranks` are the original 1-based retrieval ranks, `retrieved` is k before any filtering.
    """
    return np.asarray(centrality * np.exp(-ranks / retrieved))


def reject_evidence(conflict: FloatArray, centrality: FloatArray) -> FloatArray:
    """F_i: mean contradiction with the others, weighted by their centrality (Eq. 7).

    Where the others have no centrality at all, the unweighted mean; 0 for a single document.
    """
    others = ~np.eye(len(centrality), dtype=np.bool_)
    weights = np.where(others, centrality, 0.0)
    weightless = weights.sum(axis=1) < NO_WEIGHT
    weights[weightless] = others[weightless]
    total = np.maximum(weights.sum(axis=1), NO_WEIGHT)
    return np.asarray((conflict * weights).sum(axis=1) / total)


def informative_answers(evidence: Evidence) -> tuple[str, ...]:
    """Atomic answers that say something, in rank order (line 5)."""
    if evidence.answers is None:
        raise EvidenceError("RADAR needs atomic answers, the evidence has none")
    return tuple(evidence.answers[i].text for i in evidence.informative)


def known_relations(evidence: Evidence) -> Relations:
    """The relations between the informative answers."""
    if evidence.relations is None:
        raise EvidenceError("RADAR needs relations between atomic answers, the evidence has none")
    return evidence.relations


def relate(
    question: str, answer: str, others: tuple[str, ...]
) -> Generator[Request, Any, tuple[FloatArray, FloatArray]]:
    """Consistency and conflict of `answer` with each of `others`, both (n,) (Eq. 29 and 30)."""
    n = len(others)
    repeated = (answer,) * n
    response = yield Relate(question, repeated + others, others + repeated)
    rows = finite_rows("relations", response, 2 * n)
    if rows.shape[1] != 3 or rows.min() < 0.0 or rows.max() > 1.0:
        raise EvidenceError("relations must be three probabilities a row")
    weights = both_ways(rows[:n], rows[n:])
    return weights[:, 0], weights[:, 2]


def finite_rows(name: str, response: Any, count: int) -> FloatArray:
    """A response as a (count, d) float64 matrix, d > 0. Raises EvidenceError otherwise."""
    rows = np.asarray(response, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EvidenceError(f"{name} must have {count} rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise EvidenceError(f"{name} hold a value that is not finite")
    return rows


def trusted_passages(evidence: Evidence, selection: Selection) -> tuple[str, ...]:
    """Trusted documents as a model reads them, in rank order."""
    nodes = zip(selection.graph.nodes, selection.trusted, strict=True)
    ranks = {rank for rank, trusted in nodes if trusted}
    return tuple(d.passage for d in evidence.documents if d.rank in ranks)


def verdict_without_evidence(evidence: Evidence, state: Belief | None) -> Verdict:
    """No document answers the question: the previous answer stands, if there is one."""
    documents = tuple(
        DocumentVerdict(d.rank, kept=False, reason=Reason.UNINFORMATIVE) for d in evidence.documents
    )
    if state is None:
        reason = Abstention.NO_EVIDENCE if documents else Abstention.NO_DOCUMENTS
        return Verdict("", documents, abstention=reason)
    memory = MemoryVerdict(MemoryDecision.NONE, state.answer, state.support, state.conflict)
    return Verdict(state.answer, documents, memory=memory)


def verdict_on(
    evidence: Evidence,
    state: Belief | None,
    selection: Selection,
    outcome: AtomicAnswer | Abstention,
) -> Verdict:
    """Everything needed to re-check the decision: capacities, labels, energy and margins."""
    graph, cut = selection.graph, selection.cut
    margins = flip_margins(cut.kept, graph.source, graph.sink, graph.pair)
    abstention = outcome if isinstance(outcome, Abstention) else None
    return Verdict(
        answer="" if isinstance(outcome, Abstention) else outcome.text,
        documents=document_verdicts(evidence, selection, margins),
        abstention=abstention,
        memory=memory_verdict(state, selection, margins),
        energy=cut.energy,
        edges=edges_of(graph),
    )


def document_verdicts(
    evidence: Evidence, selection: Selection, margins: FloatArray
) -> tuple[DocumentVerdict, ...]:
    """One verdict per document, in rank order."""
    graph, cut = selection.graph, selection.cut
    node_of = {rank: node for node, rank in enumerate(graph.nodes)}
    verdicts = []
    for document in evidence.documents:
        node = node_of.get(document.rank)
        if node is None:
            verdicts.append(DocumentVerdict(document.rank, False, Reason.UNINFORMATIVE))
            continue
        trusted = bool(selection.trusted[node])
        verdicts.append(
            DocumentVerdict(
                rank=document.rank,
                kept=trusted,
                reason=reason_for(bool(cut.kept[node]), trusted),
                atomic_answer=graph.texts[node],
                keep_evidence=float(graph.source[node]),
                reject_evidence=float(graph.sink[node]),
                margin=float(margins[node]),
            )
        )
    return tuple(verdicts)


def reason_for(source_side: bool, trusted: bool) -> Reason:
    """Why a document was trusted or not, from its side of the cut."""
    if source_side:
        return Reason.SUPPORTED if trusted else Reason.ISOLATED
    return Reason.BEST_OF_NONE if trusted else Reason.CUT


def memory_verdict(
    state: Belief | None, selection: Selection, margins: FloatArray
) -> MemoryVerdict:
    """The previous answer's side of the cut, its priors and its posterior capacities."""
    if state is None:
        return MemoryVerdict()
    retained = selection.cut.kept[-1]
    return MemoryVerdict(
        decision=MemoryDecision.RETAINED if retained else MemoryDecision.FALSIFIED,
        previous_answer=state.answer,
        support_prior=state.support,
        conflict_prior=state.conflict,
        support_posterior=float(selection.graph.source[-1]),
        conflict_posterior=float(selection.graph.sink[-1]),
        margin=float(margins[-1]),
    )


def edges_of(graph: Graph) -> tuple[Edge, ...]:
    """Every pair with a positive capacity, once."""
    rows, columns = np.nonzero(np.triu(graph.pair, 1))
    capacities = graph.pair[rows, columns]
    return tuple(
        Edge(graph.nodes[i], graph.nodes[j], capacity)
        for i, j, capacity in zip(rows.tolist(), columns.tolist(), capacities.tolist(), strict=True)
    )
