"""Reads yearly search histories, the format of RADAR's dynamic data set (its appendix P).

A file has one object or a list of them: a question and, for every year, the right answers, the
documents of a search in that year, and a wrong answer with passages that claim it.

The event time of a year is its last second, because its documents may be from any day.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from radarstream.connectors.files.web_json import (
    Page,
    PageText,
    PageTexts,
    checked,
    ranked,
    record_of,
    refused,
)
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Labels, Provenance, Query, SearchSnapshot

CONTEXTS = "yearly_contexts"
TEXTS = ("content", "snippet")
_YEAR = re.compile(r"[0-9]{4}")


def _page(value: object) -> object:
    """Return a document as an object. Raises InputError if it has no field for the text."""
    if isinstance(value, str):
        return {"content": value}
    if isinstance(value, dict) and all(value.get(name) is None for name in TEXTS):
        members = ", ".join(ascii(name) for name in value)[:200] or "nothing"
        detail = f"a document has neither {' nor '.join(TEXTS)}, but {members}"
        raise InputError(ReasonClass.MISSING_FIELD, detail)
    return value


class _Year(BaseModel):
    answer: PageTexts = ()
    docs: tuple[Annotated[Page, BeforeValidator(_page)], ...]
    incorrect_answer: PageText = ""
    incorrect_context: PageTexts = ()
    all_answers_required: bool = False


class _Question(BaseModel):
    question: PageText
    provenance: Provenance = Provenance.DATE_RESTRICTED


def yearly_records(item: Any, limits: Limits) -> Iterator[RawRecord]:
    """Yield one snapshot per year of a question, in order.

    An unusable year is a record with the reason, and so is an item without a readable question or
    years. A document has a content or a snippet, which may be empty, or is its text alone.
    """
    try:
        question = checked(_Question, item)
    except InputError as error:
        yield refused(item, error)
        return
    years = item.get(CONTEXTS)
    if not isinstance(years, dict) or not years:
        none = f"it has neither {CONTEXTS} nor context (docs/replay.md)"
        why = f"{CONTEXTS} has no years" if CONTEXTS in item else none
        yield refused(item, InputError(ReasonClass.MISSING_FIELD, why))
        return
    for name, content in sorted(years.items()):
        try:
            yield record_of(_snapshot(question, name, content, limits), limits)
        except InputError as error:
            detail = f"year {ascii(name)[:20]}: {error.detail}"
            yield refused({name: content}, InputError(error.reason, detail))


def _snapshot(question: _Question, name: str, content: Any, limits: Limits) -> SearchSnapshot:
    if not _YEAR.fullmatch(name) or name == "0000":
        raise InputError(ReasonClass.WRONG_TYPE, "the name of a year is not four digits")
    year = checked(_Year, content)
    return SearchSnapshot(
        query=Query.from_text(question.question),
        observed_at=datetime(int(name), 12, 31, 23, 59, 59, tzinfo=UTC),
        documents=ranked(year.docs, limits),
        provenance=question.provenance,
        labels=Labels(
            answers=year.answer,
            all_answers_required=year.all_answers_required,
            target=year.incorrect_answer or None,
            false_passages=year.incorrect_context,
        ),
    )
