"""What of a study on a small encoder carries over to larger ones, in words, method by method."""

from collections.abc import Sequence
from typing import Final

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.attacks.whitebox.registry import WHITE_BOX as BOXES

UNKNOWN: Final = "nothing is known of larger encoders"
RERANKERS: Final = {
    "none": "the encoder's own order: a larger one ranks planted and clean texts differently",
    "prog_rank": (
        "needs the encoder's weights: no service that only embeds can be probed. Which layer to "
        "probe and the scale of the penalties must be found anew for every encoder"
    ),
    "grada": (
        "compares words (BM25) or embeddings of passages: the first does not depend on the encoder "
        "at all, the second needs no gradients"
    ),
    "gmtp": (
        "needs the encoder's weights and a masked language model; the threshold belongs to that "
        "pair and must be fitted anew"
    ),
    "raguard": (
        "asks the language model that answers, not the encoder: it carries over to any encoder, "
        "and its cost grows with the language model"
    ),
    "dp_rag": (
        "reads similarities alone: the noise carries over to any encoder, and how many documents "
        "it costs depends on how far apart that encoder's similarities are"
    ),
    "trust_rag": (
        "needs embeddings of the passages, from any encoder; its threshold belongs to the encoder "
        "that it was published with and must be found anew for every other one"
    ),
    "attention_variance": (
        "asks a language model that answers and tells its attention, or a substitute, not the "
        "encoder: it carries over to any encoder, and its cost grows with the language model"
    ),
}
SURROGATE: Final = (
    "probes another encoder than the retriever's: the one way to probe for a retriever behind a "
    "service; how well depends on how alike the two are"
)
BLACK_BOX: Final = (
    "uses no gradients: the same texts can be planted against every encoder; whether they are "
    "retrieved depends on it"
)
WHITE_BOX: Final = (
    "optimised on this very encoder: such words transfer badly to others, so that an attacker of a "
    "larger one needs its weights and more compute"
)
NO_ATTACK: Final = "no attack: only what a method costs honest passages"


def carried_over(rerankers: Sequence[str], conditions: Sequence[str]) -> list[tuple[str, str]]:
    """What carries over of each reranker and each condition, by its heading."""
    return [
        *((name, of_reranker(name)) for name in rerankers),
        *((name, of_condition(name)) for name in conditions),
    ]


def of_reranker(name: str) -> str:
    """What carries over of a reranker, by its spec."""
    method, _, options = name.partition(":")
    return SURROGATE if "surrogate" in options else RERANKERS.get(method, UNKNOWN)


def of_condition(name: str) -> str:
    """What carries over of a condition."""
    if name == BENIGN:
        return NO_ATTACK
    return WHITE_BOX if name.partition(":")[0] in BOXES else BLACK_BOX
