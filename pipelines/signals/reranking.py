"""Runs a reranker, which chooses among the documents of a snapshot before all other stages."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from radarstream.connectors.traces import traces
from radarstream.defenses.protocol import Request, RetrievalDefense
from radarstream.pipelines.signals.fulfilment import Failure, drive, refusable
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import in_its_form
from radarstream.pipelines.signals.responses import checked, isolating
from radarstream.schemas.arrays import embedding_rows
from radarstream.schemas.errors import ModelError
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.verdict import DocumentVerdict, Reason

LeftOut = tuple[Document, Reason]  # a document that the defence did not see, and why
CANDIDATE_CHARACTERS: Final = 32_768  # of a candidate, far more than an encoder's window


@dataclass(frozen=True)
class Reranked:
    """A snapshot with the kept documents, the reranking, and the `dropped` documents.

    Documents have the ranks of the new order. Without a reranker, the snapshot is unchanged.
    """

    snapshot: SearchSnapshot
    reranking: Reranking | None = None
    dropped: tuple[Document, ...] = ()

    def completed(self, event: AnswerEvent) -> AnswerEvent:
        """Add the reranking and the dropped documents to an event."""
        if self.reranking is None:
            return event
        why = {c.rank: c.reason or Reason.OUTRANKED for c in self.reranking.dropped}
        left_out = [(document, why[document.rank]) for document in self.dropped]
        return with_left_out(replace(event, reranking=self.reranking), left_out)


def rerank(
    method: RetrievalDefense,
    keep: int,
    snapshots: Sequence[SearchSnapshot],
    models: Models,
    costs: Costs,
) -> list[Reranked | Failure]:
    """Let a reranker choose `keep` documents of each snapshot, all in lockstep.

    Similarities are cosines of the embeddings of question and passage. The ranks of the snapshot
    are assigned again, so that documents left out before keep theirs. Rerankers read the first
    `CANDIDATE_CHARACTERS` of a text.
    """
    counted = (models.generator, models.embedder, *models.plugins.values())
    held = costs.stage("reranking", *counted, records=len(snapshots))
    with traces().stage("reranking", snapshots), held:
        asked = costs.around(models)
        pools = isolating(lambda part: pools_of(part, keep, asked), snapshots)
        outcomes = in_its_form(
            list(zip(range(len(pools)), snapshots, pools, strict=True)),
            lambda item: item[1].query.long_form,
            lambda part, models: drive(
                [costs.charged(place, reranking(method, pool)) for place, _, pool in part], models
            ),
            asked,
        )
        named = named_models(method, models)
        return [
            reordered(snapshot, replace(outcome, models=named))
            if isinstance(outcome, Reranking)
            else outcome
            for snapshot, outcome in zip(snapshots, outcomes, strict=True)
        ]


def named_models(method: RetrievalDefense, models: Models) -> tuple[str, ...] | None:
    """Return the ids of the models that only this method uses; None if there are none."""
    asked = (model for name, model in models.plugins.items() if name in method.needs)
    return tuple(model.model_id for model in asked) or None


def reranking(
    method: RetrievalDefense, pool: CandidatePool | ModelError
) -> Generator[Request, Any, Reranking | Failure]:
    """Run the method on one pool, and return errors as results."""
    if isinstance(pool, ModelError):
        return pool
    return (yield from refusable(method.rerank(pool)))


def pools_of(snapshots: Sequence[SearchSnapshot], keep: int, models: Models) -> list[CandidatePool]:
    """Return the candidates of each snapshot with their similarities. Raises ModelError."""
    read = [tuple(map(as_candidate, snapshot.documents)) for snapshot in snapshots]
    texts = [
        text
        for snapshot, documents in zip(snapshots, read, strict=True)
        for text in (snapshot.query.text, *(document.passage for document in documents))
    ]
    rows = iter(checked(embedding_rows, models.embedder.embed(texts), len(texts)))
    pools = []
    for snapshot, documents in zip(snapshots, read, strict=True):
        question = next(rows)
        similar = tuple(float(next(rows) @ question) for _ in documents)
        pools.append(CandidatePool(snapshot.query, documents, similar, keep))
    return pools


def as_candidate(document: Document) -> Document:
    """Cut a document to `CANDIDATE_CHARACTERS`."""
    title = document.title[:CANDIDATE_CHARACTERS]
    left = max(0, CANDIDATE_CHARACTERS - len(f"{title}\n"))
    return replace(document, title=title, text=document.text[:left])


def reordered(snapshot: SearchSnapshot, reranking: Reranking) -> Reranked:
    """Return a snapshot with the kept documents at their new ranks, and the dropped ones."""
    placed = reranking.renumbered(snapshot)
    kept = reranking.without_dropped(placed)
    ranks = {document.rank for document in kept.documents}
    dropped = tuple(document for document in placed.documents if document.rank not in ranks)
    return Reranked(kept, reranking, dropped)


def with_left_out(event: AnswerEvent, left_out: Sequence[LeftOut]) -> AnswerEvent:
    """Add documents that the defence did not see to an event, after all counts are done."""
    if not left_out:
        return event
    verdicts = [DocumentVerdict(d.rank, kept=False, reason=reason) for d, reason in left_out]
    cited = [Source.of(document) for document, _ in left_out]
    documents = sorted((*event.verdict.documents, *verdicts), key=lambda judged: judged.rank)
    sources = sorted((*event.sources, *cited), key=lambda source: source.rank)
    verdict = replace(event.verdict, documents=tuple(documents))
    return replace(event, verdict=verdict, sources=tuple(sources))
