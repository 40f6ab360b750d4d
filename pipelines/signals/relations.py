"""Pairwise NLI between the informative atomic answers of a snapshot."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from radarstream.pipelines.signals.ports import RelationScorer
from radarstream.pipelines.signals.responses import checked
from radarstream.schemas.arrays import relation_rows
from radarstream.schemas.evidence import AtomicAnswer, FloatArray, Relations
from radarstream.schemas.prompt import AnswerPair

Question = str
AGREEMENT = 0.5  # one answer entails another when the scorer gives that at least this probability


def entails(rows: FloatArray) -> NDArray[np.bool_]:
    """Which way pairs of answers entail: (2, n), the n pairs first, then the same turned round.

    `rows` are the (2n, 3) relations of both. Answers mean the same only where both ways hold: of
    "at least 5" and "5" one entails the other, and yet a reader must hear of the difference.
    """
    return np.asarray(rows[:, 0].reshape(2, -1) >= AGREEMENT)


def answer_pairs(question: Question, answers: Sequence[AtomicAnswer]) -> list[AnswerPair]:
    """Every ordered pair of the distinct informative answers, an answer with itself included."""
    unique = dict.fromkeys(answer.text for answer in answers if not answer.abstained)
    return [AnswerPair(question, *pair) for pair in product(unique, repeat=2)]


def relate_answers(
    scorer: RelationScorer, batches: Sequence[tuple[Question, Sequence[AtomicAnswer]]]
) -> list[Relations]:
    """Relate the informative answers of each (question, answers) item, in one model batch.

    Equal answers are scored once and expanded: with u distinct answers among n, u * u pairs are
    asked for instead of n * (n - 1), and the matrices are the same. Raises ModelError when the
    scorer fails or does not return probabilities.
    """
    texts = [[a.text for a in answers if not a.abstained] for _, answers in batches]
    distinct = [list(dict.fromkeys(answers)) for answers in texts]
    pairs = [pair for question, answers in batches for pair in answer_pairs(question, answers)]
    rows = scorer.probabilities(pairs) if pairs else np.zeros((0, 3))
    probabilities = checked(relation_rows, rows, len(pairs))
    relations, start = [], 0
    for answers, unique in zip(texts, distinct, strict=True):
        size = len(unique)
        table = probabilities[start : start + size * size].reshape(size, size, 3)
        start += size * size
        index = np.array([unique.index(text) for text in answers], dtype=np.intp)
        full = table[np.ix_(index, index)] if size else np.zeros((0, 0, 3))
        relations.append(Relations(full[:, :, 0].copy(), full[:, :, 2].copy()))
    return relations
