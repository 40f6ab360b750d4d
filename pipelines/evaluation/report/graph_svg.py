"""A step's cut graph as inline SVG: keep side left, cut side right, severed edges red.

The layout is a function of the verdict alone: nodes in rank order, the memory last.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from markupsafe import Markup

from pipelines.evaluation.report.safe_text import shorten
from pipelines.evaluation.report.step_view import StepView, source_side
from pipelines.evaluation.report.svg import element, group, number
from schemas.verdict import MEMORY_NODE, Edge, MemoryDecision, Reason

WIDTH = 780
LEFT, MIDDLE, RIGHT = 270, 390, 510
TOP = 46
MAX_EDGES = 160
FAINTEST = 0.02  # share of the strongest edge below which an edge is not drawn
WIDTHS = 4  # classes of line width


@dataclass(frozen=True, slots=True)
class Node:
    """A document or the memory, placed."""

    number: int
    text: str
    keep_evidence: float | None
    reject_evidence: float | None
    kept: bool
    planted: bool
    on_left: bool
    y: float

    @property
    def x(self) -> int:
        """Column of the node's centre."""
        return LEFT if self.on_left else RIGHT


def cut_graph(step: StepView) -> Markup | None:
    """Drawing of the step's cut, or None where the defence cut no graph."""
    if step.energy is None or not any(row.keep_evidence is not None for row in step.documents):
        return None
    nodes, height, dense = _place(step)
    drawn, skipped = _choose_edges(step.event.verdict.edges)
    parts = [
        *_frame(height, step, skipped),
        *_edges(drawn, nodes),
        *(_node(node, dense) for node in nodes.values()),
    ]
    return element(
        "svg",
        *parts,
        class_="cut-graph",
        role="img",
        aria_label=_description(step, nodes.values()),
        viewBox=f"0 0 {WIDTH} {number(height)}",
        width=WIDTH,
        height=number(height),
    )


def _place(step: StepView) -> tuple[dict[int, Node], float, bool]:
    """Nodes by number, drawing height, and whether rows are too many for evidence bars."""
    members = list(_members(step))
    left = source_side(step.event.verdict)
    most = max(sum(m[0] in left for m in members), sum(m[0] not in left for m in members))
    dense = most > 16
    pitch = 17.0 if dense else 36.0
    height = TOP + most * pitch + 30
    nodes = {}
    for side in (True, False):
        column = [member for member in members if (member[0] in left) == side]
        offset = TOP + (most - len(column)) * pitch / 2 + pitch / 2
        for row, (name, text, keep, reject, kept, planted) in enumerate(column):
            y = offset + row * pitch
            nodes[name] = Node(name, text, keep, reject, kept, planted, side, y)
    return nodes, height, dense


def _members(
    step: StepView,
) -> Iterator[tuple[int, str, float | None, float | None, bool, bool]]:
    reasons = {document.rank: document.reason for document in step.event.verdict.documents}
    for row in step.documents:
        if reasons[row.rank] is not Reason.UNINFORMATIVE:
            yield (
                row.rank,
                row.atomic_answer or "",
                row.keep_evidence,
                row.reject_evidence,
                row.kept,
                bool(row.attack),
            )
    memory = step.memory
    if memory.decision is not MemoryDecision.NONE:
        yield (
            MEMORY_NODE,
            memory.previous_answer or "",
            memory.support_posterior,
            memory.conflict_posterior,
            memory.decision is MemoryDecision.RETAINED,
            False,
        )


def _choose_edges(edges: Sequence[Edge]) -> tuple[list[Edge], int]:
    """The strongest edges worth ink, and how many were left out."""
    strongest = max((edge.capacity for edge in edges), default=0.0)
    visible = [edge for edge in edges if edge.capacity > FAINTEST * strongest]
    visible.sort(key=lambda edge: (-edge.capacity, edge.a, edge.b))
    return visible[:MAX_EDGES], len(edges) - min(len(visible), MAX_EDGES)


def _edges(edges: Iterable[Edge], nodes: dict[int, Node]) -> Iterator[Markup]:
    """One path per kind and width: fifty documents stay a handful of elements."""
    edges = [edge for edge in edges if edge.a in nodes and edge.b in nodes]
    full = max((edge.capacity for edge in edges), default=1.0)
    paths: dict[tuple[bool, int], list[str]] = defaultdict(list)
    for edge in edges:
        a, b = nodes[edge.a], nodes[edge.b]
        width = min(WIDTHS, max(1, ceil(WIDTHS * edge.capacity / full)))
        paths[a.on_left != b.on_left, width].append(_curve(a, b))
    for (severed, width), curves in sorted(paths.items()):
        kind = "severed" if severed else "held"
        yield element("path", d="".join(curves), class_=f"edge {kind} w{width}")


