"""What documents say: one answer from each document alone, and pairwise NLI between answers."""

from collections.abc import Sequence
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from radarstream.pipelines.signals.parsing import parse_answer
from radarstream.pipelines.signals.ports import Generator, RelationScorer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.responses import (
    all_answered,
    completion_texts,
    relation_outcomes,
    together,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AGREEMENT, AtomicAnswer, Evidence, FloatArray, Relations
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.snapshot import SearchSnapshot

Question = str


def answer_documents(
    generator: Generator, snapshots: Sequence[SearchSnapshot | Evidence]
) -> list[tuple[AtomicAnswer, ...]]:
    """Answer every document of every snapshot in one model batch, order preserved.

    Raises PartialModelError, one outcome per snapshot, when single documents were not answered.
    """
    prompts = [prompt for snapshot in snapshots for prompt in document_prompts(snapshot)]
    texts = iter(completion_texts(generator, prompts))
    return all_answered(
        [parse_all(list(islice(texts, len(s.documents))), s.query.text) for s in snapshots]
    )


def document_prompts(snapshot: SearchSnapshot | Evidence) -> list[Prompt]:
    """What is asked to answer each document of a snapshot by itself."""
    question = snapshot.query.text
    return [build_prompt(Task.ATOMIC_ANSWER, question, (d.passage,)) for d in snapshot.documents]


def parse_all(
    texts: Sequence[str | ModelError], question: str
) -> tuple[AtomicAnswer, ...] | ModelError:
    """Parse the answers of one snapshot; the first failure among them stands for it."""
    answers = []
    for text in texts:
        if isinstance(text, ModelError):
            return text
        answers.append(parse_answer(text, question))
    return tuple(answers)


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
    scorer fails or does not return probabilities, PartialModelError, one outcome per item, when
    single pairs failed.
    """
    texts = [[a.text for a in answers if not a.abstained] for _, answers in batches]
    distinct = [list(dict.fromkeys(answers)) for answers in texts]
    pairs = [pair for question, answers in batches for pair in answer_pairs(question, answers)]
    outcomes = iter(relation_outcomes(scorer, pairs))
    relations: list[Relations | ModelError] = []
    for answers, unique in zip(texts, distinct, strict=True):
        size = len(unique)
        rows = together(list(islice(outcomes, size * size)))
        if isinstance(rows, ModelError):
            relations.append(rows)
            continue
        table = np.array(rows).reshape(size, size, 3)
        index = np.array([unique.index(text) for text in answers], dtype=np.intp)
        full = table[np.ix_(index, index)] if size else np.zeros((0, 0, 3))
        relations.append(Relations(full[:, :, 0].copy(), full[:, :, 2].copy()))
    return all_answered(relations)
