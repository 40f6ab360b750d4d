"""Questions with their search results, as the RobustRAG family of evaluations ships them.

RealTimeQA, Natural Questions and biographies come as lists of such items: the question, right
answers with equivalent wordings, a wrong answer with passages that claim it, and up to fifty
ranked results. Several members may be lists written as text, in Python's notation.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from radarstream.connectors.files.page_text import PageText, PageTexts, capped
from radarstream.connectors.files.web_json import checked, record_of, refused
from radarstream.schemas.answer_text import expanded_answers
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import (
    LONG_FORM,
    Document,
    Labels,
    Provenance,
    Query,
    SearchSnapshot,
)

CONTEXT = "context"
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)  # of results whose file does not say when
LITERAL_CHARACTERS = 2**20  # parsing Python's notation takes a hundred times its size
_LITERALS = (CONTEXT, "incorrect_context", "correct answer", "expanded answer")
_DATED_ID = re.compile(r"(\d{8})_")


class _Result(BaseModel):
    title: PageText = ""
    text: PageText = ""
    link: PageText = ""


class _Question(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    question: PageText
    context: tuple[_Result, ...]
    correct: PageTexts = Field(default=(), alias="correct answer")
    expanded: PageTexts = Field(default=(), alias="expanded answer")
    incorrect: PageText = Field(default="", alias="incorrect answer")
    incorrect_context: PageTexts = ()
    question_id: PageText = Field(default="", alias="question id")
    long_gen: PageText = ""


def question_records(item: dict[str, Any], original: str, limits: Limits) -> Iterator[RawRecord]:
    """Yield the one snapshot of an item, or its `original` text with why it cannot be used.

    Documents are ranked as listed. The day is that of the question id, where it has one
    (`20231013_1`). Questions for a long answer carry the tag `long_form`.
    """
    try:
        snapshot = _snapshot(checked(_Question, _parsed(item)), limits)
        yield record_of(snapshot, limits)
    except InputError as error:
        yield refused(original, error)


def literal(value: object) -> object:
    """The value of a list written as text; anything else, and what is no such list, as it is.

    Raises InputError for a text that is too long to parse safely.
    """
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    if len(value) > LITERAL_CHARACTERS:
        raise InputError(
            ReasonClass.OVERSIZED_RECORD, f"a list as text of over {LITERAL_CHARACTERS} characters"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a page's backslashes are not ours to complain about
            return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return value


def _parsed(item: dict[str, Any]) -> dict[str, Any]:
    return item | {name: literal(item[name]) for name in _LITERALS if name in item}


def _snapshot(question: _Question, limits: Limits) -> SearchSnapshot:
    documents = (
        Document(
            rank=rank,
            text=capped(result.text, limits.document_bytes),
            title=capped(result.title, limits.document_bytes),
            url=capped(result.link, limits.document_bytes),
        )
        for rank, result in enumerate(question.context, start=1)
    )
    query = Query.from_text(question.question)
    target = question.incorrect or None
    return SearchSnapshot(
        query=replace(query, tags=(LONG_FORM,)) if question.long_gen else query,
        observed_at=_day(question.question_id),
        documents=tuple(documents),
        provenance=Provenance.ARCHIVED,
        labels=Labels(
            answers=expanded_answers(question.correct, question.expanded, target),
            target=target,
            false_passages=question.incorrect_context,
        ),
    )


def _day(question_id: str) -> datetime:
    match = _DATED_ID.match(question_id)
    if match is None:
        return UNDATED
    try:
        return datetime.strptime(match[1], "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        return UNDATED
