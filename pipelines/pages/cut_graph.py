"""A verdict's cut graph as inline SVG: keep side left, cut side right, cut edges red.

The layout is a function of the verdict alone: nodes in rank order, the memory last.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from markupsafe import Markup

from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.svg import circle, element, line, number, picture, rect, text
from radarstream.pipelines.pages.verdict_words import source_side
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    UNSEEN,
    Edge,
    MemoryDecision,
    Reason,
    Verdict,
)

WIDTH = 780
LEFT, MIDDLE, RIGHT = 270, 390, 510
TOP = 50
MAX_ROWS = 16  # on a side, before documents with one claim share a node
MAX_EDGES = 160
FAINTEST = 0.02  # share of the strongest edge below which an edge is not drawn
WIDTHS = 4  # classes of line width
RADIUS, DENSE_RADIUS = 12.0, 7.5
GAP = 9.0  # between a node and its words
BAR, BAR_GAP = 54.0, 6.0


@dataclass(frozen=True, slots=True)
class Node:
    """A document, several documents with one claim, or the memory; `y` is its row's centre.

    `evidence` is for keeping and for rejecting it, None where there is none or it has several.
    """

    ranks: tuple[int, ...]
    claim: str
    evidence: tuple[float | None, float | None] | None
    kept: bool
    planted: bool
    on_left: bool
    y: float = 0.0

    @property
    def x(self) -> int:
        """Column of the node's centre."""
        return LEFT if self.on_left else RIGHT

    @property
    def away(self) -> int:
        """The direction from the cut to the node."""
        return -1 if self.on_left else 1

    @property
    def memory(self) -> bool:
        """Whether this is the memory."""
        return self.ranks == (MEMORY_NODE,)


def cut_graph(verdict: Verdict, planted: Collection[int], name: str) -> Markup | None:
    """Drawing of a verdict's cut, or None where the defence cut no graph.

    `planted` are the ranks to ring; `name` says in the description which cut this is.
    """
    judged = any(document.keep_evidence is not None for document in verdict.documents)
    if verdict.energy is None or not judged:
        return None
    members = list(_members(verdict, planted))
    if _rows(members) > MAX_ROWS:
        members = _merged(members)
    dense = _rows(members) > MAX_ROWS
    pitch = 17.0 if dense else 36.0
    height = TOP + _rows(members) * pitch + 30
    nodes = list(_placed(members, pitch))
    edges, skipped = _choose_edges(verdict.edges, nodes)
    parts = [
        *_frame(height, verdict, skipped),
        *([] if dense else _bar_heads(nodes)),
        *_lines(edges),
        *(_node(node, dense) for node in nodes),
    ]
    return picture("cut-graph", _description(verdict, name, nodes), WIDTH, height, *parts)


def _members(verdict: Verdict, planted: Collection[int]) -> Iterator[Node]:
    left = source_side(verdict)
    for one in sorted(verdict.documents, key=lambda held: held.rank):
        if one.reason is not Reason.UNINFORMATIVE and one.reason not in UNSEEN:
            evidence = (one.keep_evidence, one.reject_evidence)
            known = None if one.keep_evidence is None else evidence
            yield Node((one.rank,), one.atomic_answer or "", known, one.kept, one.rank in planted,
                       one.rank in left)  # fmt: skip
    memory = verdict.memory
    if _memory_in_graph(verdict):
        retained = memory.decision is MemoryDecision.RETAINED
        evidence = (memory.support_posterior, memory.conflict_posterior)
        yield Node((MEMORY_NODE,), memory.previous_answer or "", evidence, retained, False,
                   retained)  # fmt: skip


def _memory_in_graph(verdict: Verdict) -> bool:
    """Whether the memory was a node of the cut: only then does it have capacities."""
    memory = verdict.memory
    return memory.decision is not MemoryDecision.NONE and memory.support_posterior is not None


def _rows(nodes: Sequence[Node]) -> int:
    on_left = sum(node.on_left for node in nodes)
    return max(on_left, len(nodes) - on_left)


def _merged(nodes: Iterable[Node]) -> list[Node]:
    """One node per claim and side: in a cut, capacities of nodes that share a side add up."""
    groups: dict[tuple[object, ...], list[Node]] = defaultdict(list)
    for node in nodes:
        claim = node.claim.casefold()
        groups[node.memory, node.on_left, node.kept, node.planted, claim].append(node)
    return [
        group[0]
        if len(group) == 1
        else replace(group[0], ranks=tuple(node.ranks[0] for node in group), evidence=None)
        for group in groups.values()
    ]


def _placed(nodes: Sequence[Node], pitch: float) -> Iterator[Node]:
    most = _rows(nodes)
    for side in (True, False):
        column = [node for node in nodes if node.on_left == side]
        top = TOP + (most - len(column)) * pitch / 2 + pitch / 2
        for row, node in enumerate(column):
            yield replace(node, y=top + row * pitch)


def _choose_edges(
    edges: Iterable[Edge], nodes: Sequence[Node]
) -> tuple[list[tuple[Node, Node, float]], int]:
    """Joined nodes with their summed capacity, severed and strong ones first; how many are left
    out.
    """
    owner = {rank: node for node in nodes for rank in node.ranks}
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for one, other, capacity in edges:
        a, b = owner.get(one), owner.get(other)
        if a is not None and b is not None and a is not b:
            sums[min(a.ranks[0], b.ranks[0]), max(a.ranks[0], b.ranks[0])] += capacity
    joined = [(owner[a], owner[b], capacity) for (a, b), capacity in sorted(sums.items())]
    strongest = max((capacity for _, _, capacity in joined), default=0.0)
    visible = [edge for edge in joined if edge[2] > FAINTEST * strongest]
    visible.sort(key=lambda edge: (edge[0].on_left == edge[1].on_left, -edge[2]))
    return visible[:MAX_EDGES], len(joined) - min(len(visible), MAX_EDGES)


