"""One wrong answer, its attribution and the texts that taught it, on pages and in words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.safe_text import shorten, written_address
from radarstream.schemas import incidents
from radarstream.schemas.attribution import Finding
from radarstream.schemas.wording import counted_noun

Tag = tuple[str, str]  # words and tone: good, bad, other, none or empty

MODEL_ERRED = ("the model erred: no source is to blame", "none")
DECISIONS = {
    incidents.Status.UNVERIFIED: ("the pipeline did not give this answer", "none"),
    incidents.Status.NOTHING_FLAGGED: ("no text to blame", "none"),
    incidents.Status.RESTORED: ("the same answer without the flagged texts: they stay", "none"),
    incidents.Status.HUMAN_REVIEW: ("a person must decide", "other"),
    incidents.Status.PROPOSED: ("removal proposed", "other"),
    incidents.Status.QUARANTINED: ("texts in quarantine", "bad"),
    incidents.Status.APPROVED: ("removal approved", "bad"),
    incidents.Status.DISMISSED: ("dismissed: the answer is not wrong", "good"),
}
SAID = {
    incidents.Decision.APPROVED: "approved",
    incidents.Decision.DISMISSED: "dismissed",
    incidents.Decision.MODEL_ERRED: "laid to the model",
}
WAITING: dict[str, Tag] = {
    incidents.ComplaintState.OPEN: ("waits for its attribution", "other"),
    incidents.ComplaintState.JUDGED: ("looked at", "none"),
    incidents.ComplaintState.UNUSABLE: ("could not be looked into", "none"),
}
NOT_LOOKED = "no texts were looked for"
FINDINGS = {
    Finding.TEXTS_FLAGGED: "texts flagged",
    Finding.NOTHING_FLAGGED: "nothing flagged",
    Finding.INTRINSIC_ERROR: "the model errs by itself",
    Finding.NO_SEPARATION: "no two groups of scores",
    Finding.NO_DOCUMENTS: "no documents",
}
Happening = tuple[int | None, str, str]  # time (ms) where it was stored, words, and a quotation


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the overview; `tone` as of a `Tag`."""

    term: str
    value: str
    tone: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class EventView:
    """One wrong answer, with the texts that it may come from and what happened to it."""

    anchor: str
    question: str
    where: str
    answer: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    texts: tuple[incidents.AttributedText, ...]
    life: tuple[Happening, ...] = ()
    left_in: tuple[str, ...] = ()

    def share(self, text: incidents.AttributedText, quantity: str) -> float | None:
        """Where a score of a text lies between the least and the greatest of the event, 0 to 1."""
        value: float | None = getattr(text, quantity)
        known = [v for one in self.texts if (v := getattr(one, quantity)) is not None]
        if value is None:
            return None
        low, high = min(known), max(known)
        return (value - low) / (high - low) if high > low else 0.5


def view_of(
    incident: store.Incident,
    event: incidents.TaughtEvent,
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
        facts=tuple(facts_of(event)),
        texts=event.texts,
        left_in=event.left_in,
        life=tuple(_life(incident, event, complaints, held)),
    )


def decided(event: incidents.TaughtEvent) -> tuple[str, str]:
    """What was decided, in words, and its tone."""
    return MODEL_ERRED if event.model_erred else DECISIONS[event.status]


def standing_of(row: Mapping[str, Any]) -> Tag:
    """How an incident stands, from a row of the list of incidents; of unknown states nothing."""
    if row["decision"] == incidents.Decision.MODEL_ERRED:
        return MODEL_ERRED
    if row["status"] in tuple(incidents.Status):
        return DECISIONS[incidents.Status(row["status"])]
    return WAITING.get(row["state"], WAITING[incidents.ComplaintState.UNUSABLE])


def text_state(row: Mapping[str, Any]) -> Tag:
    """Whether a text of the quarantine is left out."""
    if row["active"]:
        return ("left out of all queries" if row["everywhere"] else "left out"), "bad"
    if row["released"]:
        return "released", "good"
    return f"named: {row.get('status') or 'not left out'}", ""


def facts_of(event: incidents.TaughtEvent) -> Iterator[Fact]:
    """What was found out and decided, line by line."""
    given = {True: "the pipeline gave it", False: "the pipeline did not give it", None: ""}
    yield Fact("wrong answer", event.answer or "(none)", "bad", given[event.reproduced])
    if event.flagged:
        tone = {True: "bad", False: "good", None: ""}[event.persists]
        remark = {True: "still the same", False: "no longer the same", None: ""}[event.persists]
        yield Fact("without flagged", event.answer_without or "no answer", tone, remark)
    if event.left_in:
        stay = [
            written_address(text.url) or text.title
            for text in event.flagged
            if text.id in event.left_in
        ]
        yield Fact("left in", "; ".join(stay), "", "flagged, and let in by a person")
    if event.defended_answer != event.answer:
        yield Fact("defended", event.defended_answer or "no answer")
    if event.undefended_answer is not None and event.undefended_answer != event.answer:
        yield Fact("undefended", event.undefended_answer or "no answer")
    by = f"{FINDINGS[event.finding]}, by {event.attributor}" if event.finding else NOT_LOOKED
    yield Fact("attribution", by)
    if event.gap is not None:
        words = "between the mean scores of flagged and other texts"
        if event.generation_gap is not None:
            gap = frame.decimal(event.generation_gap, signed=True)
            words = f"{words}; {gap} in the influence on the answer"
        yield Fact("separation", frame.decimal(event.gap), "", words)
    yield Fact("decision", decided(event)[0], "", event.detail)


def _life(
    incident: store.Incident,
    event: incidents.TaughtEvent,
    complaints: Sequence[StoredComplaint],
    held: Sequence[Mapping[str, Any]],
) -> Iterator[Happening]:
    dated: list[tuple[int, str, str]] = [
        (c.received_ms, f"complaint by {shorten(c.sender, 80)}", c.comment) for c in complaints
    ]
    if incident.attributed_ms is not None:
        done = "attributed in" if event.finding else "looked into with"
        calls = counted_noun(incident.model_calls, "model call")
        dated.append((incident.attributed_ms, f"{done} {calls}", ""))
    if incident.decision is not None and incident.decided_ms is not None:
        scope = ", for all queries" if incident.everywhere else ""
        dated.append((incident.decided_ms, f"{SAID[incident.decision]} by a person{scope}", ""))
    yield from sorted(dated, key=lambda happening: happening[0])
    yield None, f"now: {decided(event)[0]}", ""
    for (state, _), count in Counter(map(text_state, held)).items():
        yield None, f"{count} of {len(held)} texts {state}", ""
