"""What the pages of the console say, from rows alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.serving import kept_events
from radarstream.connectors.state_table.sources import Blame, Source, SourceVerdict
from radarstream.pipelines.job.incidents.settling import removal_in_words
from radarstream.pipelines.pages.verdict_words import module_in_words
from radarstream.pipelines.pages.wrong_answers import standing_of, text_state
from radarstream.pipelines.serving.console import answers as view
from radarstream.pipelines.serving.console.incidents import inbox_sentence
from radarstream.pipelines.serving.console.operations import checks_of
from radarstream.pipelines.serving.console.showing import Paging, link, own_path
from radarstream.pipelines.serving.console.sources import sources_sentence
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.orchestration import Hook, HookRecord, Module
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention
from tests.pipelines.pages.report_run import make_run
from tests.pipelines.serving.console_rig import SUPPORT, keep, settings_of

ANSWERS, SNAPSHOTS = make_run(steps=3)
EVENT = replace(ANSWERS[2], status=AnswerStatus.DISPUTED, support=SUPPORT)
AT = datetime(2024, 2, 3, 4, 5, tzinfo=UTC)


def test_what_an_answer_rests_on():
    said = "5 independent sites say so, 1 says Lyon; the memory agrees; "
    lying = "4 more lying sites could silence it, 5 could change it"
    assert view.grounds_of(EVENT) == ("disputed", "bad", said + lying)
    assert (view.moment(AT), view.moment(None)) == ("2024-02-03 04:05 UTC", "")


def test_an_abstention_says_why_and_what_stands():
    standing = StandingAnswer("Rome", AT)
    event = replace(EVENT, abstention=Abstention.NO_EVIDENCE, support=None,
                    status=AnswerStatus.ABSTAINED, standing=standing)  # fmt: skip
    assert view.answer_in_words(event) == "No answer: the model read no answer in any document"
    status, _, behind = view.grounds_of(event)
    assert status == "no answer"
    assert behind.startswith("Rome stands, unconfirmed since")


@pytest.mark.parametrize(
    ("number", "total", "pages", "first", "last"),
    [(1, 0, 1, 0, 0), (1, 50, 1, 1, 50), (2, 51, 2, 51, 51), (200, 10_000, 200, 9_951, 10_000)],
)
def test_paging(number, total, pages, first, last):
    paging = Paging(number, total)
    assert (paging.pages, paging.first, paging.last) == (pages, first, last)
    said = {0: "0 queries have an answer.", 50: "50 queries have an answer.",
            51: "51 queries have an answer; 3 on the watchlist wait for their first one.",
            10_000: "10,000 queries"}  # fmt: skip
    assert view.watch_sentence(paging, "", 3 * (total == 51)).startswith(said[total])
    assert view.watch_sentence(Paging(1, 1), "", 0) == "1 query has an answer."
    assert "with these characters" in view.watch_sentence(paging, "x", 0)


@pytest.mark.parametrize(
    ("changed", "stands", "tone"),
    [({}, "removal proposed", "other"), ({"status": None}, "waits for its attribution", "other"),
     ({"decision": "model_erred"}, "the model erred: no source is to blame", "none"),
     ({"status": "of a later release", "state": "odd"}, "could not be looked into", "none")]
)  # fmt: skip
def test_a_line_of_the_inbox(changed, stands, tone):
    row = {"incident": "i", "query_id": "q", "step": 1, "answer": "a", "complaints": 2,
           "received_ms": 0, "state": "open", "status": "proposed", "decision": None}  # fmt: skip
    assert standing_of(row | changed) == (stands, tone)


def test_sentences_of_inbox_quarantine_and_sources():
    assert inbox_sentence([]) == "Nobody complained about an answer."
    row = {"active": False, "everywhere": False, "released": True, "status": "approved"}
    assert text_state(row) == ("released", "good")
    assert text_state(row | {"active": True, "everywhere": True})[0] == "left out of all queries"
    blame = (Blame("i", "q", 1, 0, "Rome", "https://a.example/"),)
    known = [Source("a.example", SourceVerdict.BLOCKED, blame=blame), Source("b.example")]
    assert sources_sentence(known) == "1 site taught wrong answers; 1 blocked by a person."
    assert "No site" in sources_sentence([])


def test_what_an_approval_removes_is_named():
    text = {"url": "https://a.example/x", "title": "t", "excerpt": "e"}
    said = "1 text is left out of snapshots of this query: https://a.example/x."
    assert removal_in_words([text]) == said
    words = removal_in_words([text] * 24)
    assert (words[:12], words[-11:]) == ("24 texts are", "and 4 more.")


def test_what_the_defence_did_is_told():
    off = HookRecord(Hook.PRE_RETRIEVAL, Module.PRIVACY, False, {"epsilon": 3.0}, 5, 5, "too dear")
    assert module_in_words(off) == "noisy retrieval: off, too dear"
    on = replace(off, enabled=True, documents_out=3)
    assert module_in_words(on) == "noisy retrieval: dropped 2 of 5 documents"


def test_health_without_database(tmp_path):
    settings = settings_of(tmp_path)
    away = create_engine("sqlite:////nowhere/at/all.sqlite")
    assert [(c.name, c.well) for c in checks_of(away)] == [("database", False)]
    assert checks_of(open_engine(settings.database))[0].well


@given(st.text())
def test_addresses_of_ours_are_plain(text):
    address = link("/console/answer", anchor=text, query=text)
    assert address.isascii()
    assert not set(address) & set("\"'<> \n\\")
    assert own_path(text) == "/" or own_path(text) == text.strip()


def test_the_watchlist_is_ordered_and_searched_by_the_database(tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path / 's.sqlite'}")
    for number, (question, changed) in enumerate((("B?", True), ("C?", False), ("a?", True))):
        at = AT + timedelta(days=number if question != "a?" else -9)
        keep(engine, replace(EVENT, query_id=question, question=question, step=0, changed=changed,
                             observed_at=at))  # fmt: skip

    def order(**given) -> list[str]:
        return [one.event.query_id for one in kept_events.latest_events(engine, **given).latest]

    assert (order(), order(search="A?")) == (["C?", "B?", "a?"], ["a?"])
    assert order(limit=1, offset=1) == ["B?"]
