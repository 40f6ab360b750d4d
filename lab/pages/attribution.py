"""The page of a study of attributors: what removal changes, and wrong answers one by one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from radarstream.lab.attribution.records import (
    FILES,
    REFERENCE,
    AttributionRow,
    CaseState,
    EventKey,
    EventRow,
    EventText,
    Role,
)
from radarstream.lab.attribution.scoring import AttributionResults, confusion, frame_of, scored
from radarstream.lab.attribution.tables import tables_of
from radarstream.lab.pages.cases import (
    Cases,
    CaseView,
    Entry,
    TextRow,
    answer_entry,
    cases_from,
    facts_of,
)
from radarstream.lab.pages.charts import Share
from radarstream.lab.pages.leads import Lead, leads_of
from radarstream.lab.pages.studies import Display
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import RowStore
from radarstream.pipelines.pages.wrong_answers import FINDINGS, Fact, Tag
from radarstream.schemas.attribution import TextScore


def leads(results: AttributionResults) -> list[Lead]:
    """How many answers are the attacker's once the flagged texts are gone, and how many right."""
    words = ("attacker's answers after removal", "accuracy after removal")
    columns = ("attacked_after", "correct_after")
    return leads_of(results, columns, words, before=Share(1.0))


def cases_of(record: StudyRecord, store: RowStore, _: pl.DataFrame) -> Cases:
    """The cases, those first in which the reference judges most texts wrongly."""
    rows: defaultdict[EventKey, dict[str, AttributionRow]] = defaultdict(dict)
    for row in store.of(AttributionRow).values():
        rows[row.condition, row.query_id][row.contender] = row
    events = {
        key: event
        for key, event in store.of(EventRow).items()
        if event.outcome is CaseState.EVENT and rows[key]
    }
    first = REFERENCE if REFERENCE in record.names else record.names[0]

    def dullness(key: EventKey) -> int:  # fewer texts judged wrongly; a failure is worst
        event, row = events[key], rows[key].get(first)
        if row is None or row.error is not None:
            return -len(event.texts) - 1
        counts = confusion(event, row)
        return -counts.fp - counts.fn

    def show(anchor: str, key: EventKey) -> CaseView:
        judged = [rows[key][name] for name in record.names if name in rows[key]]
        return _case(anchor, events[key], judged, rows[key].get(first))

    order = f"{first} judges most texts wrongly"
    return cases_from(record.conditions, events, dullness, show, order)


def _case(
    anchor: str, event: EventRow, rows: Sequence[AttributionRow], first: AttributionRow | None
) -> CaseView:
    most = max((row.scope for row in rows), default=0) or event.k
    return CaseView(
        anchor,
        event.question,
        f"{event.condition}, {event.query_id}",
        tuple(_tags(event, first)),
        tuple(_facts(event)),
        ("attributor", "finding", "flagged", "answer without them"),
        tuple(_found(event, row) for row in rows),
        ("is", "similarity", *(row.contender for row in rows)),
        tuple(_texts(event.texts[:most], rows)),
        max(0, len(event.texts) - most),
    )


def _tags(event: EventRow, row: AttributionRow | None) -> Iterator[Tag]:
    """What the first attributor makes of a case."""
    if row is None:
        return
    if row.error is not None:
        yield "failed", "other"
        return
    counts = confusion(event, row)
    if counts.fn:
        yield f"{counts.fn} planted missed", "bad"
    if counts.fp:
        yield f"{counts.fp} benign flagged", "other"
    if not counts.fn and not counts.fp:
        yield "all judged rightly", "good"


def _facts(event: EventRow) -> Iterator[Fact]:
    remark = {True: "the pipeline gives it", False: "the pipeline does not give it", None: ""}
    yield Fact("reported", event.reported or "(none)", "bad", remark[event.reproduced])
    yield from facts_of(event.labels)
    if event.planted:
        yield Fact("without attack", event.clean_answer or "no answer")
        yield Fact("planted", f"{len(event.planted)}, {event.retrieved} among the first {event.k}")


def _found(event: EventRow, row: AttributionRow) -> tuple[Entry, ...]:
    """What an attributor found, and what is answered without the texts that it flags."""
    if row.attribution is None or row.after is None:
        return Entry(row.contender), Entry(f"failed: {row.error}"), Entry(), Entry()
    counts = confusion(event, row)
    benign = f"{counts.fp} of {counts.fp + counts.tn} benign"
    planted = f"{counts.tp} of {counts.tp + counts.fn} planted, " if event.planted else ""
    detail = row.attribution.detail
    return (
        Entry(row.contender),
        Entry(FINDINGS[row.attribution.finding], detail),
        Entry(planted + benign),
        answer_entry(row.after.answer or None, event.labels),
    )


def _texts(texts: Sequence[EventText], rows: Sequence[AttributionRow]) -> Iterator[TextRow]:
    """The texts with what each attributor makes of them."""
    scores: list[Mapping[str, TextScore]] = [
        {one.id: one for one in row.attribution.texts} if row.attribution else {} for row in rows
    ]
    for place, text in enumerate(texts, start=1):
        entries = [
            _judged(row, known.get(text.id), place) for row, known in zip(rows, scores, strict=True)
        ]
        planted = text.role is Role.POISON
        look = "" if planted else "muted"
        yield TextRow(
            text.document.rank,
            text.document,
            planted,
            (Entry(str(text.role), look=look), Entry(f"{text.similarity:.3f}"), *entries),
        )


def _judged(row: AttributionRow, score: TextScore | None, place: int) -> Entry:
    """Whether a row flags the text at a place of the case, with its scores."""
    if row.error is not None or place > row.scope:
        return Entry("–")
    flagged = score is not None and score.flagged
    words = {"score": "score", "semantic": "question", "generation": "influence"}
    known = {word: getattr(score, name, None) for name, word in words.items()}
    told = [f"{word} {value:.2f}" for word, value in known.items() if value is not None]
    return Entry("flagged" if flagged else "kept", ", ".join(told), "strong" if flagged else "")


ATTRIBUTION: Final = Display(
    "attribution", "Attributors compared on", FILES, frame_of, scored, tables_of, leads,
    cases=cases_of, long=("corpus",),
)  # fmt: skip
