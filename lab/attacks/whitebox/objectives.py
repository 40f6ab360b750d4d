"""What white-box attackers optimise: functions of the embeddings of texts, and of what models make
of the texts.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np
from scipy.cluster.vq import kmeans2

from radarstream.defenses.protocol import RetrievalDefense
from radarstream.lab.attacks.whitebox.flipping import Texts
from radarstream.lab.insights import GRADIENTS, Insights
from radarstream.pipelines.signals.ports import Model, TokenScorer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery, Task
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.snapshot import Document, Query

_ROUNDS: Final = 50  # of k-means


@dataclass(frozen=True, slots=True, eq=False)
class Nearness:
    """The similarity of a passage to a question, or its mean over several. `questions` is the unit
    row of one question or the mean of those of several, (d,).
    """

    questions: FloatArray

    def directions(self, rows: FloatArray) -> FloatArray:
        """The question itself."""
        return np.broadcast_to(self.questions, rows.shape)

    def values(self, _: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """Cosines, each the same in any company."""
        return np.asarray((rows[:, 0] * self.questions).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Near to the questions with a trigger, far from those without.

    `triggered` and `clean` are unit rows, (t, d) and (c, d). The value is the mean similarity to
    the first less `avoided` times that to the second. With `contrastive` a step follows the
    gradient of log(e^s / (e^s + sum of e^s')), the mean over the triggered similarities s, where
    s' are the clean ones; without, that of the value.
    """

    triggered: FloatArray
    clean: FloatArray
    avoided: float
    contrastive: bool

    def directions(self, rows: FloatArray) -> FloatArray:
        """(1, d)"""
        if not self.contrastive:
            return self._wanted()[None]
        near, far = np.exp(self.triggered @ rows[0]), np.exp(self.clean @ rows[0])
        missed = far.sum() / (near + far.sum())  # of each triggered question
        away = (1.0 / (near + far.sum())).mean() * far
        return np.asarray((missed @ self.triggered / len(near) - away @ self.clean)[None])

    def values(self, _: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,)"""
        return np.asarray((rows[:, 0] * self._wanted()).sum(axis=1))

    def _wanted(self) -> FloatArray:
        """(d,)"""
        near, far = self.triggered.mean(axis=0), self.clean.mean(axis=0)
        return np.asarray(near - self.avoided * far)


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """How far the mean of triggered questions is from benign centres, less their variance."""

    benign: FloatArray
    compactness: float

    def directions(self, rows: FloatArray) -> FloatArray:
        """(c, d)"""
        mean = rows.mean(axis=0)
        away = mean - self.benign
        unit = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
        spread = 2.0 * self.compactness * (rows - mean)
        return np.asarray((unit.mean(axis=0) - spread) / len(rows))

    def values(self, _: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,)"""
        means = rows.mean(axis=1)
        distances = np.linalg.norm(means[:, None] - self.benign, axis=2).mean(axis=1)
        variances = np.square(rows - means[:, None]).sum(axis=2).mean(axis=1)
        return np.asarray(distances - self.compactness * variances)


