"""PoisonedRAG's attack targets: a question, its right and a wrong answer, and passages for that.

They come without documents: the snapshots have none, and their labels are for whoever has a
corpus. A file is one object with an entry per name; an entry by itself is read too.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from radarstream.connectors.files.json_items import members_of
from radarstream.connectors.files.page_text import PageText, PageTexts
from radarstream.connectors.files.robust_rag import UNDATED, literal
from radarstream.connectors.files.web_json import checked, record_of, refused
from radarstream.schemas.answer_text import expanded_answers
from radarstream.schemas.errors import InputError
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Labels, Provenance, Query, SearchSnapshot

FALSE_PASSAGES = "adv_texts"


class _Target(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    question: PageText
    correct: PageTexts = Field(default=(), alias="correct answer")
    incorrect: PageText = Field(default="", alias="incorrect answer")
    adv_texts: PageTexts = ()


def is_targets(item: dict[str, Any]) -> bool:
    """Whether an item is an entry of such a file, or all of one."""
    values = item.values()
    return FALSE_PASSAGES in item or any(
        isinstance(v, dict) and FALSE_PASSAGES in v for v in values
    )


def target_records(item: dict[str, Any], original: str, limits: Limits) -> Iterator[RawRecord]:
    """Yield a snapshot without documents per entry, in file order; of an entry that cannot be used
    its part of the `original` text, with the reason.
    """
    if FALSE_PASSAGES in item:
        yield _record(item, original, limits)
        return
    parts = {name: original[whole] for name, whole, _ in members_of(original)}
    for name, entry in item.items():
        yield _record(entry, parts[name], limits)


def _record(entry: Any, original: str, limits: Limits) -> RawRecord:
    try:
        snapshot = _snapshot(checked(_Target, _parsed(entry)))
        return record_of(snapshot, limits)
    except InputError as error:
        return refused(original, error)


def _parsed(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    names = ("correct answer", FALSE_PASSAGES)
    return entry | {name: literal(entry[name]) for name in names if name in entry}


def _snapshot(target: _Target) -> SearchSnapshot:
    wrong = target.incorrect or None
    return SearchSnapshot(
        query=Query.from_text(target.question),
        observed_at=UNDATED,
        documents=(),
        provenance=Provenance.ARCHIVED,
        labels=Labels(
            answers=expanded_answers(target.correct, (), wrong),
            target=wrong,
            false_passages=target.adv_texts,
        ),
    )
