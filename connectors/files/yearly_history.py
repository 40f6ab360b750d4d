"""Yearly search histories: the format of RADAR's dynamic data set (its appendix P).

A file holds one object or a list of them: a question and, for every year, the right answers, the
documents a search restricted to that year returned, and a wrong answer with passages that claim
it. The example printed in the paper closes a brace too early, so that the wrong answer follows
its year instead of being inside it and later years stand beside `yearly_contexts`; both forms
are read.

A year is observed at its last second, because its documents may date from any day of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from radarstream.connectors.files.json_items import JsonObject, members_of
from radarstream.connectors.files.web_json import (
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
FALSEHOODS = ("incorrect_answer", "incorrect_context")
TEXTS = ("content", "snippet")
_YEAR = re.compile(r"[0-9]{4}")


class _Page(BaseModel):
    title: PageText = ""
    url: PageText = ""
    snippet: PageText = ""
    content: PageText = ""

    @property
    def text(self) -> str:
        return self.content if self.content.strip() else self.snippet


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
    docs: tuple[Annotated[_Page, BeforeValidator(_page)], ...]
    incorrect_answer: PageText = ""
    incorrect_context: PageTexts = ()
    all_answers_required: bool = False


class _Question(BaseModel):
    question: PageText
    provenance: Provenance = Provenance.DATE_RESTRICTED


@dataclass(frozen=True, slots=True)
class _Block:
    """What a file says about one question in one year, unchecked.

    It is member number `place` of the contexts, or of the item itself where it is `astray`.
    """

    key: str
    content: Any
    place: int
    astray: bool


def yearly_records(item: Any, original: str, limits: Limits) -> Iterator[RawRecord]:
    """Yield one snapshot per year of a question, the years in order.

    A year that cannot be used comes as its part of the `original` text with the reason. The whole
    item does when it has no readable question or years, or no other year. Page text is the
    content, or the snippet if there is none; a document may also be its text alone. Empty
    text is an empty page; neither content nor snippet is an error.
    """
    try:
        question = checked(_Question, item)
        blocks = _blocks(item)
    except InputError as error:
        yield refused(original, error)
        return
    for block in blocks:
        try:
            yield record_of(_snapshot(question, block, limits), limits)
        except InputError as error:
            detail = f"year {ascii(block.key)[:20]}: {error.detail}"
            part = original if len(blocks) == 1 else _part(original, block)
            yield refused(part, InputError(error.reason, detail))


def _part(original: str, block: _Block) -> str:
    """The year as it stands in the file, with its name."""
    members = list(members_of(original))
    if not block.astray:
        original = original[{name: value for name, _, value in members}[CONTEXTS]]
        members = list(members_of(original))
    return original[members[block.place][1]]


def _blocks(item: JsonObject) -> list[_Block]:
    contexts = item.get(CONTEXTS)
    if not isinstance(contexts, JsonObject):
        raise InputError(ReasonClass.MISSING_FIELD, f"{CONTEXTS} is missing or not an object")
    found = [(*member, place, False) for place, member in enumerate(contexts.pairs)]
    found += [
        (name, value, place, True)
        for place, (name, value) in enumerate(item.pairs)
        if name in FALSEHOODS or _YEAR.fullmatch(name)
    ]
    blocks: list[_Block] = []
    for name, value, place, astray in found:
        if name not in FALSEHOODS:
            blocks.append(_Block(name, value, place, astray))
        elif blocks and isinstance(blocks[-1].content, dict):
            # Mis-nested: it belongs to the year it follows, unless that year has its own.
            blocks[-1].content.setdefault(name, value)
    if not blocks:
        raise InputError(ReasonClass.MISSING_FIELD, f"{CONTEXTS} has no years")
    return sorted(blocks, key=lambda block: block.key)


def _snapshot(question: _Question, block: _Block, limits: Limits) -> SearchSnapshot:
    if not _YEAR.fullmatch(block.key) or block.key == "0000":
        raise InputError(ReasonClass.WRONG_TYPE, "the name of a year is not four digits")
    year = checked(_Year, block.content)
    return SearchSnapshot(
        query=Query.from_text(question.question),
        observed_at=datetime(int(block.key), 12, 31, 23, 59, 59, tzinfo=UTC),
        documents=ranked(year.docs, limits),
        provenance=question.provenance,
        labels=Labels(
            answers=year.answer,
            all_answers_required=year.all_answers_required,
            target=year.incorrect_answer or None,
            false_passages=year.incorrect_context,
        ),
    )
