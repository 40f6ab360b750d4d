"""Atomic answers of documents, and relations between them."""

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

# Least share of the question's words in a sentence that is asked alone. Chosen from 0.4, 0.5, 0.6
# on the development halves of SimpleQA and RealTimeQA: 13 answers right and 13 wrong for 12 % more
# calls; without a threshold 23 and 39 for 41 %.
ENOUGH_OF_QUESTION: Final = 0.5


def answer_documents(
    generator: Generator, snapshots: Sequence[SearchSnapshot | Evidence]
) -> list[tuple[AtomicAnswer, ...]]:
    """Answer every document of every snapshot in one model batch, in order.

    An answer that its passage does not say becomes an abstention. For passages without an answer,
    a second batch asks their nearest sentence alone, if it has `ENOUGH_OF_QUESTION`. Raises
    PartialModelError, one outcome per snapshot, if single documents failed.
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
    """Answer questions from their passages in one batch."""
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
    """Add the quote to an answer; without one it becomes an abstention. Long answers need none."""
    if answer.abstained or query.long_form:
        return answer
    quote = quote_of(answer.text, query.text, passage)
    return replace(answer, abstained=quote is None, quote=quote, not_in_text=quote is None)


def _alone(query: Query, passage: str) -> Quote | None:
    """Return the nearest sentence of a passage if it has `ENOUGH_OF_QUESTION`, else None."""
    if query.long_form or (near := nearest_sentence(query.text, passage)) is None:
        return None
    (start, end), share = near
    return (start, end) if share >= ENOUGH_OF_QUESTION and end - start < len(passage) else None


def _once_more(
    first: AtomicAnswer | ModelError, answer: AtomicAnswer | ModelError, start: int
) -> AtomicAnswer | ModelError:
    """Return the answer from a part that begins at `start`, with the quote's place in the whole;
    the `first` answer, from the whole, if it is an abstention.
    """
    if isinstance(answer, ModelError):
        return answer
    if answer.quote is None:
        return first if answer.abstained else answer
    return replace(answer, quote=(start + answer.quote[0], start + answer.quote[1]))


def _tuple_of(
    answers: Sequence[AtomicAnswer | ModelError],
) -> tuple[AtomicAnswer, ...] | ModelError:
    """Return the answers of one snapshot, or their first failure."""
    found = together(answers)
    return found if isinstance(found, ModelError) else tuple(found)


def document_prompts(snapshot: SearchSnapshot | Evidence) -> list[Prompt]:
    """Return the prompts for the atomic answers of a snapshot."""
    return [_prompt(snapshot.query, document.passage) for document in snapshot.documents]


def sentence_prompts(snapshot: SearchSnapshot | Evidence) -> list[Prompt]:
    """Return the prompts of the second batch, for all documents with such a sentence."""
    passages = [(snapshot.query, document.passage) for document in snapshot.documents]
    return [
        _prompt(query, text[slice(*at)]) for query, text in passages if (at := _alone(query, text))
    ]


def _prompt(query: Query, passage: str) -> Prompt:
    return build_prompt(Task.ATOMIC_ANSWER, query.text, (passage,))


def entails(rows: FloatArray) -> NDArray[np.bool_]:
    """Return (2, n): which of n pairs of answers entail, then which of the reversed pairs.

    `rows` are the (2n, 3) relations of both. Answers mean the same if both entail: "5" entails "at
    least 5", but means something else.
    """
    return np.asarray(rows[:, 0].reshape(2, -1) >= AGREEMENT)


def answer_pairs(question: Question, answers: Sequence[AtomicAnswer]) -> list[AnswerPair]:
    """Return every ordered pair of the distinct informative answers, also an answer with itself."""
    unique = dict.fromkeys(answer.text for answer in answers if not answer.abstained)
    return [AnswerPair(question, *pair) for pair in product(unique, repeat=2)]


def relate_answers(
    scorer: RelationScorer, evidences: Sequence[Evidence], before: Sequence[Evidence | None]
) -> list[Relations]:
    """Relate the informative answers of each evidence, in one model batch.

    Equal answers are scored once: with u distinct answers among n, it requests u * u pairs instead
    of n * (n - 1). Pairs with relations in `before` are not requested again. Raises ModelError if
    the scorer fails or does not return probabilities, PartialModelError, one outcome per item, if
    single pairs failed.
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
    """Return entailment and contradiction of the pairs in evidence, by pair."""
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
