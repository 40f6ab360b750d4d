"""The page of a study of attributors: what its tables say, and its wrong answers one by one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from radarstream.connectors.models.tiers import limits, model_facts, tier_of
from radarstream.pipelines.evaluation.attribution.records import AttributionRecord
from radarstream.pipelines.evaluation.attribution.results import AttributorSummary, Results, correct
from radarstream.pipelines.evaluation.attribution.rows import (
    AttributionRow,
    CaseState,
    EventKey,
    EventRow,
    EventText,
    Role,
)
from radarstream.pipelines.evaluation.attribution.scenarios import Family, parse_scenario
from radarstream.pipelines.evaluation.attribution.scoring import confusion
from radarstream.pipelines.evaluation.attribution.tables import REFERENCE, tables_of
from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import before_after
from radarstream.pipelines.pages.incidents.event_view import EventView, Fact, Tag
from radarstream.pipelines.pages.incidents.words import FINDINGS, SCORES
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.scales import Change, Share, share
from radarstream.schemas.attribution import TextScore
from radarstream.schemas.incidents import AttributedText

STUDY: Final = "report.html"
MOST_EVENTS = 120  # on a page
LEAST_EVENTS = 2  # of a scenario
MOST_CHANGES = 10  # rows of the opening plot
ANSWERS = 5  # right answers that are named
Rows = dict[EventKey, dict[str, AttributionRow]]  # by event, then by attributor


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """The events of one scenario that are shown, mistakes of the reference first."""

    name: str
    events: tuple[EventView, ...]
    total: int


def write_study_page(
    out: Path,
    record: AttributionRecord,
    events: Iterable[EventRow],
    rows: Iterable[AttributionRow],
    results: Results,
) -> Path:
    """Write the page of a study into its directory and return its path. Rows and events of
    questions that were not asked are left out by the caller.
    """
    names = sorted((spec.name for spec in record.attributors), key=lambda name: name != REFERENCE)
    scenarios = list(_scenarios(record, events, rows, names))
    page = frame.Page(
        title=f"Attributors compared on {record.dataset}",
        sentence=_found(results, names[0]),
        more=tuple(_sentences(results, names)),
        plot=_still_wrong(results, names),
        links=[("#tables", "Tables", True), ("#events", "Wrong answers", scenarios)],
        words=SCORES,
        heads=(
            ("questions", record.questions),
            ("half", record.half),
            ("texts", record.texts),
            ("documents each", record.k),
            ("attributors", len(record.attributors)),
            ("scenarios", len(record.scenarios)),
            ("language model", tier_of(record.models.get("generator", ""))),
        ),
        notes=(*limits(record.models), *record.notes),
        provenance=[
            ("digest of the data", record.dataset_digest),
            ("revision", record.revision),
            ("seed", record.seed),
            ("seconds", f"{record.seconds:.0f}"),
            *model_facts(record.models),
            *record.versions.items(),
            *((f"prompt {task}", digest) for task, digest in sorted(record.prompts.items())),
        ],
        command=record.command,
        settings=record.settings,
    )
    text = frame.render("attribution.html.j2", page, scenarios=scenarios, reference=names[0],
                        tables_found=tables_of(results, names), findings=FINDINGS)  # fmt: skip
    (out / STUDY).write_text(text, encoding="utf-8")
    return out / STUDY


def _scenarios(
    record: AttributionRecord,
    events: Iterable[EventRow],
    rows: Iterable[AttributionRow],
    names: Sequence[str],
) -> Iterator[ScenarioView]:
    found: Rows = defaultdict(dict)
    for row in rows:
        found[row.scenario, row.query_id][row.attributor] = row
    wrong: dict[str, list[EventRow]] = {name: [] for name in record.scenarios}
    for event in events:
        if event.outcome is CaseState.EVENT and found[event.key] and event.scenario in wrong:
            wrong[event.scenario].append(event)
    most = max(LEAST_EVENTS, MOST_EVENTS // max(1, sum(map(bool, wrong.values()))))
    for number, (name, of_one) in enumerate(wrong.items(), start=1):
        if of_one:
            yield _scenario(number, name, of_one, found, names, most)


def _found(results: Results, reference: str) -> str:
    """What was found, in one sentence."""
    rates = [c.attacked_after for c in results.by_family if c.attributor == reference]
    events = sum(rate.trials for rate in rates)
    if not events:
        return "No answer of an attacker was attributed."
    still = sum(rate.hits for rate in rates)
    return (
        f"Without the texts that {shorten(reference, 60)} flags, {still} of {events} wrong answers "
        f"{'stays' if still == 1 else 'stay'} the attacker's."
    )


def _sentences(results: Results, names: Sequence[str]) -> Iterator[str]:
    """How the reference does against the best of the others, family by family."""
    for family in Family:
        cells = [c for c in results.by_family if c.group == family.value and c.scores]
        own = next((c for c in cells if c.attributor == names[0]), None)
        if own is None:
            continue
        others = [c for c in cells if c.attributor != names[0]]
        best = max(others, key=_right, default=None)
        rival = f"; the best other is {best.attributor} with {_right(best):.1%}" if best else ""
        yield (
            f"{family.value.capitalize()} attacks, {counted_noun(own.events, 'event')}: "
            f"{names[0]} judges {_right(own):.1%} of the texts rightly (of benign ones "
            f"{own.scores['fpr'].micro:.1%} flagged, of planted ones {own.scores['fnr'].micro:.1%} "
            f"missed){rival}. Once what it flags is gone, {_percent(own.attacked_after)} of the "
            "answers are still the attacker's."
        )

    for cell in results.by_scenario:
        if cell.attributor == names[0] and parse_scenario(cell.group).clean and cell.events:
            yield (
                f"{cell.group}, {counted_noun(cell.events, 'event')} without an attacker: "
                f"{names[0]} flags something in {_percent(cell.flagged)}; the flagged texts could "
                f"be quarantined without an operator in {_percent(cell.acted)}."
            )


def _still_wrong(results: Results, names: Sequence[str]) -> Markup | None:
    """How many answers are the attacker's before and after the flagged texts are gone."""
    changes = [
        Change(f"{name}, {cell.group} attacks", Share(1.0), after, "bad")
        for name in names
        for cell in results.by_family
        if cell.attributor == name
        and (after := share(cell.attacked_after.value, *cell.attacked_after.interval))
    ]
    title = "Attacker's answers: all texts ○, without the flagged ●"
    return before_after(title, changes[:MOST_CHANGES], ("all texts", "without the flagged texts"))


def _right(cell: AttributorSummary) -> float:
    return cell.scores["dacc"].micro


def _percent(rate: Rate) -> str:
    return "an unknown share" if rate.value is None else f"{rate.value:.1%}"


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
        where=f"{event.scenario}, {event.query_id}",
        answer=event.reported or event.answer or "",
        tags=tuple(_tags(event, rows.get(names[0]))),
        facts=tuple(_facts(event)),
        texts=tuple(_texts(shown, rows[scored])),
        scored_by=scored,
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
    if event.planted and event.target is not None:
        yield Fact("attacker's aim", event.target)
    if event.answers:
        yield Fact("right", ", ".join(event.answers[:ANSWERS]), "good")
    if event.planted and event.clean_answer is not None:
        tone = "good" if correct(event, event.clean_answer) else ""
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
