"""Incidents of the stream: the attribution, the decision, and the complaints behind each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.pipelines.pages.frame import decimal
from radarstream.pipelines.pages.incidents.decision_words import (
    DECISIONS,
    MODEL_ERRED,
    NOT_LOOKED,
    SAID,
    VERDICTS,
    WAITING,
)
from radarstream.pipelines.pages.incidents.event_view import (
    FINDINGS,
    EventView,
    Fact,
    Happening,
    Measured,
    SourceWords,
    Tag,
    plot_of,
    text_views,
)
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.times import minute
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
class Line:
    """A complaint without an attribution."""

    complaint_id: str
    when: str
    where: str
    answer: str
    sender: str
    words: str
    tone: str


@dataclass(frozen=True, slots=True)
class StreamView:
    """The whole page. `decisions` counts attributed answers, `undefended` and so on how many of the
    incidents with that answer at hand have the wrong one, and how many there are.
    """

    events: tuple[EventView, ...]
    waiting: tuple[Line, ...]
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
    attributed = [one for one in incidents if one.event is not None]
    counted = Counter(decided(one.event) for one in attributed if one.event)
    people = {r.sender for one in incidents for r in one.complaints} - {PIPELINE}
    return StreamView(
        events=tuple(
            _event(number, one, one.event, standing_of)
            for number, one in enumerate(attributed, start=1)
            if one.event is not None
        ),
        waiting=tuple(
            _waiting(complaint)
            for one in incidents
            if one.event is None
            for complaint in one.complaints
        ),
        decisions=tuple(
            (*told, counted[told]) for told in (*DECISIONS.values(), MODEL_ERRED) if counted[told]
        ),
        left_out=len({(h.url, h.title) for one in incidents for h in one.held if h.active}),
        senders=len(people),
        **_wrong([one.event for one in attributed if one.event]),
    )


def _wrong(events: Sequence[TaughtEvent]) -> dict[str, tuple[int, int]]:
    """How many of the answers at hand are the wrong one, and how many are at hand."""
    bare = [e.undefended_answer == e.answer for e in events if e.undefended_answer is not None]
    defended = [event.defended_answer == event.answer for event in events]
    without = [event.persists for event in events if event.persists is not None]
    sides = {"undefended": bare, "defended": defended, "without": without}
    return {name: (sum(found), len(found)) for name, found in sides.items()}


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
            id=name,
            event=known.get(name),
            life=lives.get(name),
            complaints=tuple(told[name]),
            held=tuple(held.get(name, ())),
        )
        for name in dict.fromkeys((*known, *told))
    ]


def _event(
    number: int,
    incident: Incident,
    event: TaughtEvent,
    standing_of: Callable[[str], SourceWords | None],
) -> EventView:
    texts = [
        Measured(
            rank=text.rank,
            url=text.url,
            title=text.title,
            text=text.excerpt,
            flagged=text.flagged,
            score=text.score,
            similarity=text.similarity,
            semantic=text.semantic,
            generation=text.generation,
            standing=standing_of(text.url),
            found_at="" if text.search_rank is None else str(text.search_rank),
        )
        for text in event.texts
    ]
    words, tone = decided(event)
    return EventView(
        anchor=anchor_of(number),
        question=event.question,
        where=f"{event.query_id}, {event.observed_at:%Y-%m-%d %H:%M}",
        answer=event.answer,
        tags=(Tag(words, tone), *([Tag("noticed by the pipeline")] if event.self_detected else [])),
        facts=tuple(_facts(event)),
        plot=plot_of(texts),
        texts=text_views(texts),
        scored_by=event.attributor,
        life=tuple(_life(incident, event)),
        advice=tuple(_advice(incident, event)),
    )


def _facts(event: TaughtEvent) -> list[Fact]:
    facts = [Fact("wrong answer", event.answer or "(none)", "bad", _reproduced(event))]
    if event.flagged:
        same = event.persists
        tone = {True: "bad", False: "good", None: ""}[same]
        remark = {True: "still the same", False: "no longer the same", None: ""}[same]
        facts.append(Fact("without flagged", event.answer_without or "no answer", tone, remark))
    if event.defended_answer != event.answer:
        facts.append(Fact("defended", event.defended_answer or "no answer"))
    if event.undefended_answer is not None and event.undefended_answer != event.answer:
        facts.append(Fact("undefended", event.undefended_answer or "no answer"))
    found = f"{FINDINGS[event.finding]}, by {event.attributor}" if event.finding else NOT_LOOKED
    facts.append(Fact("attribution", found))
    if event.gap is not None:
        facts.append(Fact("separation", decimal(event.gap), "", _gap_words(event)))
    facts.append(Fact("decision", decided(event)[0], "", event.detail))
    return facts


def _gap_words(event: TaughtEvent) -> str:
    words = "between the mean scores of flagged and other texts"
    if event.generation_gap is None:
        return words
    gap = decimal(event.generation_gap, signed=True)
    return f"{words}; {gap} in the influence on the answer"


def _reproduced(event: TaughtEvent) -> str:
    if event.reproduced is None:
        return ""
    return "the pipeline gave it" if event.reproduced else "the pipeline did not give it"


def _life(incident: Incident, event: TaughtEvent) -> list[Happening]:
    told = [
        (
            complaint.received_ms,
            Happening(
                minute(complaint.received_ms),
                "noticed by the pipeline itself"
                if complaint.sender == PIPELINE
                else f"complaint by {shorten(complaint.sender, 80)}",
                complaint.comment,
            ),
        )
        for complaint in incident.complaints
    ]
    life = incident.life
    if life and life.attributed_ms is not None:
        calls = "1 model call" if life.model_calls == 1 else f"{life.model_calls} model calls"
        done = "attributed in" if event.finding else "looked into with"
        found = Happening(minute(life.attributed_ms), f"{done} {calls}")
        told.append((life.attributed_ms, found))
    if life and life.decision is not None and life.decided_ms is not None:
        scope = ", for all queries" if life.everywhere else ""
        told.append(
            (
                life.decided_ms,
                Happening(minute(life.decided_ms), f"{SAID[life.decision]} by a person{scope}"),
            )
        )
    happenings = [one for _, one in sorted(told, key=lambda item: item[0])]
    return [*happenings, Happening("", f"now: {decided(event)[0]}"), *_held(incident.held)]


def _held(held: Sequence[HeldText]) -> list[Happening]:
    states = Counter(
        "left out of all queries"
        if text.active and text.everywhere
        else "left out of this query"
        if text.active
        else "released by a person"
        if text.released
        else "named, not left out"
        for text in held
    )
    return [
        Happening("", f"{count} of {len(held)} texts {state}") for state, count in states.items()
    ]


def _advice(incident: Incident, event: TaughtEvent) -> list[str]:
    """Commands that decide about it, where a person should."""
    if event.model_erred or not incident.complaints:
        return []
    short = incident.id[:SHORT_ID]
    return [f"radarstream incidents {word} {short}" for word in VERDICTS.get(event.status, ())]


def _waiting(complaint: StoredComplaint) -> Line:
    words, tone = WAITING[complaint.state]
    return Line(
        complaint.incident[:SHORT_ID],
        minute(complaint.received_ms),
        complaint.query_id,
        complaint.answer,
        complaint.sender,
        f"{words}: {complaint.detail}" if complaint.detail else words,
        tone,
    )
