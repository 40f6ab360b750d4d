"""The page of incidents: the attribution, the decision, and the complaints behind each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import bars
from radarstream.pipelines.pages.incidents.event_view import (
    EventView,
    Fact,
    Happening,
    SourceWords,
)
from radarstream.pipelines.pages.incidents.sources_view import SourcesView, sources_page
from radarstream.pipelines.pages.incidents.words import (
    DECIDED,
    DECISIONS,
    FINDINGS,
    INCIDENTS,
    MODEL_ERRED,
    NOT_LOOKED,
    SAID,
    SCORES,
    SOURCES,
    VERDICTS,
    WAITING,
)
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.scales import Axis, Segment
from radarstream.schemas.incidents import PIPELINE, TaughtEvent

SHORT_ID = 8


@dataclass(frozen=True, slots=True)
class HeldText:
    """A text that a wrong answer is blamed on, and whether it is left out now."""

    url: str
    title: str
    active: bool
    everywhere: bool
    released: bool


@dataclass(frozen=True, slots=True)
class Incident:
    """All that is stored of one wrong answer; `event` is None before the attribution."""

    id: str
    event: TaughtEvent | None
    life: store.Incident | None
    complaints: tuple[StoredComplaint, ...]
    held: tuple[HeldText, ...]


@dataclass(frozen=True, slots=True)
class StreamView:
    """The whole page. `waiting` are complaints without an attribution, `decisions` count attributed
    answers by words and tone. `undefended` and so on are how many of the incidents with that
    answer at hand have the wrong one, and how many there are.
    """

    events: tuple[EventView, ...]
    waiting: tuple[StoredComplaint, ...]
    decisions: tuple[tuple[str, str, int], ...]
    left_out: int
    senders: int
    undefended: tuple[int, int]
    defended: tuple[int, int]
    without: tuple[int, int]


def anchor_of(number: int) -> str:
    """The place on the page of the attributed answer with this number, from 1 on."""
    return f"event-{number}"


def stream_view(
    incidents: Sequence[Incident], standing_of: Callable[[str], SourceWords | None] = lambda _: None
) -> StreamView:
    """Arrange what is stored, attributed answers first in the order given.

    `standing_of` tells what the ledger has of the source of an address.
    """
    attributed = [(one, one.event) for one in incidents if one.event is not None]
    events = [event for _, event in attributed]
    counted = Counter(map(decided, events))
    people = {r.sender for one in incidents for r in one.complaints} - {PIPELINE}
    bare = [e.undefended_answer == e.answer for e in events if e.undefended_answer is not None]
    defended = [event.defended_answer == event.answer for event in events]
    without = [event.persists for event in events if event.persists is not None]
    return StreamView(
        events=tuple(
            _event(anchor_of(number), one, event, standing_of)
            for number, (one, event) in enumerate(attributed, start=1)
        ),
        waiting=tuple(c for one in incidents if one.event is None for c in one.complaints),
        decisions=tuple(
            (*told, counted[told]) for told in (*DECISIONS.values(), MODEL_ERRED) if counted[told]
        ),
        left_out=len({(h.url, h.title) for one in incidents for h in one.held if h.active}),
        senders=len(people),
        undefended=(sum(bare), len(bare)),
        defended=(sum(defended), len(defended)),
        without=(sum(without), len(without)),
    )


def decided(event: TaughtEvent) -> tuple[str, str]:
    """What was decided, in words, and its tone."""
    return MODEL_ERRED if event.model_erred else DECISIONS[event.status]


def incidents_of(
    events: Sequence[TaughtEvent],
    lives: Mapping[str, store.Incident],
    complaints: Sequence[StoredComplaint],
    held: Mapping[str, Sequence[HeldText]],
) -> list[Incident]:
    """Everything by the wrong answer it is about: attributed ones as given, then those waiting."""
    told: defaultdict[str, list[StoredComplaint]] = defaultdict(list)
    for complaint in sorted(complaints, key=lambda complaint: complaint.received_ms):
        told[complaint.incident].append(complaint)
    known = {event.incident: event for event in events}
    return [
        Incident(
            name, known.get(name), lives.get(name), tuple(told[name]), tuple(held.get(name, ()))
        )
        for name in dict.fromkeys((*known, *told))
    ]


def _event(
    anchor: str,
    incident: Incident,
    event: TaughtEvent,
    standing_of: Callable[[str], SourceWords | None],
) -> EventView:
    return EventView(
        anchor=anchor,
        question=event.question,
        where=f"{event.query_id}, {event.observed_at:%Y-%m-%d %H:%M}",
        answer=event.answer,
        tags=(decided(event), *[("noticed by the pipeline", "")] * event.self_detected),
        facts=tuple(_facts(event)),
        texts=event.texts,
        scored_by=event.attributor,
        standings={text.id: standing_of(text.url) for text in event.texts},
        life=tuple(_life(incident, event)),
        advice=tuple(_advice(incident, event)),
    )


def _facts(event: TaughtEvent) -> Iterator[Fact]:
    given = {True: "the pipeline gave it", False: "the pipeline did not give it", None: ""}
    yield Fact("wrong answer", event.answer or "(none)", "bad", given[event.reproduced])
    if event.flagged:
        tone = {True: "bad", False: "good", None: ""}[event.persists]
        remark = {True: "still the same", False: "no longer the same", None: ""}[event.persists]
        yield Fact("without flagged", event.answer_without or "no answer", tone, remark)
    if event.defended_answer != event.answer:
        yield Fact("defended", event.defended_answer or "no answer")
    if event.undefended_answer is not None and event.undefended_answer != event.answer:
        yield Fact("undefended", event.undefended_answer or "no answer")
    found = f"{FINDINGS[event.finding]}, by {event.attributor}" if event.finding else NOT_LOOKED
    yield Fact("attribution", found)
    if event.gap is not None:
        yield Fact("separation", frame.decimal(event.gap), "", _gap_words(event))
    yield Fact("decision", decided(event)[0], "", event.detail)


def _gap_words(event: TaughtEvent) -> str:
    words = "between the mean scores of flagged and other texts"
    if event.generation_gap is None:
        return words
    gap = frame.decimal(event.generation_gap, signed=True)
    return f"{words}; {gap} in the influence on the answer"


def _life(incident: Incident, event: TaughtEvent) -> Iterator[Happening]:
    told: list[tuple[int, str, str]] = [
        (c.received_ms, f"complaint by {shorten(c.sender, 80)}", c.comment)
        if c.sender != PIPELINE
        else (c.received_ms, "noticed by the pipeline itself", c.comment)
        for c in incident.complaints
    ]
    life = incident.life
    if life and life.attributed_ms is not None:
        calls = "1 model call" if life.model_calls == 1 else f"{life.model_calls} model calls"
        done = "attributed in" if event.finding else "looked into with"
        told.append((life.attributed_ms, f"{done} {calls}", ""))
    if life and life.decision is not None and life.decided_ms is not None:
        scope = ", for all queries" if life.everywhere else ""
        told.append((life.decided_ms, f"{SAID[life.decision]} by a person{scope}", ""))
    yield from sorted(told, key=lambda happening: happening[0])
    yield None, f"now: {decided(event)[0]}", ""
    for state, count in Counter(map(_state, incident.held)).items():
        yield None, f"{count} of {len(incident.held)} texts {state}", ""


def _state(text: HeldText) -> str:
    if text.active:
        return "left out of all queries" if text.everywhere else "left out of this query"
    return "released by a person" if text.released else "named, not left out"


def _advice(incident: Incident, event: TaughtEvent) -> list[str]:
    """Commands that decide about it, where a person should."""
    if event.model_erred or not incident.complaints:
        return []
    short = incident.id[:SHORT_ID]
    return [f"radarstream incidents {word} {short}" for word in VERDICTS.get(event.status, ())]


def write_stream_pages(
    out: Path,
    stream: StreamView,
    sources: SourcesView,
    heads: Sequence[tuple[str, object]],
    *,
    most: int,
    more: bool = False,
) -> tuple[Path, Path]:
    """Write both pages into a directory and return their paths: incidents, sources.

    `more` says that there are more incidents than the `most` that are shown.
    """
    limit = f"Only the newest are shown: there are more than {most}. A greater --limit shows them."
    page = frame.Page(
        title="Wrong answers and the texts that taught them",
        sentence=_found(stream),
        plot=_answers(stream),
        links=[
            ("#events", "Incidents", stream.events),
            ("#waiting", "Waiting", stream.waiting),
            (SOURCES, "Sources →", True),
        ],
        words=SCORES | DECIDED,
        heads=heads,
        notes=[limit] if more else [],
    )
    text = frame.render("incidents.html.j2", page, view=stream, waiting=WAITING, findings=FINDINGS)
    (out / INCIDENTS).write_text(text, encoding="utf-8")
    (out / SOURCES).write_text(sources_page(sources, heads), encoding="utf-8")
    return out / INCIDENTS, out / SOURCES


def _found(view: StreamView) -> str:
    """What was found, in one sentence."""
    waiting, count = len(view.waiting), len(view.events)
    if not count and not waiting:
        return "Nobody has complained about an answer, and the pipeline noticed no wrong one."
    if not count:
        return f"{waiting} complaint{' waits' if waiting == 1 else 's wait'} for attribution."
    same, removed = view.without
    said = f"{count} wrong {'answer was' if count == 1 else 'answers were'} looked into"
    if not removed:
        return f"{said}; no text was flagged."
    return f"{said}; {removed - same} of {removed} change once the flagged texts are gone."


def _answers(view: StreamView) -> Markup | None:
    """How many of the answers are the wrong one: undefended, defended, without flagged texts."""
    rows = {"undefended": view.undefended, "defended": view.defended,
            "without the flagged texts": view.without}  # fmt: skip
    segments = []
    for name, (wrong, every) in rows.items():
        for start, end, colour, which in (
            (0, wrong, "fooled", "the wrong one"), (wrong, every, "correct", "another one"),
        ):  # fmt: skip
            if end > start:
                words = f"{end - start} of {every} answers are {which}"
                segments.append(Segment(name, start, end, colour, words, str(end - start)))
    if not segments:
        return None
    longest = max(segment.end for segment in segments)
    title = "Incidents whose answer is the wrong one (red)"
    return bars(title, segments, Axis(0, longest, names={}), width=260)
