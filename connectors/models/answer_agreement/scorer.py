"""RelationScorer for answers to the same question: a finding by rules, then its probabilities.

Natural language inference models are trained on sentences; the answers related here are mostly
names, numbers and dates, for which agreement can be read off. Likeness of meaning has no say:
MiniLM's cosine did not tell the lies among our pairs from the paraphrases. What each
finding is worth stands in `coefficients.json`, with its provenance (made by
`pipelines.evaluation.calibrate_agreement`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from radarstream.connectors.models.answer_agreement.comparison import Likeness, compare
from radarstream.connectors.models.answer_agreement.opposites import opposed
from radarstream.connectors.models.answer_agreement.question import read_question
from radarstream.connectors.models.answer_agreement.reading import Reading, read_answer
from radarstream.connectors.models.answer_agreement.understanding import understood
from radarstream.connectors.models.batching import once_each
from radarstream.schemas import answer_text
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair

COEFFICIENTS = Path(__file__).with_name("coefficients.json")
CLASSES = ("entailment", "neutral", "contradiction")
FEATURES = tuple(finding.value for finding in Likeness)


@dataclass(frozen=True)
class Comparison:
    """One ordered pair, read and compared."""

    premise: Reading
    hypothesis: Reading
    finding: Likeness

    @cached_property
    def ruled(self) -> Likeness:
        """The finding, less what opposites and words that nobody understands take from it."""
        texts = (self.premise.in_order, self.hypothesis.in_order)
        opposite = opposed(*texts) or opposed(*reversed(texts))
        return understood(self.premise, self.hypothesis, self.finding, opposite=opposite)


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


def feature_rows(comparisons: Sequence[Comparison]) -> FloatArray:
    """(m, len(FEATURES)) rows: the finding one-hot."""
    column = {name: i for i, name in enumerate(FEATURES)}
    rows = np.zeros((len(comparisons), len(FEATURES)))
    for row, comparison in zip(rows, comparisons, strict=True):
        row[column[comparison.ruled.value]] = 1.0
    return rows


def softmax(logits: FloatArray) -> FloatArray:
    """Rows of probabilities from rows of logits."""
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


class AnswerAgreement:
    """Calibrated agreement between answers.

    Parameters
    ----------
    coefficients: the fitted table; ConfigurationError when it does not fit this code.
    weights: rows of coefficients in place of those of the table, as calibration fits them.
    """

    def __init__(
        self,
        *,
        coefficients: Path = COEFFICIENTS,
        weights: Sequence[Sequence[float]] | None = None,
    ):
        if weights is None:
            self._weights = read_coefficients(coefficients)
        else:
            self._weights = np.asarray(weights, dtype=np.float64)

    @cached_property
    def model_id(self) -> str:
        """Rules and coefficients: everything that decides a probability."""
        digest = sha256(self._weights.tobytes())
        for file in (*sorted(Path(__file__).parent.glob("*.py")), Path(answer_text.__file__)):
            digest.update(file.read_bytes())
        return f"answer-agreement@{digest.hexdigest()[:12]}"

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction; each pair scored once."""
        if not pairs:
            return np.zeros((0, 3))
        return once_each(self._score, pairs)

    def _score(self, pairs: list[AnswerPair]) -> FloatArray:
        features = feature_rows([compare_pair(pair) for pair in pairs])
        return softmax(features @ self._weights.T)


def read_coefficients(path: Path) -> FloatArray:
    """(3, len(FEATURES)) fitted weights; ConfigurationError if they do not fit."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["features"] != list(FEATURES) or table["classes"] != list(CLASSES):
            raise ConfigurationError(f"{path} was fitted for other features: calibrate again")
        weights = np.asarray(table["weights"], dtype=np.float64)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not a coefficient table: {error}") from error
    if weights.shape != (len(CLASSES), len(FEATURES)) or not np.isfinite(weights).all():
        raise ConfigurationError(f"{path} has weights of shape {weights.shape}")
    return weights