def remembered(
    known: dict[str, float], texts: Sequence[str], measure: Callable[[Sequence[str]], list[float]]
) -> FloatArray:
    """(m,) values of texts; what is not `known` is measured, once."""
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        known.update(zip(new, measure(new), strict=True))
    return np.array([known[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Persuasion:
    """The logarithm of the probability of the target as the answer to the question, read alone. It
    has no gradient here: `directions` are zero. Each text is asked for once.
    """

    scorer: TokenScorer
    question: str
    target: str
    _known: dict[str, float] = field(default_factory=dict, init=False)

    def directions(self, rows: FloatArray) -> FloatArray:
        """(c, d) zeros."""
        return np.zeros_like(rows)

    def values(self, texts: Sequence[Texts], _: FloatArray) -> FloatArray:
        """(n,) natural logarithms. Raises ModelError."""
        return remembered(self._known, [together[0] for together in texts], self._measured)

    def _measured(self, texts: Sequence[str]) -> list[float]:
        prompts = (build_prompt(Task.ANSWER_FROM_DOCUMENTS, self.question, (t,)) for t in texts)
        (rows,) = self.scorer.log_probs([ContinuationQuery(tuple(prompts), self.target)])
        if rows.shape[0] != len(texts) or np.isnan(rows).any():
            raise ModelError(f"{self.scorer.model_id} did not return a row of numbers a prompt")
        return [float(value) for value in rows.sum(axis=1)]


@dataclass(frozen=True, slots=True)
class Joint:
    """What both models make of each text, weighed; each brought to the range of the proposals."""

    near: Nearness
    persuasion: Persuasion
    others: tuple[float, ...]

    def directions(self, rows: FloatArray) -> FloatArray:
        """The retriever's."""
        return self.near.directions(rows)

    def values(self, texts: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,)"""
        similar = self.near.values(texts, rows)
        weight = adaptive_weight(float(similar[0]), self.others)
        persuading = self.persuasion.values(texts, rows)
        return np.asarray(weight * _in_range(similar) + (1.0 - weight) * _in_range(persuading))


def adaptive_weight(poison: float, others: Sequence[float]) -> float:
    """The retriever's share r of an objective.

    1 - sigmoid((poison - best other) / mean gap between neighbouring others), where `others` are
    the similarities of the benign passages that are retrieved; 1 where the poison is below all of
    them, and not retrieved. Without a gap the poison is ahead or not: 0, or 1.

    >>> round(adaptive_weight(0.80, (0.70, 0.66, 0.60, 0.56)), 6)
    0.105001
    """
    ranked = sorted(others, reverse=True)
    if not ranked:
        return 0.0
    if poison < ranked[-1]:
        return 1.0
    gap = (ranked[0] - ranked[-1]) / max(1, len(ranked) - 1)
    ahead = poison - ranked[0]
    if gap <= 0.0:
        return 0.0 if ahead > 0.0 else 1.0
    return float(1.0 / (1.0 + np.exp(np.clip(ahead / gap, -50.0, 50.0))))


def _in_range(values: FloatArray) -> FloatArray:
    """(x - mean) / (max - min); zeros where all are equal."""
    spread = values.max() - values.min()
    if spread <= 0.0:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread)


@dataclass(frozen=True, slots=True)
class Penalty:
    """What a reranker takes off the similarity of texts to a question; each is judged once."""

    method: RetrievalDefense
    gradients: Model
    question: str
    _known: dict[str, float] = field(default_factory=dict, init=False)

    def of(self, texts: Sequence[str]) -> FloatArray:
        """(m,) Raises ModelError."""
        return remembered(self._known, texts, self._measured)

    def _measured(self, texts: Sequence[str]) -> list[float]:
        # Rerankers leave a single candidate alone, so that one gets company.
        judged = texts if len(texts) > 1 else [*texts, self.question]
        found = {one.found_rank: one.penalty or 0.0 for one in self._reranked(judged).candidates}
        return [found[place] for place in range(1, len(texts) + 1)]

    def _reranked(self, texts: Sequence[str]) -> Reranking:
        pool = CandidatePool(
            Query("evaded", self.question),
            tuple(Document(rank, text) for rank, text in enumerate(texts, start=1)),
            (0.0,) * len(texts),
            len(texts),
        )
        asking = self.method.rerank(pool)
        try:
            request = next(asking)
            while True:
                if not isinstance(request, Insights):
                    raise ConfigurationError("an evasive attacker answers requests for gradients")
                (grams,) = request.answer_all({GRADIENTS: self.gradients}, [request])
                request = asking.send(grams)
        except StopIteration as stop:
            return cast("Reranking", stop.value)


@dataclass(frozen=True, slots=True)
class Evading:
    """Similarity less the weighted penalty; the penalty of the present text and of the `probed`
    most similar ones, the others are out of the question.
    """

    near: Nearness
    penalty: Penalty
    weight: float
    probed: int

    def directions(self, rows: FloatArray) -> FloatArray:
        """Those of the similarity."""
        return self.near.directions(rows)

    def values(self, texts: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,), minus infinity for texts that are not tested."""
        similar = self.near.values(texts, rows)
        nearest = 1 + np.argsort(-similar[1:], kind="stable")[: self.probed]
        tested = [0, *(int(place) for place in nearest)]
        found = np.full(len(texts), -np.inf)
        penalties = self.penalty.of([texts[place][0] for place in tested])
        found[tested] = similar[tested] - self.weight * penalties
        return found


def centres(rows: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """(k, d) means of the clusters of (n, d) rows, k = min(count, n), n >= 1: k-means
    from rows that are drawn as k-means++ does. A cluster that loses all its rows keeps its centre.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about clusters without a row
        found, _ = kmeans2(rows, min(count, len(rows)), iter=_ROUNDS, minit="++", rng=rng)
    return np.asarray(found)
