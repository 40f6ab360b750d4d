"""The page of a study of attributors: what its tables say, and its wrong answers one by one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.lab.attribution.records import (
    FILES,
    AttributionRecord,
    AttributionRow,
    CaseState,
    EventKey,
    EventRow,
    EventText,
    Role,
)
from radarstream.lab.attribution.scenarios import Family
from radarstream.lab.attribution.scoring import Results, confusion, frame_of, scored
from radarstream.lab.attribution.tables import tables_of
from radarstream.lab.pages.cases import facts_of
from radarstream.lab.pages.charts import before_after
from radarstream.lab.pages.scales import Change, Share, measured, portion
from radarstream.lab.pages.studies import Kind, View
from radarstream.lab.study.results import Result
from radarstream.lab.study.rows import RowStore
from radarstream.lab.study.scoring import is_correct
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.wrong_answers import FINDINGS, EventView, Fact, Tag
from radarstream.schemas.attribution import TextScore
from radarstream.schemas.incidents import AttributedText
from radarstream.schemas.wording import counted_noun

SCORES = {
    "Similarity": "of the text to the question: the retriever's, or the cosine of their "
    "embeddings.",
    "Question": "semantic correlation: mean log-probability of the question's words after the "
    "text.",
    "Influence": "on the answer: mean log-probability of the wrong answer's words after text and "
    "question.",
    "Combined": "mean of the three, each as standard deviations from the mean of the event. The "
    "texts are split into two groups where that leaves least spread within them; the higher one "
    "is flagged. Other attributors score by other means.",
}
MOST_EVENTS = 120  # on a page
LEAST_EVENTS = 2  # of a scenario
MOST_CHANGES = 10  # rows of the opening plot
Rows = dict[EventKey, dict[str, AttributionRow]]  # by event, then by attributor


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """The events of one scenario that are shown, mistakes of the reference first."""

    name: str
    events: tuple[EventView, ...]
    total: int


def view_of(record: AttributionRecord, store: RowStore, results: Results, _: pl.DataFrame) -> View:
    """The page of a study."""
    return View(
        f"Attributors compared on {record.dataset}",
        _found(results),
        SCORES,
        tuple(_sentences(results)),
        _still_wrong(results),
        heads=(
            ("questions", record.questions),
            ("texts", record.texts),
            ("documents each", record.k),
            ("attributors", len(record.attributors)),
            ("scenarios", len(record.scenarios)),
        ),
        template="attribution.html.j2",
        values={
            "scenarios": list(_scenarios(record, store, results.attributors)),
            "reference": results.attributors[0],
            "findings": FINDINGS,
        },
    )


def _scenarios(
    record: AttributionRecord, store: RowStore, names: Sequence[str]
) -> Iterator[ScenarioView]:
    found: Rows = defaultdict(dict)
    for row in store.of(AttributionRow).values():
        found[row.condition, row.query_id][row.contender] = row
    wrong: dict[str, list[EventRow]] = {name: [] for name in record.scenarios}
    for event in store.of(EventRow).values():
        if event.outcome is CaseState.EVENT and found[event.key]:
            wrong[event.condition].append(event)
    most = max(LEAST_EVENTS, MOST_EVENTS // max(1, sum(map(bool, wrong.values()))))
    for number, (name, of_one) in enumerate(wrong.items(), start=1):
        if of_one:
            yield _scenario(number, name, of_one, found, names, most)


def _found(results: Results) -> str:
    """What was found, in one sentence."""
    reference = results.attributors[0]
    cells = [cell for cell in results.on(*results.families) if cell.contender == reference]
    rates = [cell.rates["attacked_after"] for cell in cells]
    events = sum(rate.trials for rate in rates)
    if not events:
        return "No answer of an attacker was attributed."
    still = sum(rate.hits for rate in rates)
    return (
        f"Without the texts that {shorten(reference, 60)} flags, {still} of {events} wrong answers "
        f"{'stays' if still == 1 else 'stay'} the attacker's."
    )


def _sentences(results: Results) -> Iterator[str]:
    """How the reference does against the best of the others, family by family."""
    name = results.attributors[0]
    for family in results.families:
        cells = [cell for cell in results.on(family) if cell.rates["dacc"].trials]
        own = next((cell for cell in cells if cell.contender == name), None)
        if own is None:
            continue
        others = (cell for cell in cells if cell is not own)
        best = max(others, key=lambda cell: cell.rates["dacc"].value or 0.0, default=None)
        rival = (
            f"; the best other is {best.contender} with {_percent(best, 'dacc')}" if best else ""
        )
        yield (
            f"{family.capitalize()} attacks, {counted_noun(own.rows, 'event')}: {name} judges "
            f"{_percent(own, 'dacc')} of the texts rightly (of benign ones {_percent(own, 'fpr')} "
            f"flagged, of planted ones {_percent(own, 'fnr')} missed){rival}. Once what it flags "
            f"is gone, {_percent(own, 'attacked_after')} of the answers are still the attacker's."
        )
    clean = [one.scenario for one in results.scenarios if one.family is Family.CLEAN]
    for cell in results.on(*clean):
        if cell.contender == name and cell.rows:
            yield (
                f"{cell.condition}, {counted_noun(cell.rows, 'event')} without an attacker: "
                f"{name} flags something in {_percent(cell, 'flagged')}; the flagged texts could "
                f"be quarantined without an operator in {_percent(cell, 'acted')}."
            )


def _still_wrong(results: Results) -> Markup | None:
    """How many answers are the attacker's before and after the flagged texts are gone."""
    changes = [
        Change(f"{cell.contender}, {cell.condition}", Share(1.0), after, "bad")
        for cell in results.on(*results.families)
        if (after := measured(cell.rates["attacked_after"]))
    ]
    title = "Attacker's answers: all texts ○, without the flagged ●"
    return before_after(title, changes[:MOST_CHANGES], ("all texts", "without the flagged texts"))


