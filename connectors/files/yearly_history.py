"""Yearly search histories: the format of RADAR's dynamic data set (its appendix P).

A file holds one object or a list of them: a question and, for every year, the right answers, the
documents a search restricted to that year returned, and a wrong answer with passages that claim
it.

A year is observed at its last second, because its documents may date from any day of it.
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
    """A document as an object. Raises InputError where nothing is said of its text."""
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
    """Yield one snapshot per year of a question, the years in order.

    A year that cannot be used comes with the reason, and so does the whole item when it has no
    readable question or years. Page text is the content, or the snippet if there is none; a
    document may also be its text alone. Empty text is an empty page; neither content nor snippet
    is an error.
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
