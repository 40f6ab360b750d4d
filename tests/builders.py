"""Small inputs for tests; every array is read-only, so that a write to an input fails."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.attribution import Case, RankedText
from radarstream.schemas.codec import encode
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.records import Limits, LogPosition, RawRecord
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import Document, Labels, Provenance, Query, SearchSnapshot

QUESTION = "Who won the cup?"
# Settings with which one site is enough for an answer that no other site contradicts.
GIVE_ALL: dict[str, Any] = {"withstand": 0}
OBSERVED_AT = datetime(2025, 6, 1, 12, tzinfo=UTC)


def scripted_settings(directory: Path, **options: Any) -> Settings:
    """Settings of scripted models, with a database in a directory, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    given = {"profile": "scripted", "database": f"sqlite:///{directory / 'state.db'}"}
    return load_settings(**(given | options))


def make_documents(texts: Sequence[str], urls: Sequence[str] | None = None) -> tuple[Document, ...]:
    """Documents at ranks 1, 2, ... with a title each, and a site of its own unless given."""
    if urls is None:
        urls = [f"https://site{rank}.example/" for rank in range(1, len(texts) + 1)]
    return tuple(
        Document(rank, text, title=f"Title {rank}", url=url)
        for rank, (text, url) in enumerate(zip(texts, urls, strict=True), start=1)
    )


def make_snapshot(
    texts: Sequence[str],
    *,
    question: str = QUESTION,
    query_id: str = "cup",
    observed_at: datetime = OBSERVED_AT,
    labels: Labels | None = None,
    urls: Sequence[str] | None = None,
) -> SearchSnapshot:
    query, documents = Query(query_id, question), make_documents(texts, urls)
    return SearchSnapshot(query, observed_at, documents, Provenance.SIMULATED, labels)


def logged(given: SearchSnapshot | bytes, offset: int, partition: int = 0) -> RawRecord:
    """A snapshot, or any bytes, at a place of the log "e"."""
    payload = given if isinstance(given, bytes) else encode(given)
    place = LogPosition("e", partition, offset)
    return RawRecord(f"e/search.snapshots/{partition}", offset, payload, log=place)


def make_case(
    texts: Sequence[str], *, answer: str = "Rome", k: int = 5, question: str = QUESTION
) -> Case:
    """An answer and untitled texts d1, d2, ... at ranks 1, 2, ..., of falling similarity."""
    return Case(
        Query("cup", question),
        answer,
        tuple(
            RankedText(f"d{rank}", Document(rank, text), 1.0 / rank)
            for rank, text in enumerate(texts, start=1)
        ),
        k,
    )


def make_pool(
    texts: Sequence[str],
    similarities: Sequence[float] | None = None,
    *,
    keep: int = 5,
    question: str = QUESTION,
) -> CandidatePool:
    """Untitled candidates at ranks 1, 2, ...; of falling similarity unless told."""
    count = len(texts)
    falling = [1.0 - (index + 1) / (count + 1) for index in range(count)]
    return CandidatePool(
        Query("cup", question),
        tuple(Document(rank, text) for rank, text in enumerate(texts, start=1)),
        tuple(falling if similarities is None else similarities),
        keep,
    )


def read_only(values: object) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def make_evidence(
    entailment: object,
    contradiction: object,
    *,
    ranks: Sequence[int] | None = None,
    retrieved: int | None = None,
    answers: Sequence[str] | None = None,
) -> Evidence:
    """Evidence with n informative documents at `ranks` among `retrieved`; the rest abstain.

    Document r reads "document r"; its atomic answer is "answer r" unless `answers` names the
    informative ones.
    """
    n = len(np.asarray(entailment))
    ranks = list(ranks) if ranks is not None else list(range(1, n + 1))
    retrieved = retrieved if retrieved is not None else n
    texts = list(answers) if answers is not None else [f"answer {rank}" for rank in ranks]
    said = dict(zip(ranks, texts, strict=True))
    snapshot = make_snapshot([f"document {rank}" for rank in range(1, retrieved + 1)])
    return Evidence(
        snapshot.query,
        snapshot.observed_at,
        snapshot.documents,
        tuple(
            AtomicAnswer(said[d.rank]) if d.rank in said else AtomicAnswer("I don't know", True)
            for d in snapshot.documents
        ),
        Relations(
            read_only(np.asarray(entailment, dtype=float).reshape(n, n)),
            read_only(np.asarray(contradiction, dtype=float).reshape(n, n)),
        ),
    )


def claims_evidence(
    claims: Sequence[str | None], *, agree: float = 0.95, leak: float = 0.02
) -> Evidence:
    """One document per claim (None abstains); equal claims entail each other, others contradict."""
    ranks = [rank for rank, claim in enumerate(claims, start=1) if claim is not None]
    informative = [claim for claim in claims if claim is not None]
    same = np.array([[a == b for b in informative] for a in informative], dtype=bool)
    same = same.reshape(len(informative), len(informative))
    return make_evidence(
        np.where(same, agree, leak),
        np.where(same, 0.01, agree),
        ranks=ranks,
        retrieved=len(claims),
        answers=informative,
    )


def camps(sizes: Sequence[int], within: tuple[float, float], across: tuple[float, float]):
    """Entailment and contradiction of consecutive camps; pairs are (entailment, contradiction)."""
    camp = np.repeat(np.arange(len(sizes)), sizes)
    same = camp[:, None] == camp[None, :]
    return (np.where(same, within[0], across[0]), np.where(same, within[1], across[1]))


def tiny_limits(**given: int) -> Limits:
    """Limits below what the settings allow, so that a small record exceeds them."""
    return Limits.model_construct(**given)
