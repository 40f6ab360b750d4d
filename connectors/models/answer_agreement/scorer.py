"""RelationScorer for answers to the same question: findings, then a small calibrated model.

Natural language inference models are trained on sentences; the answers related here are mostly
names, numbers and dates, for which agreement can be read off. The finding of `comparison` and
four soft measures enter a multinomial logistic regression whose coefficients are checked in with
their provenance (`coefficients.json`, made by `pipelines.evaluation.calibrate_agreement`). One rule
goes before the evidence: opposites (`opposites.opposed`) differ, however alike their wording is.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Indel

from radarstream.connectors.models.answer_agreement.comparison import Likeness, compare
from radarstream.connectors.models.answer_agreement.opposites import opposed
from radarstream.connectors.models.answer_agreement.reading import (
    Reading,
    read_answer,
    read_question,
)
from radarstream.connectors.models.answer_agreement.understanding import (
    is_soft,
    understood,
)
from radarstream.connectors.models.batching import once_each
from radarstream.connectors.models.embedder import Embedder
from radarstream.schemas import answer_text
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair

COEFFICIENTS = Path(__file__).with_name("coefficients.json")
CLASSES = ("entailment", "neutral", "contradiction")
FINDINGS = tuple(Likeness)
SOFT = ("differ_spelling", "differ_cosine", "partly_overlap", "partly_cosine")
# Countries, sports or minerals of one kind reach this cosine without being the same; what a pair
# has above it is evidence of another wording.
COORDINATE_COSINE = 0.75
FEATURES = (*(finding.value for finding in FINDINGS), *SOFT)


@dataclass(frozen=True)
class Comparison:
    """One ordered pair, read and compared."""

    premise: Reading
    hypothesis: Reading
    finding: Likeness

    @cached_property
    def ruled(self) -> Likeness:
        """The finding, less what opposites and words that nobody understands take from it."""
        opposite = opposed(self.premise.marked, self.hypothesis.marked)
        return understood(self.premise, self.hypothesis, self.finding, opposite=opposite)

    @property
    def is_soft(self) -> bool:
        """Whether likeness of meaning may count: nothing sharp is left that one lacks."""
        return is_soft(self.premise, self.hypothesis)


_question = lru_cache(maxsize=4_096)(read_question)


@lru_cache(maxsize=65_536)
def _reading(question: str, answer: str) -> Reading:
    return read_answer(answer, _question(question))


def compare_pair(pair: AnswerPair) -> Comparison:
    """Read both answers (remembered) and compare them."""
    premise = _reading(pair.question, pair.premise)
    hypothesis = _reading(pair.question, pair.hypothesis)
    return Comparison(premise, hypothesis, compare(premise, hypothesis))


def certain_relation(pair: AnswerPair) -> str | None:
    """The class of a pair that needs no judgement, of CLASSES; None for any other.

    Certain are equal texts, abstentions, and two values, dates, names with initials or identifiers
    that differ.
    """
    comparison = compare_pair(pair)
    if comparison.premise.abstained or comparison.hypothesis.abstained:
        return "neutral"
    if comparison.premise.plain.casefold() == comparison.hypothesis.plain.casefold():
        return "entailment"
    return "contradiction" if comparison.ruled is Likeness.VALUES_DIFFER else None


def feature_rows(
    comparisons: Sequence[Comparison], embedder: Embedder | None, *, ruled: bool = True
) -> FloatArray:
    """(m, len(FEATURES)) rows in [0, 1]: the finding one-hot, then the soft measures.

    Coefficients are fitted without the rule about opposites (`ruled` False): it needs no evidence.

    Soft measures are 0 where the finding leaves nothing to weigh. Texts are embedded once each,
    and only where words differ; without an embedder the cosines are 0.
    """
    rows = np.zeros((len(comparisons), len(FEATURES)))
    column = {name: i for i, name in enumerate(FEATURES)}
    undecided: list[tuple[int, Comparison]] = []
    for i, comparison in enumerate(comparisons):
        finding = comparison.ruled if ruled else comparison.finding
        rows[i, column[finding.value]] = 1.0
        if finding is Likeness.WORDS_DIFFER:
            texts = (comparison.premise.content, comparison.hypothesis.content)
            rows[i, column["differ_spelling"]] = Indel.normalized_similarity(
                *(text.casefold() for text in texts)
            )
            undecided.append((i, comparison))
        elif finding in (Likeness.PARTLY_SHARED, Likeness.PHRASES_DIFFER):
            a, b = comparison.premise.untitled, comparison.hypothesis.untitled
            rows[i, column["partly_overlap"]] = len(a & b) / max(1, len(a | b))
            undecided.append((i, comparison))
    if ruled:
        undecided = [(i, c) for i, c in undecided if c.is_soft]
    if embedder is not None and undecided:
        cosines = _cosines([comparison for _, comparison in undecided], embedder)
        for (i, comparison), cosine in zip(undecided, cosines, strict=True):
            differ = comparison.finding is Likeness.WORDS_DIFFER
            above = max(0.0, cosine - COORDINATE_COSINE) / (1.0 - COORDINATE_COSINE)
            rows[i, column["differ_cosine" if differ else "partly_cosine"]] = above
    return rows


def _cosines(comparisons: Sequence[Comparison], embedder: Embedder) -> FloatArray:
    texts = list(dict.fromkeys(r.content for c in comparisons for r in (c.premise, c.hypothesis)))
    vectors = embedder.embed(texts)
    if vectors.shape[0] != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(f"the embedder returned shape {vectors.shape} for {len(texts)} texts")
    row = {text: i for i, text in enumerate(texts)}
    left = vectors[[row[c.premise.content] for c in comparisons]]
    right = vectors[[row[c.hypothesis.content] for c in comparisons]]
    return np.asarray(np.einsum("md,md->m", left, right))


def softmax(logits: FloatArray) -> FloatArray:
    """Rows of probabilities from rows of logits."""
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


class AnswerAgreement:
    """Calibrated agreement between answers; with an embedder it also weighs meaning.

    Parameters
    ----------
    embedder: sentence embedding model for answers that share no words; None uses the
        coefficients fitted without one.
    coefficients: the fitted table; ConfigurationError when it does not fit this code.
    """

    def __init__(self, embedder: Embedder | None = None, *, coefficients: Path = COEFFICIENTS):
        self._embedder = embedder
        self._variant = "lexical" if embedder is None else "with_cosine"
        self._weights = read_coefficients(coefficients, self._variant)

    @cached_property
    def model_id(self) -> str:
        """Rules, coefficients and embedder: everything that decides a probability."""
        digest = sha256(self._weights.tobytes())
        for file in (*sorted(Path(__file__).parent.glob("*.py")), Path(answer_text.__file__)):
            digest.update(file.read_bytes())
        embedder = f"+{self._embedder.model_id}" if self._embedder else ""
        return f"answer-agreement-{self._variant}@{digest.hexdigest()[:12]}{embedder}"

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction; each pair scored once."""
        if not pairs:
            return np.zeros((0, 3))
        return once_each(self._score, pairs)

    def _score(self, pairs: list[AnswerPair]) -> FloatArray:
        features = feature_rows([compare_pair(pair) for pair in pairs], self._embedder)
        return softmax(features @ self._weights.T)


def read_coefficients(path: Path, variant: str) -> FloatArray:
    """(3, len(FEATURES)) weights of one fitted variant; ConfigurationError if they do not fit."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["features"] != list(FEATURES) or table["classes"] != list(CLASSES):
            raise ConfigurationError(f"{path} was fitted for other features: calibrate again")
        weights = np.asarray(table["weights"][variant], dtype=np.float64)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not a coefficient table: {error}") from error
    if weights.shape != (len(CLASSES), len(FEATURES)) or not np.isfinite(weights).all():
        raise ConfigurationError(f"{path} has weights of shape {weights.shape}")
    return weights