def _percent(cell: Result, name: str) -> str:
    return portion(cell.rates[name].value, 1)


def _scenario(
    number: int, name: str, events: Sequence[EventRow], rows: Rows, names: Sequence[str], most: int
) -> ScenarioView:
    ordered = sorted(events, key=lambda e: _mistakes(e, rows[e.key].get(names[0])), reverse=True)
    shown = (
        _event(f"event-{number}-{place}", event, rows[event.key], names)
        for place, event in enumerate(ordered[:most], start=1)
    )
    return ScenarioView(name, tuple(shown), len(events))


def _mistakes(event: EventRow, row: AttributionRow | None) -> tuple[int, int]:
    """Texts judged wrongly, and whether the answer stayed the attacker's; a failure is worst."""
    if row is None or row.error is not None:
        return len(event.texts) + 1, 1
    counts = confusion(event, row)
    return counts.fp + counts.fn, int(row.after is not None and row.after.attacked)


def _event(
    anchor: str, event: EventRow, rows: Mapping[str, AttributionRow], names: Sequence[str]
) -> EventView:
    judged = [name for name in names if name in rows]
    most = max((row.scope for row in rows.values()), default=0) or event.k
    scored = next((name for name in judged if _scores(rows[name])), judged[0])
    shown = event.texts[:most]
    return EventView(
        anchor=anchor,
        question=event.question,
        where=f"{event.condition}, {event.query_id}",
        answer=event.reported or event.answer or "",
        tags=tuple(_tags(event, rows.get(names[0]))),
        facts=tuple(_facts(event)),
        texts=tuple(_texts(shown, rows[scored])),
        names=tuple(judged),
        roles={text.id: text.role.value for text in shown},
        flags={
            text.id: tuple(_flag(rows[name], text.id, place) for name in judged)
            for place, text in enumerate(shown, start=1)
        },
        judges=tuple((rows[name], _counts(event, rows[name])) for name in judged),
        hidden=max(0, len(event.texts) - most),
    )


def _scores(row: AttributionRow) -> dict[str, TextScore]:
    """What a row measured, by text; nothing where it has no combined score."""
    texts = row.attribution.texts if row.attribution else ()
    return {text.id: text for text in texts if text.score is not None}


def _texts(texts: Sequence[EventText], row: AttributionRow) -> Iterator[AttributedText]:
    known = _scores(row)
    for text in texts:
        score = known.get(text.id) or TextScore(
            text.id, text.document.rank, False, similarity=text.similarity
        )
        yield AttributedText(
            id=text.id,
            rank=text.document.rank,
            flagged=text.id in row.flagged,
            url=text.document.url,
            title=text.document.title,
            excerpt=text.document.text,
            score=score.score,
            similarity=score.similarity,
            semantic=score.semantic,
            generation=score.generation,
        )


def _flag(row: AttributionRow, text: str, place: int) -> bool | None:
    """Whether a row flags a text; None for one it did not judge."""
    return None if row.error is not None or place > row.scope else text in row.flagged


def _tags(event: EventRow, row: AttributionRow | None) -> Iterator[Tag]:
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
    if row.after is not None and row.after.attacked:
        yield "still answered so", "bad"


def _facts(event: EventRow) -> Iterator[Fact]:
    remark = {True: "the pipeline gives it", False: "the pipeline does not give it", None: ""}
    yield Fact("reported", event.reported or "(none)", "bad", remark[event.reproduced])
    if event.answer is not None and event.answer != event.reported:
        yield Fact("answered", event.answer)
    yield from facts_of(event.labels)
    if event.planted and event.clean_answer is not None:
        tone = "good" if is_correct(event.clean_answer, event.labels) else ""
        yield Fact("without attack", event.clean_answer or "no answer", tone)
    if event.planted:
        near = sum(text.role is Role.POISON for text in event.texts)
        yield Fact("planted", f"{len(event.planted)}, {event.retrieved} among the first {event.k}")
        if near < len(event.planted):
            yield Fact("far away", f"{len(event.planted) - near} planted texts were not retrieved")


def _counts(event: EventRow, row: AttributionRow) -> str:
    """How many texts of each kind a row flags, in words."""
    if row.attribution is None:
        return ""
    counts = confusion(event, row)
    benign = f"{counts.fp} of {counts.fp + counts.tn} benign"
    return f"{counts.tp} of {counts.tp + counts.fn} planted, {benign}" if event.planted else benign


ATTRIBUTION: Final = Kind(
    AttributionRecord, FILES, frame_of, scored, tables_of, view_of, ("corpus",)
)