def _curve(a: Node, b: Node) -> str:
    if a.on_left == b.on_left:
        bulge = min(96.0, 16 + abs(a.y - b.y) * 0.42) * (1 if a.on_left else -1)
        middle = (a.y + b.y) / 2
        return f"M{a.x} {number(a.y)}Q{number(a.x + bulge)} {number(middle)} {b.x} {number(b.y)}"
    return f"M{a.x} {number(a.y)}C{MIDDLE} {number(a.y)} {MIDDLE} {number(b.y)} {b.x} {number(b.y)}"


def _node(node: Node, dense: bool) -> Markup:
    shape = "memory-node" if node.number == MEMORY_NODE else "document-node"
    fate = "kept" if node.kept else "cut"
    radius = 7.5 if dense else 12.0
    marks = [_shape(node, radius)]
    if node.planted:
        marks.append(element("circle", cx=node.x, cy=node.y, r=radius + 3.5, class_="planted"))
    label = "M" if node.number == MEMORY_NODE else str(node.number)
    marks.append(element("text", label, x=node.x, y=node.y + (3 if dense else 4), class_="rank"))
    away = -1 if node.on_left else 1
    x = node.x + away * (radius + 9)
    caption = shorten(node.text, 34 if dense else 32) or "(no answer)"
    side = "toward-left" if node.on_left else "toward-right"
    lift = 3 if dense or node.keep_evidence is None else -2
    marks.append(element("text", caption, x=x, y=node.y + lift, class_=f"claim {side}"))
    if not dense:
        marks.extend(_evidence_bars(node, x, away))
    return group(marks, class_=f"{shape} {fate}")


def _shape(node: Node, radius: float) -> Markup:
    if node.number == MEMORY_NODE:
        r = radius + 2
        points = f"{node.x},{number(node.y - r)} {number(node.x + r)},{number(node.y)} "
        points += f"{node.x},{number(node.y + r)} {number(node.x - r)},{number(node.y)}"
        return element("polygon", points=points, class_="shape")
    return element("circle", cx=node.x, cy=node.y, r=radius, class_="shape")


def _evidence_bars(node: Node, x: float, away: int) -> Iterator[Markup]:
    """Two short bars under the claim: S, evidence to keep, and F, evidence to reject."""
    length = 54.0
    for slot, (name, value) in enumerate(
        (("keep", node.keep_evidence), ("reject", node.reject_evidence))
    ):
        if value is None:
            continue
        start = x + away * slot * (length + 6)
        left = start - length if away < 0 else start
        filled = max(0.0, min(1.0, value)) * length
        at = left + length - filled if away < 0 else left
        yield element("rect", x=left, y=node.y + 5, width=length, height=4.0, class_="track")
        yield element("rect", x=at, y=node.y + 5, width=filled, height=4.0, class_=f"bar {name}")


def _frame(height: float, step: StepView, skipped: int) -> Iterator[Markup]:
    yield element("line", x1=MIDDLE, x2=MIDDLE, y1=22, y2=height - 26, class_="cut-line")
    yield element("text", "keep side", x=LEFT, y=18, class_="side kept")
    yield element("text", "cut", x=MIDDLE, y=16, class_="side")
    yield element("text", "reject side", x=RIGHT, y=18, class_="side cut")
    silent = [
        str(document.rank)
        for document in step.event.verdict.documents
        if document.reason is Reason.UNINFORMATIVE
    ]
    notes = []
    if silent:
        notes.append(f"not in the graph, they say nothing: {', '.join(silent)}")
    if skipped:
        notes.append(f"{skipped} faint {'edge' if skipped == 1 else 'edges'} not drawn")
    if notes:
        line = shorten(" · ".join(notes), 120)
        yield element("text", line, x=MIDDLE, y=height - 6, class_="note")


def _description(step: StepView, nodes: Iterable[Node]) -> str:
    kept = [str(n.number) for n in nodes if n.on_left and n.number != MEMORY_NODE]
    cut = [str(n.number) for n in nodes if not n.on_left and n.number != MEMORY_NODE]
    memory = f"; memory {step.memory_label}" if step.memory_label else ""
    return (
        f"Cut graph of step {step.step}: keep side documents {', '.join(kept) or 'none'}; "
        f"reject side documents {', '.join(cut) or 'none'}{memory}."
    )
