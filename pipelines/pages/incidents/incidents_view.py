"""One wrong answer as the console shows it: its attribution, the decision, what happened."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.incidents.event_view import EventView, Fact, Happening
from radarstream.pipelines.pages.incidents.words import (
    DECISIONS,
    FINDINGS,
    MODEL_ERRED,
    NOT_LOOKED,
    SAID,
)
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.schemas.incidents import TaughtEvent


def view_of(
    incident: store.Incident,
    event: TaughtEvent,
    complaints: Sequence[StoredComplaint],
    held: Sequence[Mapping[str, Any]],
) -> EventView:
    """Arrange what is stored of an attributed answer; `held` are its rows of the quarantine."""
    return EventView(
        anchor="event",
        question=event.question,
        where=f"{event.query_id}, {event.observed_at:%Y-%m-%d %H:%M}",
        answer=event.answer,
        tags=(decided(event),),
        facts=tuple(_facts(event)),
        texts=event.texts,
        life=tuple(_life(incident, event, complaints, held)),
    )


def decided(event: TaughtEvent) -> tuple[str, str]:
    """What was decided, in words, and its tone."""
    return MODEL_ERRED if event.model_erred else DECISIONS[event.status]


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


def _life(
    incident: store.Incident,
    event: TaughtEvent,
    complaints: Sequence[StoredComplaint],
    held: Sequence[Mapping[str, Any]],
) -> Iterator[Happening]:
    told: list[tuple[int, str, str]] = [
        (c.received_ms, f"complaint by {shorten(c.sender, 80)}", c.comment) for c in complaints
    ]
    if incident.attributed_ms is not None:
        done = "attributed in" if event.finding else "looked into with"
        plural = "" if incident.model_calls == 1 else "s"
        calls = f"{incident.model_calls} model call{plural}"
        told.append((incident.attributed_ms, f"{done} {calls}", ""))
    if incident.decision is not None and incident.decided_ms is not None:
        scope = ", for all queries" if incident.everywhere else ""
        told.append((incident.decided_ms, f"{SAID[incident.decision]} by a person{scope}", ""))
    yield from sorted(told, key=lambda happening: happening[0])
    yield None, f"now: {decided(event)[0]}", ""
    for state, count in Counter(map(_state, held)).items():
        yield None, f"{count} of {len(held)} texts {state}", ""


def _state(text: Mapping[str, Any]) -> str:
    if text["active"]:
        return "left out of all queries" if text["everywhere"] else "left out of this query"
    return "released by a person" if text["released"] else "named, not left out"
