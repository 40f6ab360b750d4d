"""What documents say: one answer from each document alone, and pairwise NLI between answers."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.answer_agreement.quoting import nearest_sentence, quote_of
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
from radarstream.schemas.evidence import (
    AGREEMENT,
    AtomicAnswer,
    Evidence,
    FloatArray,
    Quote,
    Relations,
)
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.snapshot import Query, SearchSnapshot

Question = str

# Share of the question's words that a sentence has which is asked alone. From 0.4, 0.5, 0.6 chosen
# on the development halves of SimpleQA and RealTimeQA: 13 answers right and 13 wrong for 12 % more
# calls; without a threshold 23 and 39 for 41 %.
ENOUGH_OF_QUESTION: Final = 0.5


def answer_documents(
    generator: Generator, snapshots: Sequence[SearchSnapshot | Evidence]
) -> list[tuple[AtomicAnswer, ...]]:
    """Answer every document of every snapshot in one model batch, order preserved.

    An answer that its passage does not say is none. Passages without an answer are asked once more,
    in a second batch, by their nearest sentence alone if that has `ENOUGH_OF_QUESTION`.

    Raises PartialModelError, one outcome per snapshot, when single documents were not answered.
    """
    passages = [(s.query, d.passage) for s in snapshots for d in s.documents]
    answers = _answers_in(generator, passages)
    alone = {
        place: sentence
        for place, (passage, answer) in enumerate(zip(passages, answers, strict=True))
        if isinstance(answer, AtomicAnswer) and answer.abstained and (sentence := _alone(*passage))
    }
    parts = [(passages[place][0], passages[place][1][slice(*at)]) for place, at in alone.items()]
    for (place, (start, _)), answer in zip(
        alone.items(), _answers_in(generator, parts), strict=True
    ):
        answers[place] = _once_more(answers[place], answer, start)
    each = iter(answers)
    return all_answered([_tuple_of(list(islice(each, len(s.documents)))) for s in snapshots])


def _answers_in(
    generator: Generator, passages: Sequence[tuple[Query, str]]
) -> list[AtomicAnswer | ModelError]:
    """What each passage says to its question, in one batch; no passages, no call."""
    if not passages:
        return []
    prompts = [_prompt(query, text) for query, text in passages]
    return [
        reply
        if isinstance(reply, ModelError)
        else _quoting(parse_answer(reply, query.text), query, text)
        for (query, text), reply in zip(passages, completion_texts(generator, prompts), strict=True)
    ]


def _quoting(answer: AtomicAnswer, query: Query, passage: str) -> AtomicAnswer:
    """The answer with its quote; none is an abstention. Long answers are not looked for."""
    if answer.abstained or query.long_form:
        return answer
    quote = quote_of(answer.text, query.text, passage)
    return replace(answer, abstained=quote is None, quote=quote, not_in_text=quote is None)


def _alone(query: Query, passage: str) -> Quote | None:
    """The sentence of a passage without an answer that is worth asking by itself."""
    if query.long_form or (near := nearest_sentence(query.text, passage)) is None:
        return None
    (start, end), share = near
    return (start, end) if share >= ENOUGH_OF_QUESTION and end - start < len(passage) else None


def _once_more(
    first: AtomicAnswer | ModelError, answer: AtomicAnswer | ModelError, start: int
) -> AtomicAnswer | ModelError:
    """The answer to a part that begins at `start`, its quote as a place in the whole; the `first`,
    to the whole, where neither says anything.
    """
    if isinstance(answer, ModelError):
        return answer
    if answer.quote is None:
        return first if answer.abstained else answer
    return replace(answer, quote=(start + answer.quote[0], start + answer.quote[1]))


def _tuple_of(
    answers: Sequence[AtomicAnswer | ModelError],
) -> tuple[AtomicAnswer, ...] | ModelError:
    """The answers of one snapshot; the first failure among them stands for it."""
    found = together(answers)
    return found if isinstance(found, ModelError) else tuple(found)


def document_prompts(snapshot: SearchSnapshot | Evidence) -> list[Prompt]:
    """What is asked to answer each document of a snapshot by itself."""
    return [_prompt(snapshot.query, document.passage) for document in snapshot.documents]


def sentence_prompts(snapshot: SearchSnapshot | Evidence) -> list[Prompt]:
    """What is asked besides of documents without an answer: here of all that have such a
    sentence.
    """
    passages = [(snapshot.query, document.passage) for document in snapshot.documents]
    return [
        _prompt(query, text[slice(*at)]) for query, text in passages if (at := _alone(query, text))
    ]


def _prompt(query: Query, passage: str) -> Prompt:
    return build_prompt(Task.ATOMIC_ANSWER, query.text, (passage,))


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
    scorer: RelationScorer, evidences: Sequence[Evidence], before: Sequence[Evidence | None]
) -> list[Relations]:
    """Relate the informative answers of each piece of evidence, in one model batch.

    Equal answers are scored once and expanded: with u distinct answers among n, u * u pairs are
    asked for instead of n * (n - 1), and the matrices are the same. Pairs that are related `before`
    are not asked again. Raises ModelError when the scorer fails or does not return probabilities,
    PartialModelError, one outcome per item, when single pairs failed.
    """
    wanted = [answer_pairs(e.query.text, e.answers or ()) for e in evidences]
    known = [_related(earlier) for earlier in before]
    asked = [
        [pair for pair in pairs if pair not in scores]
        for pairs, scores in zip(wanted, known, strict=True)
    ]
    outcomes = iter(relation_outcomes(scorer, list(chain.from_iterable(asked))))
    relations: list[Relations | ModelError] = []
    for evidence, pairs, scores in zip(evidences, asked, known, strict=True):
        rows = together(list(islice(outcomes, len(pairs))))
        if isinstance(rows, ModelError):
            relations.append(rows)
            continue
        scores.update(zip(pairs, ((row[0], row[2]) for row in rows), strict=True))
        texts = _informative_texts(evidence)
        question, n = evidence.query.text, len(texts)
        table = np.array([scores[AnswerPair(question, *pair)] for pair in product(texts, repeat=2)])
        full = table.reshape(n, n, 2)
        relations.append(Relations(full[:, :, 0].copy(), full[:, :, 1].copy()))
    return all_answered(relations)


def _informative_texts(evidence: Evidence) -> list[str]:
    answers = evidence.answers or ()
    return [answers[place].text for place in evidence.informative]


def _related(evidence: Evidence | None) -> dict[AnswerPair, tuple[float, float]]:
    """Entailment and contradiction of the pairs that are related already."""
    if evidence is None or evidence.relations is None:
        return {}
    question, relations = evidence.query.text, evidence.relations
    return {
        AnswerPair(question, one, other): (
            relations.entailment[row, column],
            relations.contradiction[row, column],
        )
        for row, one in enumerate(_informative_texts(evidence))
        for column, other in enumerate(_informative_texts(evidence))
    }
