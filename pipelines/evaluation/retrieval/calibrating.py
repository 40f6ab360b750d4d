"""Thresholds of rerankers, fitted on questions of the tuning split and their honest documents."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from radarstream.defenses.retrieval.gmtp import Gmtp
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
from radarstream.schemas.snapshot import SearchSnapshot

PAIRS = 1_000  # of a question and a document that answers it, at most (GMTP, section 5)


def takes_reference(method: RetrievalDefense) -> bool:
    """Whether a reranker is to be given its reference by honest documents."""
    return isinstance(method, Gmtp) and method.mode == "calibrated" and method.reference is None


def with_reference(method: RetrievalDefense, reference: float) -> RetrievalDefense:
    """The same reranker with a reference."""
    assert isinstance(method, Gmtp)
    return replace(method, reference=reference)


def relevant_pairs(tuning: Sequence[SearchSnapshot], seed: int) -> list[tuple[str, str]]:
    """At most `PAIRS` pairs of a question and a passage of its own documents that names a right
    answer, drawn by the seed, in order.
    """
    pairs = [
        (snapshot.query.text, document.passage)
        for snapshot in tuning
        if snapshot.labels and snapshot.labels.answers
        for document in snapshot.documents
        if is_correct(document.passage, snapshot.labels)
    ]
    rng = np.random.default_rng(seed)
    drawn = sorted(rng.choice(len(pairs), min(PAIRS, len(pairs)), replace=False))
    return [pairs[place] for place in drawn]


def reference_of(
    method: RetrievalDefense, pairs: Sequence[tuple[str, str]], models: Models
) -> float:
    """GMTP's reference, measured on questions and passages that answer them. Raises ModelError."""
    assert isinstance(method, Gmtp)
    (found,) = drive([method.reference_from(pairs)], models)
    return or_raise(found)
