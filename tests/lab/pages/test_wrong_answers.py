"""A wrong answer and its attribution in words."""

from dataclasses import replace

from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.connectors.state_table.incidents.store import Incident
from radarstream.pipelines.pages.wrong_answers import (
    DECISIONS,
    FINDINGS,
    WAITING,
    EventView,
    view_of,
)
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import MODEL_ERRED, ComplaintState, Decision, Status, TaughtEvent
from tests.lab.pages.attribution_pages import complaint_of, events

START_MS = 1_740_000_000_000


def shown(event: TaughtEvent, incident: Incident, *told: StoredComplaint) -> EventView:
    held = [{"active": True, "everywhere": False, "released": False}] * len(event.flagged)
    return view_of(incident, event, told, held)


def test_a_wrong_answer_shows_what_was_found_and_what_followed() -> None:
    event = events()[0]
    life = Incident("", 0, Decision.APPROVED, START_MS, attributed_ms=START_MS, model_calls=9)
    told = complaint_of(event, "ann", "The official site disagrees.")
    view = shown(event, life, told)
    facts = {fact.term: f"{fact.value} {fact.remark}" for fact in view.facts}
    assert facts["without flagged"] == "Ingrid Solberg no longer the same"
    assert facts["separation"] == (
        "1.90 between the mean scores of flagged and other texts; +2.75 in the influence on the"
        " answer"
    )
    words = [f"{words} {quote}".strip() for _, words, quote in view.life]
    assert "complaint by ann The official site disagrees." in words
    assert "attributed in 9 model calls" in words
    assert "approved by a person" in words
    assert words[-2:] == ["now: texts in quarantine", "3 of 3 texts left out"]


def test_that_the_model_erred_is_told() -> None:
    event = replace(events()[0], status=Status.NOTHING_FLAGGED, detail=MODEL_ERRED)
    life = Incident("", 0, Decision.MODEL_ERRED, START_MS, attributed_ms=START_MS, model_calls=1)
    view = shown(event, life, complaint_of(event, "ann"))
    assert view.tags[0] == ("the model erred: no source is to blame", "none")
    assert "laid to the model by a person" in [words for _, words, _ in view.life]


def test_that_nothing_was_looked_for_is_told_as_that() -> None:
    event = replace(events()[0], status=Status.UNVERIFIED, finding=None, attributor="", texts=())
    life = Incident("", 0, None, None, attributed_ms=START_MS, model_calls=1)
    told = str(shown(event, life))
    assert "'no texts were looked for'" in told
    assert "'looked into with 1 model call'" in told
    assert "attributed in" not in told


def test_every_decision_state_and_finding_has_words() -> None:
    assert set(DECISIONS) == set(Status)
    assert set(WAITING) == set(ComplaintState)
    assert set(FINDINGS) == set(Finding)