def _lines(edges: Sequence[tuple[Node, Node, float]]) -> Iterator[Markup]:
    """One path per kind and width: fifty documents stay a handful of elements."""
    full = max((capacity for _, _, capacity in edges), default=1.0)
    paths: dict[tuple[bool, int], list[str]] = defaultdict(list)
    for a, b, capacity in edges:
        width = min(WIDTHS, max(1, ceil(WIDTHS * capacity / full)))
        paths[a.on_left != b.on_left, width].append(_curve(a, b))
    for (severed, width), curves in sorted(paths.items()):
        kind = "severed" if severed else "held"
        yield element("path", d="".join(curves), class_=f"edge {kind} w{width}")


def _curve(a: Node, b: Node) -> str:
    start, end = f"{a.x} {number(a.y)}", f"{b.x} {number(b.y)}"
    if a.on_left == b.on_left:
        bulge = min(96.0, 16 + abs(a.y - b.y) * 0.42) * (1 if a.on_left else -1)
        return f"M{start}Q{number(a.x + bulge)} {number((a.y + b.y) / 2)} {end}"
    return f"M{start}C{MIDDLE} {number(a.y)} {MIDDLE} {number(b.y)} {end}"


def _node(node: Node, dense: bool) -> Markup:
    radius = DENSE_RADIUS if dense else RADIUS
    many = len(node.ranks) > 1
    label = "M" if node.memory else f"×{len(node.ranks)}" if many else str(node.ranks[0])
    marks = [_shape(node, radius)]
    if node.planted:
        marks.append(circle(node.x, node.y, radius + 3.5, "planted"))
    marks.append(text(label, node.x, node.y + (3 if dense else 4), "rank"))
    x = node.x + node.away * (radius + GAP)
    side = "toward-left" if node.on_left else "toward-right"
    barred = not dense and (many or node.evidence is not None)
    y = node.y - 2 if barred else node.y + 3
    marks.append(text(shorten(node.claim, 34) or "(no answer)", x, y, f"claim {side}"))
    if many:
        ranks = shorten(", ".join(map(str, node.ranks)), 42)
        marks.append(text(ranks, x, node.y + 11, f"ranks {side}"))
    elif barred:
        marks.extend(_evidence_bars(node, x))
    kind = f"{'memory' if node.memory else 'document'}-node {'kept' if node.kept else 'cut'}"
    return element("g", *marks, class_=kind)


def _shape(node: Node, radius: float) -> Markup:
    if not node.memory:
        return circle(node.x, node.y, radius, "shape")
    r = radius + 2
    corners = ((0, -r), (r, 0), (0, r), (-r, 0))
    points = " ".join(f"{number(node.x + dx)},{number(node.y + dy)}" for dx, dy in corners)
    return element("polygon", points=points, class_="shape")


def _evidence_bars(node: Node, x: float) -> Iterator[Markup]:
    """Two short bars under the claim: S, evidence to keep, and F, evidence to reject."""
    for slot, (name, value) in enumerate(zip(("keep", "reject"), node.evidence or (), strict=True)):
        if value is None:
            continue
        start = x + node.away * slot * (BAR + BAR_GAP)
        left = start - BAR if node.on_left else start
        filled = max(0.0, min(1.0, value)) * BAR
        at = left + BAR - filled if node.on_left else left
        yield rect(left, node.y + 5, BAR, 4.0, "track")
        yield rect(at, node.y + 5, filled, 4.0, f"bar {name}")


def _bar_heads(nodes: Iterable[Node]) -> Iterator[Markup]:
    """S and F above the first pair of bars on either side."""
    for on_left in (True, False):
        column = [node for node in nodes if node.on_left == on_left]
        first = min(column, key=lambda node: node.y, default=None)
        if first is not None and first.evidence is not None:
            x = first.x + first.away * (RADIUS + GAP + BAR / 2)
            yield text("S", x, first.y - 17, "side keep-ink")
            yield text("F", x + first.away * (BAR + BAR_GAP), first.y - 17, "side reject-ink")


def _frame(height: float, verdict: Verdict, skipped: int) -> Iterator[Markup]:
    yield line(MIDDLE, 22, MIDDLE, height - 26, "cut-line")
    yield text("keep side", LEFT, 18, "side kept")
    yield text("cut", MIDDLE, 18, "side")
    yield text("reject side", RIGHT, 18, "side cut")
    silent = [str(one.rank) for one in verdict.documents if one.reason is Reason.UNINFORMATIVE]
    notes = []
    if silent:
        notes.append(f"not in the graph, they say nothing: {', '.join(silent)}")
    if skipped:
        notes.append(f"{skipped} weaker {'edge' if skipped == 1 else 'edges'} not drawn")
    if notes:
        yield text(shorten(" · ".join(notes), 120), MIDDLE, height - 6, "note")


def _description(verdict: Verdict, name: str, nodes: Iterable[Node]) -> str:
    kept = [str(rank) for n in nodes if n.on_left and not n.memory for rank in n.ranks]
    cut = [str(rank) for n in nodes if not n.on_left and not n.memory for rank in n.ranks]
    memory = f"; memory {verdict.memory.decision}" if _memory_in_graph(verdict) else ""
    return (
        f"Cut graph of {name}: keep side documents {', '.join(kept) or 'none'}; "
        f"reject side documents {', '.join(cut) or 'none'}{memory}."
    )
