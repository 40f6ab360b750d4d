"""Checks the minimum cut of an answer event: capacities, energy and verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.cut_graph import Graph, Recalled
from radarstream.defenses.kernels.min_cut import energy, flip_margins, min_cut
from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck.checks import TOLERANCE, Check, Outcome, check_of
from radarstream.defenses.tally import Tally
from radarstream.defenses.voices import Voices
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT, AtomicAnswer, Evidence, Relations
from radarstream.schemas.memory import Belief
from radarstream.schemas.snapshot import Document, Query
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    SILENT,
    SOURCE_SIDE,
    TORN,
    VOICELESS,
    Abstention,
    DocumentVerdict,
    Edge,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RecordedGraph(Graph):
    """The cut graph of a verdict, with the margin of each node and whether it is kept, (n,)."""

    conflict: FloatArray
    margins: FloatArray
    kept: NDArray[np.bool_]


def cut_checks(event: AnswerEvent, defense: Any) -> tuple[Check, ...]:
    """Check that the energy follows from sides and capacities, and the verdict from capacities,
    ranks and options.
    """
    if isinstance(defense, Radar | Voices):
        kept = f"{sum(document.kept for document in event.seen)} of {len(event.seen)} kept"
        flaws = verdict_flaws(event, defense)
        return (
            check_of("energy", energy_flaws(event.verdict), f"{event.verdict.energy}"),
            check_of("verdict", flaws, kept),
        )
    outcome = Outcome.WRONG if has_cut(event.verdict) else Outcome.ABSENT
    return tuple(Check(name, outcome, "no graph was cut") for name in ("energy", "verdict"))


def has_cut(verdict: Verdict) -> bool:
    """Whether a verdict has a value that only a cut gives."""
    memory = verdict.memory
    values = [memory.support_posterior, memory.conflict_posterior, memory.margin, verdict.energy]
    for document in verdict.documents:
        values += [document.keep_evidence, document.reject_evidence, document.margin]
    return bool(verdict.edges or verdict.conflicts) or any(value is not None for value in values)


def recorded_graph(verdict: Verdict) -> RecordedGraph:
    """Return the graph of a verdict. Raises ValueError if it is incomplete."""
    judged = [document for document in verdict.documents if answers(document)]
    rows = [row_of(document) for document in judged]
    memory = verdict.memory
    nodes = [document.rank for document in judged]
    texts = [document.atomic_answer or "" for document in judged]
    held = (memory.support_posterior, memory.conflict_posterior, memory.margin)
    if (memory.decision is MemoryDecision.NONE) != (held == (None, None, None)):
        raise ValueError("the memory is only partly judged")
    if memory.decision is not MemoryDecision.NONE:
        nodes.append(MEMORY_NODE)
        texts.append(memory.previous_answer or "")
        rows.append((*held, memory.decision is MemoryDecision.RETAINED))
    if any(None in row for row in rows):
        raise ValueError("a node lacks a capacity or its margin")
    source, sink, margins, kept = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    pair, conflict = matrix_of(nodes, verdict.edges), matrix_of(nodes, verdict.conflicts)
    return RecordedGraph(
        tuple(nodes), tuple(texts), source, sink, pair, conflict, margins, kept > 0.0
    )


def matrix_of(nodes: Sequence[int], edges: Sequence[Edge]) -> FloatArray:
    """Return the edges as a (n, n) matrix. Raises ValueError if they are not in strict order."""
    place = {node: index for index, node in enumerate(nodes)}
    order = [(place[one], place[other]) for one, other, _ in edges]
    if order != sorted(set(order)) or any(a >= b for a, b in order):
        raise ValueError("edges are not in order")
    matrix = np.zeros((len(nodes), len(nodes)))
    for (a, b), (*_, value) in zip(order, edges, strict=True):
        matrix[a, b] = matrix[b, a] = value
    return matrix


def answers(document: DocumentVerdict) -> bool:
    """Whether a document is a node. Raises ValueError if its values disagree about that."""
    held = (document.keep_evidence, document.reject_evidence, document.margin)
    judged = held != (None, None, None)
    if document.reason in VOICELESS and judged:
        raise ValueError(f"document {document.rank} has no voice, and was judged")
    silenced = document.reason in TORN or document.reason in VOICELESS
    if judged != (document.atomic_answer is not None) and (judged or not silenced):
        raise ValueError(f"document {document.rank} is only partly judged")
    return judged


def row_of(document: DocumentVerdict) -> tuple[float | None, float | None, float | None, bool]:
    """Return capacities, margin and side of a document."""
    side = document.reason in SOURCE_SIDE
    return document.keep_evidence, document.reject_evidence, document.margin, side


def energy_flaws(verdict: Verdict) -> Iterator[str]:
    """Yield an error if the energy is not E(y) of the recorded sides and capacities."""
    graph = recorded_graph(verdict)
    if not graph.nodes or graph.nodes == (MEMORY_NODE,):
        if has_cut(verdict):
            yield "no document was judged"
        return
    found = energy(graph.kept, graph.source, graph.sink, graph.pair)
    if verdict.energy is None or abs(found - verdict.energy) > TOLERANCE * max(1.0, abs(found)):
        yield f"{verdict.energy} is recorded, {found:.6f} computed"


def verdict_flaws(event: AnswerEvent, defense: Radar | Voices) -> Iterator[str]:
    """Yield where the verdict does not follow from capacities, ranks and options."""
    verdict = event.verdict
    graph = recorded_graph(verdict)
    if verdict.energy is None:
        yield from without_evidence(event)
        return
    if verdict.memory.previous_answer is None and MEMORY_NODE in graph.nodes:
        yield "a memory without an answer was judged"
    if verdict.memory.previous_answer is not None and MEMORY_NODE not in graph.nodes:
        yield "the memory was not judged"
    cut = min_cut(graph.source, graph.sink, graph.pair)
    found = energy(graph.kept, graph.source, graph.sink, graph.pair)
    if found > cut.energy + cut.error_bound + TOLERANCE:
        yield f"a cut of energy {cut.energy:.6f} exists, the recorded one has {found:.6f}"
    margins = flip_margins(graph.kept, graph.source, graph.sink, graph.pair)
    if np.abs(margins - graph.margins).max(initial=0.0) > TOLERANCE:
        yield "a margin is not what its capacities say"
    if isinstance(defense, Radar):
        yield from radar_flaws(event, defense, graph)
    else:
        yield from voices_flaws(event, graph)


def radar_flaws(event: AnswerEvent, defense: Radar, graph: RecordedGraph) -> Iterator[str]:
    """Yield where capacities are not those of Eq. 6, 7 and 13-16, or the fallback is wrong."""
    if defense.pair_scale:
        expected = judged_again(event, defense, graph)
        yield from unlike("keep-evidence", graph, expected.source - graph.source)
        yield from unlike("reject-evidence", graph, expected.sink - graph.sink)
    yield from fallback(event, defense, graph)


def voices_flaws(event: AnswerEvent, graph: RecordedGraph) -> Iterator[str]:
    """Yield where capacities are not counts of sites, or those of the answer are not its support.

    Copies are unknown without the pages, so that the number of voices that agree is an upper bound.
    """
    size = sum(node != MEMORY_NODE for node in graph.nodes)
    agree = (graph.pair[:size, :size] * size >= AGREEMENT - TOLERANCE) | np.eye(
        size, dtype=np.bool_
    )
    against = graph.conflict[:size, :size] >= AGREEMENT - TOLERANCE
    alone = np.eye(size, dtype=np.bool_)
    tally = Tally(tuple(range(size)), (), (), alone, agree, against)
    support, answer = event.support, event.verdict.weighed
    if support is None or event.status is AnswerStatus.REMEMBERED:
        answer = None
    texts = graph.texts[:size] if event.abstention else graph.texts
    if event.withstand is not None and answer is not None and answer not in texts:
        yield f"nobody says {answer!r}"
    sites = np.stack((graph.source, graph.sink), axis=1)[:size] * size
    for node, text, found, most in zip(graph.nodes, graph.texts, sites, tally.counts, strict=False):
        whole = np.round(found)
        if np.abs(found - whole).max() > TOLERANCE * size or (whole > most).any():
            yield f"the capacities of {node} are not counts of sites"
        counts = support and [support.sites_for, support.rival_sites]
        if text == answer and whole.tolist() != counts:
            yield f"the capacities of {node} are not the support of its answer"
    for node in graph.nodes[size:]:
        if graph.source[-1] * size > 1.0 + TOLERANCE:
            yield f"node {node} has more than one voice"
    if any(document.reason is Reason.BEST_OF_NONE for document in event.seen):
        yield "there is no fallback"


def unlike(name: str, graph: RecordedGraph, difference: FloatArray) -> Iterator[str]:
    """Yield the nodes whose capacity has a (n,) difference to the computed one."""
    for node in np.array(graph.nodes)[np.abs(difference) > TOLERANCE].tolist():
        yield f"{name} of {node} is not what edges, conflicts and ranks say"


def without_evidence(event: AnswerEvent) -> Iterator[str]:
    """Yield impossible values if no document answers: the previous answer, if any, is given."""
    previous, why = event.verdict.memory.previous_answer, Abstention.NO_DOCUMENTS
    if event.seen:
        why = Abstention.NO_EVIDENCE
    if any(document.reason in TORN for document in event.seen):
        why = Abstention.NO_CONSENSUS
    given = previous is not None and event.answer == previous and event.abstention is None
    faded = event.withstand is not None or previous is None  # or there was none
    if not given and not (faded and (event.answer, event.abstention) == ("", why)):
        yield "no document answers, and the previous answer is not given"
    if any(document.reason not in {*SILENT, *TORN, *VOICELESS} for document in event.seen):
        yield "a document was judged"


def judged_again(event: AnswerEvent, defense: Radar, graph: RecordedGraph) -> Graph:
    """Let the defence build the graph from the recorded edges and conflicts."""
    n = sum(node != MEMORY_NODE for node in graph.nodes)
    with np.errstate(over="ignore"):  # by an absurd scale
        consistency = np.minimum(graph.pair / defense.pair_scale, 1.0)
    evidence = Evidence(
        Query(event.query_id, event.question),
        event.observed_at,
        tuple(Document(d.rank, "") for d in event.seen),
        tuple(AtomicAnswer(d.atomic_answer or "", d.atomic_answer is None) for d in event.seen),
        Relations(consistency[:n, :n], graph.conflict[:n, :n]),
    )
    recalled = recalled_of(event.verdict.memory, consistency[n:, :n], graph.conflict[n:, :n])
    return defense.build_graph(evidence, graph.texts[:n], recalled)


def recalled_of(
    memory: MemoryVerdict, consistency: FloatArray, conflict: FloatArray
) -> Recalled | None:
    """Return the previous answer with its relations to n documents, given as (0 or 1, n)."""
    if not len(consistency):
        return None
    if memory.support_prior is None or memory.conflict_prior is None:
        raise ValueError("the memory has no priors")
    state = Belief(memory.previous_answer or "", memory.support_prior, memory.conflict_prior)
    return Recalled(state, consistency[0], conflict[0])


def fallback(event: AnswerEvent, defense: Radar, graph: RecordedGraph) -> Iterator[str]:
    """Yield where the fallback for an empty cut is wrong, or used for another cut."""
    best = [d.rank for d in event.seen if d.reason is Reason.BEST_OF_NONE]
    if best and (graph.kept.any() or defense.on_empty == "abstain"):
        yield f"a fallback keeps document {best[0]}"
    elif not graph.kept.any() and defense.on_empty == "best_document":
        documents = graph.source - graph.sink
        nodes = np.array(graph.nodes)
        if best != [nodes[np.argmax(np.where(nodes == MEMORY_NODE, -np.inf, documents))]]:
            yield "the document with the best margin is not kept"
    trusted = event.verdict.memory.decision is MemoryDecision.RETAINED or bool(
        event.verdict.kept_ranks
    )
    if trusted == (event.abstention is Abstention.NO_CONSENSUS):
        yield f"{event.abstention or 'an answer'} does not follow from what was kept"
