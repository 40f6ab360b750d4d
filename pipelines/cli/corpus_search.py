"""What `radarstream corpus search` finds, and how it is shown."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Engine

from radarstream.pipelines.build import (
    build_embedder,
    build_models,
    build_reranker_of,
    shared_corpus,
)
from radarstream.pipelines.cli.terminal import cell, print_table
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.reranking import rerank
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot

FIGURES: Final = ("found_rank", "similarity", "penalty", "score", "reason")


def searched(
    settings: Settings, engine: Engine, question: str, k: int, pool: int
) -> list[dict[str, Any]]:
    """What a search finds, best first. Raises ModelError, ConfigurationError.

    Where the settings name a reranker, it keeps k of the `pool` nearest texts, by the same stage
    as in the job.
    """
    corpus, method = shared_corpus(settings), build_reranker_of(settings)
    if method is None:
        nearest = corpus.search(question, k, build_embedder(settings.embedder))
        return [
            {"rank": text.document.rank, "similarity": text.similarity, "id": text.id}
            | words_of(text.document)
            for text in nearest
        ]
    models = build_models(settings, engine)
    check_needs(method, models)
    nearest = corpus.search(question, max(k, pool), models.embedder)
    documents = tuple(text.document for text in nearest)
    snapshot = SearchSnapshot(Query.from_text(question), datetime.now(UTC), documents)
    (outcome,) = rerank(method, k, [snapshot], models, Costs())
    if isinstance(outcome, Failure):
        raise outcome
    found = {text.document.rank: {"id": text.id} | words_of(text.document) for text in nearest}
    judged = outcome.reranking.candidates if outcome.reranking else ()
    return [asdict(one) | found[one.found_rank] for one in judged]


def words_of(document: Document) -> dict[str, Any]:
    """What a document says and where."""
    return {"title": document.title, "text": document.text, "url": document.url}


def print_found(found: Sequence[dict[str, Any]]) -> None:
    """Print what was found, with the figures that there are."""
    figures = [name for name in FIGURES if any(text.get(name) is not None for text in found)]
    print_table(
        ("rank", *(name.replace("_", " ") for name in figures), "id", "text", "url"),
        (
            (
                text["rank"],
                *(_figure(text[name]) for name in figures),
                text["id"],
                cell(f"{text['title']} {text['text']}", limit=120),
                cell(text["url"]),
            )
            for text in found
        ),
    )


def _figure(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)
