"""TrustRAG's filter before a defence: candidates that are too much alike go."""

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Reordering, Signal
from radarstream.defenses.retrieval.pools import checked_pool, judged_first, reranked
from radarstream.defenses.trust_rag import KEPT, TooMuchAlike
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class TrustRagFilter(TooMuchAlike):
    """The filter of "TrustRAG: Enhancing Robustness and Trustworthiness in Retrieval-Augmented
    Generation" before any defence.

    It is the filter that the defence `trust_rag` answers behind, with the same options, so that
    another defence may answer from what is left. What stays keeps its order. It may drop all, so
    that the defence sees no document and abstains. What is dropped is not replaced by a candidate
    that was not judged. Costs an embedding a candidate.

    Parameters
    ----------
    multiple
        So many times the wanted candidates are judged, the nearest.
    """

    multiple: Annotated[int, Field(ge=1)] = 3

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop what is alike. Raises EvidenceError on malformed input."""
        pool = checked_pool(pool)
        count, judged = len(pool.documents), judged_first(pool, self.multiple)
        passages = tuple(document.passage for document in pool.documents[:judged])
        reasons = yield from self.judge(passages)
        suspects = frozenset(place for place, why in enumerate(reasons) if why not in KEPT)
        fewer = replace(pool, keep=min(pool.keep, judged - len(suspects)))
        return reranked("trust_rag", fewer, range(count), suspects=suspects)
