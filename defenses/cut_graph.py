"""The shared part of defences by minimum cut: graph, requests, selection and verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.answering import answers_of
from radarstream.defenses.kernels.min_cut import MinCut, flip_margins, min_cut
from radarstream.defenses.kernels.radar import both_ways
from radarstream.defenses.protocol import Asking, Embed, Relate, ask
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray, Relations
from radarstream.schemas.memory import Belief
from radarstream.schemas.verdict import (
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
# What a defence does if the minimum cut keeps no document.
OnEmpty = Literal["best_document", "all_informative", "abstain"]
EMPTY: Final[Mapping[int, Reason]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The cut graph of one step.

    `nodes` are the ranks of the informative documents, ascending, then MEMORY_NODE if there is a
    previous answer. `source` and `sink` are (n,), `pair` and `conflict` (n, n) with a zero
    diagonal; `conflict` is how far two answers contradict each other.
    """

    nodes: tuple[int, ...]
    texts: tuple[str, ...]
    source: FloatArray
    sink: FloatArray
    pair: FloatArray
    conflict: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Recalled:
    """The previous answer, and how far each document agrees and conflicts with it, (n,)."""

    state: Belief
    consistency: FloatArray
    conflict: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The cut, and the finally `trusted` nodes of the graph, a (n,) mask."""

    graph: Graph
    cut: MinCut
    trusted: BoolArray


def informative_answers(evidence: Evidence) -> tuple[str, ...]:
    """Return the texts of the informative atomic answers, in rank order."""
    answers = answers_of(evidence)
    return tuple(answers[i].text for i in evidence.informative)


def known_relations(evidence: Evidence) -> Relations:
    """Return the relations. Raises EvidenceError if they are missing."""
    if evidence.relations is None:
        raise EvidenceError("relations between atomic answers are needed, the evidence has none")
    return evidence.relations


def relate(
    question: str, answer: str, others: tuple[str, ...]
) -> Asking[tuple[FloatArray, FloatArray]]:
    """Return consistency and conflict of `answer` with n `others`, both (n,) (RADAR, Eq. 29-30)."""
    n = len(others)
    repeated = (answer,) * n
    rows = yield from ask(Relate(question, repeated + others, others + repeated))
    weights = both_ways(rows[:n], rows[n:])
    return weights[:, 0], weights[:, 2]


def with_memory(
    graph: Graph, recalled: Recalled, source: float, sink: float, pairs: FloatArray
) -> Graph:
    """Add the previous answer as the last node; `pairs` are its (n,) pair capacities."""

    def bordered(matrix: FloatArray, last: FloatArray) -> FloatArray:
        return np.block([[matrix, last[:, np.newaxis]], [last, np.zeros(1)]])

    return Graph(
        nodes=(*graph.nodes, MEMORY_NODE),
        texts=(*graph.texts, recalled.state.answer),
        source=np.append(graph.source, source),
        sink=np.append(graph.sink, sink),
        pair=bordered(graph.pair, pairs),
        conflict=bordered(graph.conflict, recalled.conflict),
    )


def select(graph: Graph, on_empty: OnEmpty, similarity_threshold: float) -> Asking[Selection]:
    """Compute the minimum cut or its fallback, and drop answers that are unlike the others."""
    cut = min_cut(graph.source, graph.sink, graph.pair)
    selected = source_side(graph, cut, on_empty)
    trusted = yield from _drop_isolated(graph.texts, selected, similarity_threshold)
    return Selection(graph, cut, trusted)


def source_side(graph: Graph, cut: MinCut, on_empty: OnEmpty) -> BoolArray:
    """Return the source side of the cut, or the fallback `on_empty` if it is empty; (n,) mask."""
    if cut.kept.any() or on_empty == "abstain":
        return cut.kept
    documents: BoolArray = np.array(graph.nodes) != MEMORY_NODE
    if on_empty == "all_informative":
        return documents
    fallback = np.zeros_like(documents)
    margins = graph.source - graph.sink
    fallback[np.argmax(np.where(documents, margins, -np.inf))] = True
    return fallback


def _drop_isolated(
    texts: tuple[str, ...], selected: BoolArray, threshold: float
) -> Asking[BoolArray]:
    """Drop answers that are unlike the other selected ones (RADAR, Eq. 37-40); (n,) mask.

    In one pass, an answer stays if its mean cosine to the others is at least `threshold`. If none
    would stay, all do. A threshold of -1 drops none and needs no embeddings.
    """
    members = np.flatnonzero(selected)
    if len(members) < 2 or threshold <= -1.0:
        return selected
    vectors = yield from ask(Embed(tuple(texts[i] for i in members)))
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, 0.0)
    means = cosines.sum(axis=1) / (len(members) - 1)
    agreeing = members[means >= threshold]
    if len(agreeing) == 0:
        return selected
    trusted = np.zeros_like(selected)
    trusted[agreeing] = True
    return trusted


def trusted_passages(evidence: Evidence, selection: Selection) -> tuple[str, ...]:
    """Return the passages of the trusted documents, in rank order."""
    nodes = zip(selection.graph.nodes, selection.trusted, strict=True)
    ranks = {rank for rank, trusted in nodes if trusted}
    return tuple(d.passage for d in evidence.documents if d.rank in ranks)


def verdict_without_cut(
    evidence: Evidence,
    state: Belief | None,
    outcome: AtomicAnswer | Abstention,
    voiceless: Mapping[int, Reason] = EMPTY,
) -> Verdict:
    """Return the verdict if no document is a node; `voiceless` as in `verdict_on`."""
    documents = tuple(
        _not_judged(evidence, place, voiceless) for place in range(len(evidence.documents))
    )
    memory = MemoryVerdict()
    if state is not None:
        memory = MemoryVerdict(MemoryDecision.NONE, state.answer, state.support, state.conflict)
    return _verdict(outcome, documents, memory)


def verdict_on(
    evidence: Evidence,
    recalled: Recalled | None,
    selection: Selection,
    outcome: AtomicAnswer | Abstention,
    voiceless: Mapping[int, Reason] = EMPTY,
) -> Verdict:
    """Return the verdict with capacities, labels, energy and margins, to check it again.

    `voiceless` has the reasons of documents that have an answer and are not nodes, by place.
    """
    graph, cut = selection.graph, selection.cut
    margins = flip_margins(cut.kept, graph.source, graph.sink, graph.pair)
    documents = _document_verdicts(evidence, selection, margins, voiceless)
    return replace(
        _verdict(outcome, documents, _memory_verdict(recalled, selection, margins)),
        energy=cut.energy,
        edges=_edges_of(graph.nodes, graph.pair),
        conflicts=_edges_of(graph.nodes, graph.conflict),
    )


def _verdict(
    outcome: AtomicAnswer | Abstention,
    documents: tuple[DocumentVerdict, ...],
    memory: MemoryVerdict,
) -> Verdict:
    if isinstance(outcome, Abstention):
        return Verdict("", documents, abstention=outcome, memory=memory)
    return Verdict(outcome.text, documents, memory=memory)


def _not_judged(evidence: Evidence, place: int, voiceless: Mapping[int, Reason]) -> DocumentVerdict:
    rank = evidence.documents[place].rank
    if place not in voiceless:
        return DocumentVerdict(rank, False, Reason.UNINFORMATIVE)
    text = answers_of(evidence)[place].text
    return DocumentVerdict(rank, False, voiceless[place], atomic_answer=text)


def _document_verdicts(
    evidence: Evidence, selection: Selection, margins: FloatArray, voiceless: Mapping[int, Reason]
) -> tuple[DocumentVerdict, ...]:
    graph = selection.graph
    values = zip(graph.source.tolist(), graph.sink.tolist(), margins.tolist(), strict=True)
    judged = dict(zip(graph.nodes, enumerate(values), strict=True))
    verdicts = []
    for place, document in enumerate(evidence.documents):
        if document.rank not in judged:
            verdicts.append(_not_judged(evidence, place, voiceless))
            continue
        node, (keep_evidence, reject_evidence, margin) = judged[document.rank]
        verdicts.append(
            DocumentVerdict(
                rank=document.rank,
                kept=bool(selection.trusted[node]),
                reason=_reason_for(selection, node),
                atomic_answer=graph.texts[node],
                keep_evidence=keep_evidence,
                reject_evidence=reject_evidence,
                margin=margin,
            )
        )
    return tuple(verdicts)


def _reason_for(selection: Selection, node: int) -> Reason:
    """Say why a document is trusted or not."""
    trusted = selection.trusted[node]
    if not selection.cut.kept[node]:
        return Reason.BEST_OF_NONE if trusted else Reason.CUT
    return Reason.SUPPORTED if trusted else Reason.ISOLATED


def _memory_verdict(
    recalled: Recalled | None, selection: Selection, margins: FloatArray
) -> MemoryVerdict:
    """Return the side of the previous answer, its priors and its posterior capacities."""
    if recalled is None:
        return MemoryVerdict()
    graph, state = selection.graph, recalled.state
    retained = selection.cut.kept[-1]
    return MemoryVerdict(
        decision=MemoryDecision.RETAINED if retained else MemoryDecision.FALSIFIED,
        previous_answer=state.answer,
        support_prior=state.support,
        conflict_prior=state.conflict,
        support_posterior=float(graph.source[-1]),
        conflict_posterior=float(graph.sink[-1]),
        margin=float(margins[-1]),
    )


def _edges_of(nodes: tuple[int, ...], pair: FloatArray) -> tuple[Edge, ...]:
    """Return every pair of nodes with a positive value, once."""
    rows, columns = np.nonzero(np.triu(pair, 1))
    named, values = np.array(nodes), pair[rows, columns]
    return tuple(zip(named[rows].tolist(), named[columns].tolist(), values.tolist(), strict=True))
