"""TrustRAG's filter: drops documents that are too similar, as planted by one author."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, answered_from_kept, concluded, judged
from radarstream.defenses.kernels.rouge import rouge_l
from radarstream.defenses.kernels.two_means import standardised, two_means, unit_rows
from radarstream.defenses.protocol import Asking, Defending, Embed, Reordering, Signal, ask
from radarstream.defenses.retrieval.pools import checked_pool, judged_first, reranked
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import KEEPING, Abstention, Reason

BoolArray = NDArray[np.bool_]


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class TooMuchAlike:
    """Clusters the documents in two, drops a cluster that is too tight, then near duplicates.

    The first stage of "TrustRAG: Enhancing Robustness and Trustworthiness in Retrieval-Augmented
    Generation" (arXiv:2501.00879), after its published code, without the second stage, in which the
    model combines the documents with its own knowledge. Lists without near duplicates and lists of
    at most two documents pass unchanged.

    Parameters
    ----------
    mode
        "original": drops a cluster whose mean cosine reaches `similarity_threshold`, or both; a
        single document beside a loose cluster is an outlier. "ado_alg1": "Adaptive Defense
        Orchestration for RAG", Algorithm 1 as printed, which keeps the more coherent cluster; for
        comparison only.
    similarity_threshold
        sigma. The authors' .88 is for their SimCSE encoder. With all-MiniLM-L6-v2, the clusters of
        the first 10 results of 50 RealTimeQA questions have mean cosines of .73 (median), .90
        (95th percentile) and .95 (99th), but five falsehoods planted for one question have .70
        (median). The 99th percentile would let them all pass, so .88 stays, for comparison.
    overlap_threshold
        rho: ROUGE-L above which two documents are near duplicates. At .25, over half of those
        results are near duplicates, because snippets share the words of the question.
    overlap_gate
        Whether "original" passes lists without near duplicates unchanged.
    on_empty
        What to do if no document is left.
    seed
        Seed of the clustering, for more than 12 documents.
    """

    mode: Literal["original", "ado_alg1"] = "original"
    similarity_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.88
    overlap_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.25
    overlap_gate: bool = True
    on_empty: Literal["abstain", "all_documents"] = "abstain"
    seed: Annotated[int, Field(ge=0)] = 0

    def judge(self, passages: tuple[str, ...]) -> Asking[list[Reason]]:
        """Return for each passage the reason why it is kept or dropped."""
        n = len(passages)
        if n <= 2:
            return [Reason.NOT_JUDGED] * n
        alike = rouge_l(passages) > self.overlap_threshold
        if self.mode == "original" and self.overlap_gate and not alike.any():
            return [Reason.NOT_JUDGED] * n
        vectors = unit_rows((yield from ask(Embed(passages))))
        cosines = vectors @ vectors.T
        rng = np.random.default_rng(self.seed)
        if self.mode == "ado_alg1":
            reasons = self.keep_coherent(cosines, two_means(vectors, rng))
            drop_incoherent_duplicates(reasons, alike, cosines)
        else:
            reasons = self.drop_tight(cosines, two_means(standardised(vectors), rng))
            for later, reason in enumerate(reasons):
                kept = [i for i in range(later) if reasons[i] is Reason.SUPPORTED]
                if reason is Reason.SUPPORTED and alike[later, kept].any():
                    reasons[later] = Reason.NEAR_DUPLICATE
        if self.on_empty == "all_documents" and KEEPING.isdisjoint(reasons):
            return [Reason.BEST_OF_NONE] * n
        return reasons

    def drop_tight(self, cosines: FloatArray, split: BoolArray) -> list[Reason]:
        """Apply TrustRAG's rule: drop a tight cluster, or a single document beside a loose one.

        `split` is the (n,) mask of the cluster without the best document.
        """
        sigma = self.similarity_threshold
        first, second = mean_cosine(cosines, ~split), mean_cosine(cosines, split)
        if min(split.sum(), (~split).sum()) == 1:
            alone = split if split.sum() == 1 else ~split
            if max(first, second) <= sigma:
                return reasons_for(alone, Reason.ISOLATED)
            leaders = cosines[np.argmax(split), np.argmax(~split)]
            return reasons_for(np.ones_like(split) if leaders > sigma else ~alone)
        if min(first, second) > sigma:
            return reasons_for(np.ones_like(split))
        if max(first, second) < sigma:
            return reasons_for(np.zeros_like(split))
        return reasons_for(~split if first > second else split)

    def keep_coherent(self, cosines: FloatArray, split: BoolArray) -> list[Reason]:
        """Apply ADO's rule: keep two coherent clusters, else only the more coherent one."""
        first, second = mean_cosine(cosines, ~split), mean_cosine(cosines, split)
        if min(first, second) >= self.similarity_threshold:
            return reasons_for(np.zeros_like(split))
        return reasons_for(split if first >= second else ~split, Reason.ISOLATED)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class TrustRag(TooMuchAlike, Stateless):
    """The first stage of "TrustRAG: Enhancing Robustness and Trustworthiness in Retrieval-Augmented
    Generation" as a defence; `mode` "ado_alg1" is Algorithm 1 of "Adaptive Defense Orchestration".
    """

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Judge one snapshot."""
        reasons = yield from self.judge(tuple(d.passage for d in evidence.documents))
        documents = judged(evidence, reasons)
        if not any(document.kept for document in documents):
            why = Abstention.NO_CONSENSUS if documents else Abstention.NO_DOCUMENTS
            return concluded(documents, why), state
        return (yield from answered_from_kept(evidence, documents)), state


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class TrustRagFilter(TooMuchAlike):
    """The filter of the defence `trust_rag` as a reranker.

    Source: "TrustRAG: Enhancing Robustness and Trustworthiness in RAG", first stage.
    Kept candidates keep their order. If it drops all, the defence sees no document and abstains.
    Candidates that it did not judge do not replace dropped ones. It embeds each judged candidate.

    Parameters
    ----------
    multiple
        It judges the nearest candidates, this many times the number to keep.
    """

    multiple: Annotated[int, Field(ge=1)] = 3

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop similar candidates. Raises EvidenceError for a malformed pool."""
        pool = checked_pool(pool)
        count, judged = len(pool.documents), judged_first(pool, self.multiple)
        passages = tuple(document.passage for document in pool.documents[:judged])
        reasons = yield from self.judge(passages)
        suspects = frozenset(place for place, why in enumerate(reasons) if why not in KEEPING)
        fewer = replace(pool, keep=min(pool.keep, judged - len(suspects)))
        return reranked("trust_rag", fewer, range(count), suspects=suspects)


def mean_cosine(cosines: FloatArray, members: BoolArray) -> float:
    """Return the mean cosine of the pairs of a cluster; 0 for a single document."""
    rows, columns = np.triu_indices(int(members.sum()), 1)
    within = cosines[np.ix_(members, members)][rows, columns]
    return float(within.mean()) if len(within) else 0.0


def reasons_for(dropped: BoolArray, reason: Reason = Reason.TIGHT_CLUSTER) -> list[Reason]:
    """Return `reason` for dropped documents and SUPPORTED for others."""
    return [reason if drop else Reason.SUPPORTED for drop in dropped]


def drop_incoherent_duplicates(
    reasons: list[Reason], alike: BoolArray, cosines: FloatArray
) -> None:
    """Mark in each similar pair the one that is less like all kept ones, on ties the later."""
    kept = np.array([reason is Reason.SUPPORTED for reason in reasons])
    coherence = (cosines * kept).sum(axis=1) - np.diagonal(cosines)
    for first, second in np.argwhere(np.triu(alike, 1)):
        if reasons[first] is reasons[second] is Reason.SUPPORTED:
            less = first if coherence[first] < coherence[second] else second
            reasons[less] = Reason.NEAR_DUPLICATE
