"""Thresholds of rerankers, fitted on questions of the tuning split and their honest documents."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from radarstream.defenses.kernels.masked_tokens import reference_mean
from radarstream.defenses.protocol import Request
from radarstream.defenses.retrieval.gmtp import Gmtp
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import Document, SearchSnapshot

PAIRS = 1_000  # of a question and a document that answers it, at most (GMTP, section 5)
Relevant = tuple[SearchSnapshot, tuple[Document, ...]]


def takes_reference(method: RetrievalDefense) -> bool:
    """Whether a reranker is to be given its reference by honest documents."""
    return isinstance(method, Gmtp) and method.mode == "calibrated" and method.reference is None


def with_reference(method: RetrievalDefense, reference: float) -> RetrievalDefense:
    """The same reranker with a reference."""
    assert isinstance(method, Gmtp)
    return replace(method, reference=reference)


def relevant_documents(tuning: Sequence[SearchSnapshot], seed: int) -> list[Relevant]:
    """At most `PAIRS` documents that name a right answer to their own question, drawn by the seed,
    by question.
    """
    pairs = [
        (snapshot, document)
        for snapshot in tuning
        if snapshot.labels and snapshot.labels.answers
        for document in snapshot.documents
        if is_correct(document.passage, snapshot.labels)
    ]
    rng = np.random.default_rng(seed)
    drawn = sorted(rng.choice(len(pairs), min(PAIRS, len(pairs)), replace=False))
    found: dict[str, Relevant] = {}
    for snapshot, document in (pairs[i] for i in drawn):
        _, before = found.get(snapshot.query.id, (snapshot, ()))
        found[snapshot.query.id] = (snapshot, (*before, document))
    return list(found.values())


def reference_of(method: RetrievalDefense, relevant: Sequence[Relevant], models: Models) -> float:
    """The mean over pairs of what GMTP measures, its reference. Raises ModelError."""
    assert isinstance(method, Gmtp)
    asked = [_hidden(method, snapshot, documents) for snapshot, documents in relevant]
    found = [or_raise(outcome) for outcome in drive(asked, models)]
    return reference_mean([one for several in found for one in several], method.lowest)


def _hidden(
    method: Gmtp, snapshot: SearchSnapshot, documents: tuple[Document, ...]
) -> Generator[Request, Any, tuple[FloatArray, ...]]:
    """The probabilities that the reranker would look at in these documents."""
    pool = CandidatePool(snapshot.query, documents, (0.0,) * len(documents), len(documents))
    return (yield from method.hidden(pool))
