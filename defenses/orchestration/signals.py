"""Cheap signals of an attack: in a question, and in its retrieved documents.

ADO, section 4.3.2, as in the paper; its two public programs compute something else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from radarstream.defenses.kernels.rouge import rouge_l
from radarstream.defenses.kernels.spread import dispersion, drop_off, robust_z
from radarstream.defenses.orchestration.wordings import asks_verbatim, fills_masks
from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.errors import InputError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.orchestration import QuestionSignals, RetrievalSignals, Thresholds
from radarstream.schemas.snapshot import Strict

WINDOW: Final = 5  # earlier questions of a user that count
LEAST_INTERVAL_S: Final = 1e-3
MOST_BYTES: Final = 2**16  # of a reply
_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)
_TOKEN: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
    r"(?:['\u2019][^\W_]+)*"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The Sentinel's input; it has no text of documents.

    `question` is untrusted. `retrieval` is None before the retrieval.
    """

    question: str
    trust: float
    signals: QuestionSignals
    retrieval: RetrievalSignals | None = None


@dataclass(frozen=True, slots=True)
class Usual(Strict):
    """Usual values for benign documents.

    `median` and `mad` are those of M_DIS; `overlap` is the ROUGE-L above which two documents are
    near duplicates, the 95th percentile of the most similar pair. With `spread`, documents that are
    less alike than usual are unusual too; by default only those that are more alike, because a
    small corpus always gives less similar documents, and planted texts are never less alike. The
    defaults are for ten search results and all-MiniLM-L6-v2, see `docs/orchestration.md`.
    """

    median: float = 0.32
    mad: float = 0.08
    overlap: float = 0.8
    spread: bool = False

    @classmethod
    def of(cls, thresholds: Thresholds) -> "Usual":
        """Return the papers' values ("paper") or the measured ones."""
        return cls(overlap=0.25, spread=True) if thresholds == "paper" else cls()

    def z(self, dispersion: float) -> float:
        """Return the distance of M_DIS from the median, in robust deviations; see `spread`."""
        z = robust_z(dispersion, self.median, self.mad)
        return z if self.spread else min(0.0, z)


def question_signals(
    question: str, recent: Sequence[tuple[datetime, str]], now: datetime
) -> QuestionSignals:
    """Return the signals of a question; `recent` are the user's earlier ones, oldest first.

    A repetition of the question, as after a timeout, counts neither for M_LEX nor for M_INT; in the
    paper it does.
    """
    asked = in_order(question)
    others = [(at, text) for at, text in recent if in_order(text) != asked]
    return QuestionSignals(
        lexical_overlap=lexical_overlap(question, [text for _, text in others]),
        complexity=complexity(question),
        velocity=velocity((now - others[-1][0]).total_seconds()) if others else 0.0,
        fills_masks=fills_masks(question),
        asks_verbatim=asks_verbatim(question),
    )


def retrieval_signals(
    embeddings: FloatArray,
    similarities: Sequence[float],
    texts: Sequence[str],
    usual: Usual | None = Usual(),
) -> RetrievalSignals:
    """Return the signals of k documents, best first: (k, d) embeddings, k similarities, k texts.

    Without `usual`, as for another embedder, there is no z of M_DIS, and `overlap` has its default.
    """
    spread = dispersion(embeddings)
    enough = usual is not None and len(texts) >= 2
    overlap = (usual or Usual()).overlap
    return RetrievalSignals(
        dispersion=spread,
        drop_off=drop_off(np.asarray(similarities, dtype=np.float64)),
        near_duplicates=len(texts) >= 2 and bool((rouge_l(texts) > overlap).any()),
        dispersion_z=usual.z(spread) if usual and enough else None,
    )


def lexical_overlap(question: str, recent: Sequence[str]) -> float:
    """Return M_LEX in [0, 1]: the largest Jaccard index of words with one of five last questions.

    >>> round(lexical_overlap("who is the ceo of acme", ["who was the ceo of acme"]), 6)
    0.714286
    """
    asked = words(question)
    others = [words(other) for other in recent[-WINDOW:]]
    shares = [len(asked & o) / len(asked | o) for o in others if asked and o]
    return max(shares, default=0.0)


def words(text: str) -> frozenset[str]:
    """Return the distinct words of a text, as `in_order`."""
    return frozenset(in_order(text))


def in_order(text: str) -> list[str]:
    """Return the words of a text, casefolded; a Chinese or Japanese character is a word."""
    return _TOKEN.findall(text.casefold())


def complexity(question: str) -> float:
    """Return M_CMP in [0, 1]: the share of characters other than letters, digits and white space.

    >>> round(complexity("What's 2+2?"), 6)
    0.272727
    """
    odd = sum(not (c.isalnum() or c.isspace()) for c in question)
    return odd / max(1, len(question))


def velocity(interval_s: float) -> float:
    """Return M_INT in 1/s: 1 / the seconds since the user's last question, at least 1 ms.

    >>> velocity(4.0), velocity(0.2)
    (0.25, 5.0)
    """
    return 1.0 / max(LEAST_INTERVAL_S, interval_s)


def json_object(reply: str | None) -> JsonObject | None:
    """Parse a reply as one JSON object, also in a code fence, by the rules of `codec.json_text`.

    None for anything else.
    """
    if reply is None:
        return None
    fenced = _FENCE.match(reply)
    data = (fenced[1] if fenced else reply).strip().encode("utf-8", "surrogatepass")
    try:
        return parse_object(data, max_bytes=MOST_BYTES)
    except InputError:
        return None
