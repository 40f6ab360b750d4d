"""Checks the cut of an answer event: its energy and its verdict."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.min_cut import energy, flip_margins, min_cut
from radarstream.defenses.recheck.checks import Check, Outcome
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.verdict import MEMORY_NODE, SOURCE_SIDE, MemoryDecision, Reason, Verdict

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RecordedGraph:
    """The cut graph that a verdict records, and the side of each node; (n,), (n, n) for `pair`."""

    nodes: tuple[int, ...]
    source: FloatArray
    sink: FloatArray
    pair: FloatArray
    margins: FloatArray
    kept: NDArray[np.bool_]


def cut_checks(event: AnswerEvent) -> tuple[Check, Check]:
    """Whether energy and verdict follow from the recorded capacities."""
    verdict, (energy_check, verdict_check) = event.verdict, _graph_checks(event.verdict)
    if (event.answer, event.abstention) != (verdict.answer, verdict.abstention):
        verdict_check = Check("verdict", Outcome.WRONG, "the answer is not the verdict's")
    return energy_check, verdict_check


def recorded_graph(verdict: Verdict) -> RecordedGraph | None:
    """The graph of a verdict; None where its defence cut none. Raises ValueError if it is torn."""
    if verdict.energy is None:
        return None
    rows = [
        (
            d.rank,
            d.keep_evidence,
            d.reject_evidence or 0.0,
            d.margin or 0.0,
            d.reason in SOURCE_SIDE,
        )
        for d in verdict.documents
        if d.keep_evidence is not None
    ]
    memory = verdict.memory
    if memory.support_posterior is not None:
        retained = memory.decision is MemoryDecision.RETAINED
        conflict, margin = memory.conflict_posterior or 0.0, memory.margin or 0.0
        rows.append((MEMORY_NODE, memory.support_posterior, conflict, margin, retained))
    place = {node: index for index, (node, *_) in enumerate(rows)}
    pair = np.zeros((len(rows), len(rows)))
    for one, other, capacity in verdict.edges:
        if one not in place or other not in place:
            raise ValueError(f"an edge joins {one} and {other}, which are not both judged")
        a, b = place[one], place[other]
        pair[a, b] = pair[b, a] = capacity
    return RecordedGraph(
        nodes=tuple(place),
        source=np.array([row[1] for row in rows], dtype=np.float64),
        sink=np.array([row[2] for row in rows], dtype=np.float64),
        pair=pair,
        margins=np.array([row[3] for row in rows], dtype=np.float64),
        kept=np.array([row[4] for row in rows], dtype=np.bool_),
    )


def _graph_checks(verdict: Verdict) -> tuple[Check, Check]:
    try:
        graph = recorded_graph(verdict)
        if graph is None:
            absent = "the defence cuts no graph"
            return Check("energy", Outcome.ABSENT, absent), Check("verdict", Outcome.ABSENT, absent)
        return _energy_check(verdict, graph), _verdict_check(verdict, graph)
    except (ValueError, ArithmeticError) as error:  # of capacities that no graph can have
        torn = str(error)
        return Check("energy", Outcome.WRONG, torn), Check("verdict", Outcome.WRONG, torn)


def _energy_check(verdict: Verdict, graph: RecordedGraph) -> Check:
    """E(y) from the recorded sides and capacities."""
    found = energy(graph.kept, graph.source, graph.sink, graph.pair)
    recorded = verdict.energy or 0.0
    if abs(found - recorded) > TOLERANCE * max(1.0, abs(found)):
        return Check("energy", Outcome.WRONG, f"{recorded:.6f} is recorded, {found:.6f} computed")
    return Check("energy", Outcome.RIGHT, f"{found:.6f}")


def _verdict_check(verdict: Verdict, graph: RecordedGraph) -> Check:
    """Whether the recorded sides are a minimum cut, and documents were kept as it says."""
    cut = min_cut(graph.source, graph.sink, graph.pair)
    found = energy(graph.kept, graph.source, graph.sink, graph.pair)
    if found > cut.energy + cut.error_bound + TOLERANCE:
        detail = f"a cut of energy {cut.energy:.6f} exists, the recorded one has {found:.6f}"
        return Check("verdict", Outcome.WRONG, detail)
    margins = flip_margins(graph.kept, graph.source, graph.sink, graph.pair)
    if np.abs(margins - graph.margins).max(initial=0.0) > TOLERANCE:
        return Check("verdict", Outcome.WRONG, "a margin is not what its capacities say")
    trusted = (Reason.SUPPORTED, Reason.BEST_OF_NONE)
    for document in verdict.documents:
        if document.keep_evidence is not None and document.kept != (document.reason in trusted):
            detail = f"document {document.rank} is {document.reason} and kept is {document.kept}"
            return Check("verdict", Outcome.WRONG, detail)
    if graph.kept.any() and any(d.reason is Reason.BEST_OF_NONE for d in verdict.documents):
        return Check("verdict", Outcome.WRONG, "a fallback answers though the cut kept something")
    return Check("verdict", Outcome.RIGHT, f"{int(graph.kept.sum())} of {len(graph.nodes)} kept")
