"""Questions with right and wrong answers, as the RobustRAG family and PoisonedRAG ship them.

RobustRAG's RealTimeQA, Natural Questions and biographies come as lists of items: the question,
right answers with equivalent wordings, a wrong answer with passages that claim it, and up to fifty
ranked results. Several members may be lists written as text, in Python's notation.

PoisonedRAG's attack targets come without documents: the snapshots have none, and their labels are
for whoever has a corpus. A file is one object with an entry per name; an entry by itself is read
too.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from radarstream.connectors.files.web_json import (
    Page,
    PageText,
    PageTexts,
    checked,
    ranked,
    record_of,
    refused,
)
from radarstream.schemas.answer_text import contains
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import LONG_FORM, Labels, Provenance, Query, SearchSnapshot

CONTEXT = "context"
FALSE_PASSAGES = "adv_texts"
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)  # of results whose file does not say when
LITERAL_CHARACTERS = 2**20  # parsing Python's notation takes a hundred times its size
_LITERALS = (CONTEXT, FALSE_PASSAGES, "incorrect_context", "correct answer", "expanded answer")
_OF_TARGETS = ("question", "correct answer", "incorrect answer", FALSE_PASSAGES)
_DATED_ID = re.compile(r"(\d{8})_")


class _Question(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    question: PageText
    context: tuple[Page, ...] = ()
    correct: PageTexts = Field(default=(), alias="correct answer")
    expanded: PageTexts = Field(default=(), alias="expanded answer")
    incorrect: PageText = Field(default="", alias="incorrect answer")
    incorrect_context: PageTexts = ()
    adv_texts: PageTexts = ()
    question_id: PageText = Field(default="", alias="question id")
    long_gen: PageText = ""


def item_records(item: dict[str, Any], limits: Limits) -> Iterator[RawRecord] | None:
    """The snapshots of an item, in file order, or with why it cannot be used; None for an item of
    neither kind. Of PoisonedRAG's file each entry is a snapshot without documents.

    Documents are ranked as listed. The day is that of the question id, where it has one
    (`20231013_1`). Questions for a long answer carry the tag `long_form`.
    """
    if CONTEXT in item:
        members = {name: value for name, value in item.items() if name != FALSE_PASSAGES}
        return iter([_record(members, limits)])
    entries = [item] if FALSE_PASSAGES in item else list(item.values())
    if not any(isinstance(entry, dict) and FALSE_PASSAGES in entry for entry in entries):
        return None
    return (_record(_as_target(entry), limits) for entry in entries)


def _as_target(entry: Any) -> Any:
    """What an entry of PoisonedRAG's file says, where it is one."""
    if not isinstance(entry, dict):
        return entry
    return {name: entry[name] for name in _OF_TARGETS if name in entry}


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


def _record(item: Any, limits: Limits) -> RawRecord:
    try:
        if isinstance(item, dict):
            item = {n: literal(v) if n in _LITERALS else v for n, v in item.items()}
        return record_of(_snapshot(checked(_Question, item), limits), limits)
    except InputError as error:
        return refused(item, error)


def _snapshot(question: _Question, limits: Limits) -> SearchSnapshot:
    query = Query.from_text(question.question)
    target = question.incorrect or None
    return SearchSnapshot(
        query=replace(query, tags=(LONG_FORM,)) if question.long_gen else query,
        observed_at=_day(question.question_id),
        documents=ranked(question.context, limits),
        provenance=Provenance.ARCHIVED,
        labels=Labels(
            answers=expanded_answers(question.correct, question.expanded, target),
            target=target,
            false_passages=question.incorrect_context or question.adv_texts,
        ),
    )


def _day(question_id: str) -> datetime:
    found = _DATED_ID.match(question_id)
    try:
        return datetime.strptime(found[1], "%Y%m%d").replace(tzinfo=UTC) if found else UNDATED
    except ValueError:
        return UNDATED


def expanded_answers(
    answers: Sequence[str], expansions: Sequence[str], target: str | None
) -> tuple[str, ...]:
    """Right answers with a data set's equivalent wordings, without the misleading ones.

    Such wordings are machine-made: one that is part of the target, or has it as a part, would
    score an attack as a right answer, so it is dropped; the target itself is never expanded.
    """
    kept = [
        e for e in expansions if target is None or not (contains(e, target) or contains(target, e))
    ]
    return tuple(dict.fromkeys([*answers, *kept]))
