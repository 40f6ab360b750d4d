"""One contender's verdict in a case of the page, in as few characters as will do."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from radarstream.pipelines.evaluation.defences.records import Adaptation, Row
from radarstream.pipelines.pages.cut_graph import cut_graph
from radarstream.pipelines.pages.island import Shapes, tree
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.verdict_words import ABSTENTIONS, reason_in_words
from radarstream.schemas.verdict import MemoryDecision, Reason, Verdict

ANSWER_CHARACTERS = 600
STATES = {Reason.NOT_JUDGED: 2, Reason.UNINFORMATIVE: 3}  # others: 1 kept, 0 rejected


@dataclass(frozen=True, slots=True)
class Shared:
    """What all cases refer to by number: reasons in words, shapes of drawings."""

    words: defaultdict[str, int]
    shapes: Shapes

    @staticmethod
    def empty() -> "Shared":
        """Nothing yet."""
        words: defaultdict[str, int] = defaultdict(lambda: len(words))
        return Shared(words, {})


def compact_verdict(
    row: Row, planted: Sequence[int], shared: Shared, adaptation: Adaptation
) -> dict[str, Any]:
    """What a row says; `planted` are the ranks to ring in its drawing."""
    cost = row.cost
    read, written = cost.tokens
    tokens = None if read is None or written is None else read + written
    spent = [cost.calls, tokens, cost.pairs]
    shown: dict[str, Any] = {"c": [*spent, round(cost.seconds, 2)], "b": row.state_bytes}
    verdict = row.verdict
    if verdict is None:
        return shown | {"x": shorten(row.error or "no verdict", 300)}
    drawing = cut_graph(verdict, planted, f"{row.contender}, {row.condition}, step {row.step}")
    shown["a"] = shorten(verdict.answer, ANSWER_CHARACTERS)
    if verdict.abstention:
        shown["i"] = ABSTENTIONS[verdict.abstention]
    if adaptation is Adaptation.CUMULATIVE:  # its ranks are places in the pool
        selects = any(document.reason is not Reason.NOT_JUDGED for document in verdict.documents)
        shown["pool"] = [len(verdict.documents), len(verdict.kept_ranks) if selects else None]
    else:
        shown["d"] = _documents(verdict, shared.words)
        shown["s"] = list(_evidence(verdict))
    if verdict.energy is not None:
        shown["n"] = round(verdict.energy, 4)
    if verdict.memory.decision is not MemoryDecision.NONE:
        shown["m"] = _memory(verdict)
    if drawing is not None:
        shown["g"] = tree(drawing, shared.shapes)
    return shown


def _documents(verdict: Verdict, words: dict[str, int]) -> list[list[Any]]:
    """State and reason, with the ranks that share them."""
    ranks: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for document in verdict.documents:
        state = STATES.get(document.reason, int(document.kept))
        ranks[state, words[reason_in_words(document, verdict)]].append(document.rank)
    return [[state, reason, held] for (state, reason), held in ranks.items()]


def _evidence(verdict: Verdict) -> Iterator[list[float | None]]:
    """Rank, S, F and margin of the documents that have them."""
    for document in verdict.documents:
        evidence = (document.keep_evidence, document.reject_evidence, document.margin)
        if evidence != (None, None, None):
            yield [document.rank, *map(_rounded, evidence)]


def _memory(verdict: Verdict) -> list[Any]:
    memory = verdict.memory
    beliefs = (memory.support_prior, memory.support_posterior,
               memory.conflict_prior, memory.conflict_posterior)  # fmt: skip
    answer = shorten(memory.previous_answer or "", 200)
    return [memory.decision.value, answer, *(_rounded(value) for value in beliefs)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
