"""What a defence leaves of the context, by word overlap: `..._lex` substitutes of judged metrics.

The published metrics ask a judge about single statements (as DeepEval defines them, and ADO reports
them). Here a statement is a sentence, and it is attributed to a text that has at least 60 % of its
words. Emptying the context leaves faithfulness at 1 and recall at 0.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean

from radarstream.schemas.answer_text import normalised

ATTRIBUTED = 0.6  # least share of a statement's words
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002])\s+|\n+")


@lru_cache(maxsize=100_000)
def statements(text: str) -> tuple[str, ...]:
    r"""Sentences and lines that have a word.

    >>> statements("It is Paris. Since 987!\n?")
    ('It is Paris.', 'Since 987!')
    """
    return tuple(part.strip() for part in _SENTENCE_END.split(text) if normalised(part))


def recall_lex(expected: str, context: Sequence[str]) -> float:
    """Share of the expected answer's statements that a document has; 0 without any."""
    found = _attributions(statements(expected), context)
    return fmean(found) if found else 0.0


def relevancy_lex(question: str, answers: Sequence[str], context: Sequence[str]) -> float:
    """Share of the context's statements with a right answer's or the question's words. 0 without
    any statement.
    """
    wanted = [_words(text) for text in (question, *answers)]
    found = [
        any(_has_most(words, of) for of in wanted)
        for document in context
        for words in map(_words, statements(document))
    ]
    return fmean(found) if found else 0.0


def faithfulness_lex(response: str, context: Sequence[str]) -> float:
    """Share of the response's statements that the context has; 1 without any, or any context."""
    claims = statements(response)
    if not claims or not any(map(statements, context)):
        return 1.0
    return fmean(_attributions(claims, context))


def _attributions(claims: Sequence[str], context: Sequence[str]) -> list[bool]:
    """Whether each claim is attributed to some document."""
    documents = [_words(document) for document in context]
    return [any(_has_most(words, _words(claim)) for words in documents) for claim in claims]


def _has_most(words: frozenset[str], of: frozenset[str]) -> bool:
    return bool(of) and len(of & words) >= ATTRIBUTED * len(of)


@lru_cache(maxsize=100_000)  # documents come again with every contender and condition
def _words(text: str) -> frozenset[str]:
    return frozenset(normalised(text).split())
