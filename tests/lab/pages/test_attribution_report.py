"""Pages on wrong answers and studies: figures as stored, every text inert."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.connectors.state_table.incidents.store import Incident
from radarstream.defenses.registry import ATTRIBUTORS
from radarstream.lab.study.record import RECORD
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.pages.wrong_answers import (
    DECISIONS,
    FINDINGS,
    WAITING,
    EventView,
    view_of,
)
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import MODEL_ERRED, ComplaintState, Decision, Status, TaughtEvent
from tests.lab.attribution_studies import METHODS, NOBODY, Bench, oracle
from tests.lab.pages.attribution_pages import HOSTILE, complaint_of, events
from tests.pipelines.pages.page_checks import ParsedPage, check_inert
from tests.pipelines.pages.report_run import IMAGE, LICENCES, MODELS

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
    assert words[-2:] == ["now: texts in quarantine", "3 of 3 texts left out of this query"]


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


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, method in METHODS.items():
        monkeypatch.setitem(ATTRIBUTORS, name, method)
    bench = Bench(tmp_path / "study")
    names = f"rag_origin,{oracle('injection')},{NOBODY}"
    bench.run("injection,false-reports", names)
    return bench.out


def rendered(directory: Path) -> str:
    result = CliRunner().invoke(app, ["report", str(directory)])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "report.html" in result.output
    return (directory / "report.html").read_text("utf-8")


def test_a_study_shows_its_tables_and_events(study: Path) -> None:
    text = rendered(study)
    page = ParsedPage(text)
    assert "All plain attacks, 3 events: rag_origin judges" in page.text
    assert "false-reports, 3 events without an attacker" in page.text
    assert "Who is found out" in page.text
    assert text.count('<details class="event"') == 6
    first = re.search(r'<details class="event" id="event-1-1" open>.*?</details>', text, re.S)
    assert first
    shown = ParsedPage(first[0]).text
    assert "5 of 5 planted, 0 of" in shown  # the oracle
    assert "0 of 5 planted, 0 of" in shown  # nobody
    assert first[0].count('class="tag attack">planted') == 5
    check_inert(text)


def test_a_study_tells_the_licences_of_its_weights(study: Path) -> None:
    record = json.loads((study / "study.json").read_text("utf-8"))
    (study / "study.json").write_text(json.dumps(record | {"models": MODELS}), encoding="utf-8")
    assert all(licence in ParsedPage(rendered(study)).text for licence in LICENCES)


def test_a_study_lists_mistakes_first_and_not_too_many(study: Path, monkeypatch) -> None:
    monkeypatch.setattr("radarstream.lab.pages.attribution.MOST_EVENTS", 4)
    text = rendered(study)
    assert text.count('<details class="event"') == 4
    assert "2 of 3 wrong answers, those first" in ParsedPage(text).text


def test_a_failed_row_is_told_and_hostile_words_are_inert(study: Path) -> None:
    lines = [json.loads(line) for line in (study / "rows.jsonl").read_bytes().splitlines()]
    for line in lines:
        if line["contender"] == "rag_origin":
            line |= {"attribution": None, "after": None, "error": HOSTILE[0]}
    told = "".join(json.dumps(line) + "\n" for line in lines)
    (study / "rows.jsonl").write_text(told, encoding="ascii")
    events = [json.loads(line) for line in (study / "events.jsonl").read_bytes().splitlines()]
    for event in events:
        event |= {"question": HOSTILE[1], "reported": HOSTILE[2], "clean_answer": HOSTILE[4]}
        for one in event["texts"]:
            one["document"] |= {"title": HOSTILE[0], "url": "javascript:pwned()"}
    told = "".join(json.dumps(event) + "\n" for event in events)
    (study / "events.jsonl").write_text(told, encoding="ascii")
    record = json.loads((study / RECORD).read_text())
    record |= {"dataset": IMAGE, "command": HOSTILE[1], "notes": [HOSTILE[0]]}
    (study / RECORD).write_text(json.dumps(record))
    text = rendered(study)
    assert "failed: " in ParsedPage(text).text
    check_inert(text)


def test_every_decision_state_and_finding_has_words() -> None:
    assert set(DECISIONS) == set(Status)
    assert set(WAITING) == set(ComplaintState)
    assert set(FINDINGS) == set(Finding)
