"""Which documents a reranker kept and dropped at one step, as the replay page shows them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from radarstream.pipelines.pages.verdict_words import REASONS
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Document, Labels


@dataclass(frozen=True, slots=True)
class CandidateLine:
    """A candidate and what became of it; `attack` is the attack that planted it, if one did."""

    judged: JudgedCandidate
    document: Document
    reason: str
    attack: str | None


def candidates_of(
    event: AnswerEvent, documents: Mapping[int, Document], labels: Labels
) -> Iterator[CandidateLine]:
    """The candidates in their new order; nothing without a reranker.

    `documents` and `labels` have the ranks of the event.
    """
    for judged in event.reranking.candidates if event.reranking else ():
        planted = judged.rank in labels.poisoned_ranks
        yield CandidateLine(
            judged,
            documents.get(judged.rank) or Document(judged.rank, ""),
            "kept" if judged.reason is None else REASONS[judged.reason],
            (labels.attack or "planted") if planted else None,
        )
