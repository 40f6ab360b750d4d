"""What is done in the console: asked once, done once, written down; what the audit let through."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest

from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.serving.users import add_user
from radarstream.connectors.state_table.sources import find_source
from radarstream.pipelines.job.answering.dead_letters import Letter
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.serving.console import operations as letter_pages
from radarstream.pipelines.serving.console import showing
from radarstream.pipelines.serving.console.operations import Mailbox
from radarstream.schemas.errors import ModelOutageError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.incidents import Decision, Status
from radarstream.schemas.support import Support
from radarstream.schemas.users import Role
from tests.lab.pages.attribution_pages import CUP, LIARS, MAYOR, origin
from tests.pipelines.serving.console_rig import (
    answered,
    app_of,
    asker,
    client_of,
    seeded,
    settings_of,
    sign_in,
)

PROPOSED = origin(CUP, 2, Status.PROPOSED).incident


@pytest.fixture
def app(tmp_path):
    settings = settings_of(tmp_path)
    return app_of(settings, seeded(settings))


@pytest.fixture
def client(app) -> Iterator[httpx.Client]:
    with client_of(app) as client:
        sign_in(client)
        yield client


def fields(page: str) -> dict[str, str]:
    """The hidden fields of a confirmation."""
    hidden = r'type="hidden" name="(\w+)" value="([^"]*)"'
    return dict(re.findall(hidden, page.partition("<main")[2]))


def confirm(
    client: httpx.Client, name: str, target: dict[str, str], **typed: str
) -> httpx.Response:
    """Open the confirmation and confirm."""
    page = client.get(f"/console/act/{name}", params=target)
    assert page.status_code == 200, page.text
    form = fields(page.text) | typed
    return client.post(f"/console/act/{name}", params=target, data=form)


def log_of(app) -> list[tuple[str, str, str]]:
    rows = read_actions(app.state.context.engine)
    return [(row.user, row.action, row.target) for row in reversed(rows)]


def text_of(response: httpx.Response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", response.text).split())


@pytest.mark.parametrize(
    ("name", "decision", "active"),
    [("approve", Decision.APPROVED, True), ("dismiss", Decision.DISMISSED, False),
     ("model-erred", Decision.MODEL_ERRED, False)]
)  # fmt: skip
def test_a_decision_is_made_once_and_written_down(app, client, name, decision, active):
    engine = app.state.context.engine
    asked = text_of(client.get(f"/console/act/{name}?id={PROPOSED}"))
    assert "What will follow" in asked
    if decision is Decision.APPROVED:
        assert "are left out of snapshots of this query: https://www." in asked
    done = confirm(client, name, {"id": PROPOSED})
    assert done.status_code == 303
    assert store.look(engine, PROPOSED).decision is decision
    held = [row for row in quarantine.list_quarantine(engine, CUP[0]) if row["active"]]
    assert (bool(held), log_of(app)) == (active, [("ada", name, PROPOSED)])
    shown = text_of(client.get(done.headers["location"]))
    assert "written to the action log with your name" in shown and "Ana Ruiz" in shown
    assert "This decision was made already" in client.get(f"/console/act/{name}?id={PROPOSED}").text


def test_pages_lead_to_what_can_be_done(client):
    for page, actions in {
        f"/console/incident?id={PROPOSED}": ("dismiss?id", "model-erred?id"),
        "/console/source?domain=town-news.example": ("block?domain",),
        f"/console/source?domain={LIARS[0]}": ("clear?domain", "pardon?domain"),
        f"/console/quarantine?query={MAYOR[0]}": ("release?query",),
    }.items():
        shown = client.get(page).text
        assert [a for a in actions if f'href="/console/act/{a}=' not in shown] == [], page
    shown = client.get("/console/answer?query=watch-001").text
    assert 'href="/console/report?query=watch-001' in shown


def test_a_person_approves_some_of_the_texts(app, client):
    engine = app.state.context.engine
    shown = client.get(f"/console/incident?id={PROPOSED}").text
    assert CUP[1] in text_of(client.get("/console/inbox"))
    assert CUP[1] in shown and "The official site disagrees." in shown
    assert re.findall(r'type="checkbox" name="text" value="(\w+)" checked', shown) == ["t2", "t5"]
    for chosen, said in (("", "No text is chosen"), ("&text=t1", "is none of this incident")):
        wrong = client.get(f"/console/act/approve?id={PROPOSED}&choose=yes{chosen}")
        assert wrong.status_code == 400 and said in wrong.text
    target = {"id": PROPOSED, "choose": "yes", "text": "t5"}
    asked = text_of(client.get("/console/act/approve", params=target))
    for words in ("1 text is left out", "These stay: https://www.quick-answers.example"):
        assert words in asked
    assert confirm(client, "approve", target).status_code == 303
    rows = quarantine.list_quarantine(engine, CUP[0], active_only=False)
    assert {row["text_key"]: row["active"] for row in rows} == {"t2": False, "t5": True}
    event = store.look(engine, PROPOSED).event
    assert (event.status, event.left_in, event.revision) == (Status.APPROVED, ("t2",), 1)
    (logged,) = read_actions(engine)
    assert logged.user == "ada"
    assert "left in: https://www.quick-answers.example/a/2" in logged.detail
    shown = client.get(f"/console/incident?id={PROPOSED}")
    assert re.findall(r'name="text" value="(\w+)" checked', shown.text) == ["t5"]
    assert "approve by ada" in text_of(shown)
    again = client.get("/console/act/approve", params=target)
    assert "This decision was made already" in again.text
    assert confirm(client, "approve", target | {"text": ["t2", "t5"]}).status_code == 303
    assert store.look(engine, PROPOSED).event.left_in == ()


def test_a_form_that_is_sent_twice_acts_once(app, client):
    form = fields(client.get(f"/console/act/approve?id={PROPOSED}").text)
    first, second = (client.post(f"/console/act/approve?id={PROPOSED}", data=form) for _ in "ab")
    assert (first.status_code, second.status_code) == (303, 200)
    told = "It is so already; nothing was done. The last action on it was approve by ada"
    assert told in text_of(second)
    assert len(log_of(app)) == 1


def test_of_two_operators_at_once_one_acts_and_the_other_is_told(app, client):
    with client_of(app) as other:
        sign_in(other, "bob")
        form = fields(other.get(f"/console/act/dismiss?id={PROPOSED}").text)
        assert confirm(client, "approve", {"id": PROPOSED}).status_code == 303
        told = other.post(f"/console/act/dismiss?id={PROPOSED}", data=form)
    assert told.status_code == 409
    assert "Somebody else changed this meanwhile; nothing was done." in text_of(told)
    assert "approve by ada" in text_of(told)
    assert store.look(app.state.context.engine, PROPOSED).decision is Decision.APPROVED
    assert log_of(app) == [("ada", "approve", PROPOSED)]


def test_texts_are_released_one_by_one_and_together(app, client):
    engine = app.state.context.engine
    held = {row["text_key"] for row in quarantine.list_quarantine(engine, MAYOR[0])}
    one = min(held)
    target = {"query": MAYOR[0], "text": one}
    form = fields(client.get("/console/act/release", params=target).text)
    assert client.post("/console/act/release", params=target, data=form).status_code == 303
    again = client.post("/console/act/release", params=target, data=form)
    assert "nothing was done" in text_of(again)
    left = {row["text_key"] for row in quarantine.list_quarantine(engine, MAYOR[0])}
    assert left == held - {one}
    assert confirm(client, "release", {"query": MAYOR[0]}).status_code == 303
    assert quarantine.list_quarantine(engine, MAYOR[0]) == []
    assert {entry[:2] for entry in log_of(app)} == {("ada", "release")}
    assert "No such text" in client.get("/console/act/release", params=target).text


def test_a_source_is_blocked_pardoned_and_cleared(app, client):
    def verdict() -> tuple[str | None, str | None]:
        with app.state.context.engine.connect() as connection:
            known = find_source(connection, "fact-hub.example")
        return known.verdict, known.note

    target = {"domain": "https://www.fact-hub.example/page"}
    for name, expected in (("block", "blocked"), ("pardon", "pardoned"), ("clear", None)):
        typed = {} if name == "clear" else {"note": f"because of {name}"}
        assert confirm(client, name, target, **typed).status_code == 303
        assert verdict() == (expected, typed.get("note"))
    done = [("ada", name, "fact-hub.example") for name in ("block", "pardon", "clear")]
    assert log_of(app) == done
    assert "because of block" in client.get("/console/actions").text
    assert "It is so already" in client.get("/console/act/clear?domain=other.example").text
    assert "names no domain" in client.get("/console/act/block?domain=a b").text
    assert log_of(app) == done


def test_a_site_is_blocked_from_the_page_of_sources(app, client):
    page = client.get("/console/sources").text
    assert 'action="/console/act/block"' in page and 'name="domain"' in page
    for typed, words in (("co.uk", "others register their names"), ("a b", "names no domain")):
        refused = client.get("/console/act/block", params={"domain": typed})
        assert refused.status_code == 400 and words in text_of(refused)
    assert confirm(client, "block", {"domain": "https://unknown.example/x"}).status_code == 303
    assert "unknown.example" in client.get("/console/sources?q=UNKNOWN").text
    everything = 'href="/console/source?domain=unknown.example">all</a>'
    assert everything in client.get("/console/source?domain=unknown.example&sort=day").text


@pytest.mark.parametrize(
    ("path", "rows", "search", "column"),
    [("/", "row", "Quillstack", "question"), ("/console/inbox", "incident", "cup", "question"),
     ("/console/quarantine", "text", "fact-hub", "since"),
     ("/console/sources", "source", "fact-hub", "wrong answers"),
     ("/console/health", "user", "cleo", "user"), ("/console/actions", "action", "new.", "on")]
)  # fmt: skip
def test_every_list_searches_and_sorts(client, path, rows, search, column):
    for site in ("new.example", "other.example"):
        confirm(client, "block", {"domain": site})

    def listed(**asked) -> list[str]:
        page = client.get(path, params=asked).text
        found = re.findall(rf'<tr id="{rows}-[^"]*">(.*?)</tr>', page, re.DOTALL)
        return [re.sub(r"\s+", " ", row) for row in found]

    everything = listed()
    assert 0 < len(listed(q=search)) < len(everything)
    assert listed(q="no such words") == []
    up, down = listed(sort=column), listed(sort=f"-{column}")
    assert sorted(up) == sorted(down) == sorted(everything) and up != down
    assert listed(sort="nonsense") == everything


def test_the_inbox_decodes_the_events_of_its_page_alone(client, monkeypatch):
    decoded, events_of = [], store.events_of
    monkeypatch.setattr(showing, "Paging", partial(showing.Paging, size=2))
    monkeypatch.setattr(store, "events_of", lambda engine, ids: decoded.extend(ids) or
                        events_of(engine, ids))  # fmt: skip
    assert CUP[1] in text_of(client.get("/console/inbox?sort=-newest"))
    assert len(decoded) == 2


def test_two_verdicts_at_once_do_not_overwrite_each_other(app, client):
    form = fields(client.get("/console/act/pardon?domain=fact-hub.example").text)
    confirm(client, "block", {"domain": "fact-hub.example"})
    told = client.post("/console/act/pardon?domain=fact-hub.example", data=form)
    assert told.status_code == 409
    assert "block by ada" in text_of(told)


LETTER = Letter(
    "a1b2c3d4e5", DeadLetter(ReasonClass.MODEL_UNAVAILABLE, "no model answered", "outage",
                             "log/snapshots/0", 7, 1, "e30="), b"{}",
    datetime(2025, 6, 1, tzinfo=UTC)
)  # fmt: skip


def test_dead_letters_are_listed_with_what_was_replayed(client, monkeypatch):
    away = client.get("/console/dead-letters")
    assert (away.status_code, "The message broker cannot be reached" in away.text) == (200, True)
    other = replace(LETTER, id="b2")
    box = lambda _kafka: Mailbox((LETTER, other), frozenset({"b2"}))  # noqa: E731
    monkeypatch.setattr(letter_pages, "mailbox", box)
    page = text_of(client.get("/console/dead-letters"))
    assert "no model answered" in page and "radarstream deadletter replay a1b2c3d4e5" in page
    assert "radarstream deadletter replay b2" not in page


def test_a_user_complains_about_an_answer_once(app, client):
    assert "step=5" in client.get("/console/report?query=watch-000").text  # the newest answer
    assert client.get("/console/report?query=unknown").status_code == 404
    path = "/console/report?query=watch-000&step=5"
    form = fields(client.get(path).text) | {"comment": "It is Ingrid <b>Solberg</b>."}
    assert "the complaint was taken" in text_of(client.post(path, data=form))
    assert "You complained about this answer before" in text_of(client.post(path, data=form))
    ((user, action, incident),) = log_of(app)
    assert (user, action) == ("ada", "report")
    shown = client.get(f"/console/incident?id={incident}").text
    assert "It is Ingrid &lt;b&gt;Solberg&lt;/b&gt;." in shown


def test_a_question_is_answered_with_its_documents_and_its_defence(app, client):
    asker = app.state.context.answer_all
    form = {"csrf": fields(client.get("/console/report?query=watch-000&step=5").text)["csrf"]}
    page = client.post("/console/ask", data=form | {"question": "Who is it?", "origin": "corpus"})
    shown = text_of(page)
    assert (page.status_code, asker.asked[0].text) == (200, "Who is it?")
    assert asker.asked[0].user == "ada"
    for words in ("post retrieval", "filter: dropped 2 of 10 documents",
                  "elevated, poisoning 0.60 (rules)", "rejected",
                  "epsilon 3 spent, 97 left", "0.50, then 0.45"):  # fmt: skip
        assert words in shown
    wrong = client.post("/console/ask/report", data=form | {"question": "Who?", "answer": "x"})
    assert wrong.status_code == 409
    assert "The complaint was not taken" in wrong.text


def test_a_model_that_is_away_and_an_empty_question_are_said_plainly(app, client):
    app.state.context.answer_all.answer = lambda _: ModelOutageError("host:1 is down")
    form = {"csrf": fields(client.get("/console/report?query=watch-000&step=5").text)["csrf"]}
    told = client.post("/console/ask", data=form | {"question": "Who?", "origin": "corpus"})
    assert told.status_code == 503
    assert "No model answers at the moment; try again." in told.text
    assert "host:1" not in told.text
    for words in ("", " ", "x" * 3_000):
        told = client.post("/console/ask", data=form | {"question": words, "origin": "corpus"})
        assert told.status_code == 400


# --- the page for questions shows what the audit let through


NOW_MS = 1_750_000_000_000
MASKED = "Call [personal data]."


def page_for(tmp_path: Path, role: Role, origin: str) -> str:
    """What a user with this role and that of asking is shown."""
    settings = settings_of(tmp_path, search={"name": "searxng"})
    event, snapshot = answered()
    verdict, support = event.verdict, Support(2, 1, rival_answer="RIVAL SECRET")
    told = tuple(replace(one, atomic_answer="ATOMIC SECRET") for one in verdict.documents)
    verdict = replace(verdict, documents=told)
    event = replace(event, answer="ANSWER SECRET", verdict=verdict, support=support)
    documents = tuple(replace(one, text="TEXT SECRET") for one in snapshot.documents)
    masked = "" if origin.endswith("passed") else MASKED
    asking = asker(event, replace(snapshot, documents=documents), masked)
    engine = seeded(settings)
    token = add_user(engine, "eve", {Role.ASK, role}, NOW_MS)
    with client_of(create_app(settings, asking, engine)) as client:
        assert client.post("/console/sign-in", data={"token": token}).status_code == 303
        csrf = client.get("/console/ask").text.partition('name="csrf" value="')[2][:64]
        form = {"csrf": csrf, "question": "Who?", "origin": origin.partition(" ")[0]}
        sent: httpx.Response = client.post("/console/ask", data=form)
    assert sent.status_code == 200
    return sent.text


def test_the_page_shows_no_answer_that_the_audit_changed(tmp_path: Path) -> None:
    shown = page_for(tmp_path, Role.OPERATE, "corpus")
    assert MASKED in shown and "ANSWER SECRET" not in shown


@pytest.mark.parametrize("origin", ["corpus", "corpus, passed", "search"])
def test_who_may_only_ask_reads_no_document_here_either(tmp_path: Path, origin: str) -> None:
    shown = page_for(tmp_path, Role.ASK, origin.replace(",", ""))
    assert not any(f"{word} SECRET" in shown for word in ("TEXT", "ATOMIC", "RIVAL"))


@pytest.mark.parametrize(
    ("role", "origin"), [(Role.OPERATE, "corpus"), (Role.ASK, "search passed")]
)
def test_operators_read_the_evidence_and_the_web_is_no_secret(tmp_path, role, origin) -> None:
    shown = page_for(tmp_path, role, origin)
    assert all(f"{word} SECRET" in shown for word in ("TEXT", "ATOMIC", "RIVAL"))


LIMA = ("Lima is the capital of Peru.", "Every atlas says that the capital of Peru is Lima.")


def test_a_claim_is_checked_on_a_page_of_its_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("SERPAPI_KEY", raising=False)
    settings = settings_of(tmp_path, orchestration={"policy": "none", "always": ()})
    engine = seeded(settings)
    token = add_user(engine, "eve", {Role.ASK}, NOW_MS)
    with client_of(create_app(settings, engine=engine)) as client:
        client.post("/console/sign-in", data={"token": token})
        empty = client.get("/console/check").text
        assert '<label for="question">Claim</label>' in empty and "Check a claim once." in empty
        csrf = empty.partition('name="csrf" value="')[2][:64]

        def check(claim: str, **more: str) -> httpx.Response:
            given = {"csrf": csrf, "question": claim, "text": LIMA[0], "withstand": "0"} | more
            return client.post("/console/check", data=given)

        shown = check("Cusco is the capital of Peru.").text
        assert "Refuted: no site supports it, 1 contradicts it" in shown
        assert "The claim says Cusco; the answer: Lima" in shown
        assert "This is wrong" not in shown
        assert ">contradicts</span>" in shown and "says so</span>" not in shown
        for claim, why in (
            (" ", "Please type a claim."),
            ("x" * 2_001, "Please type a claim."),
            ("Lima is not old.", "denies something"),
        ):
            refused = check(claim)
            assert (refused.status_code, why in refused.text) == (400, True)
        refused = check("Lima is the capital of Peru.", text="", origin="search")  # without a key
        assert "a search" not in empty and "come from the corpus." in refused.text
        assert (refused.status_code, "has nothing" in check(LIMA[0], text="").text) == (400, True)
        assert "script&gt;" in check("<script>x</script> is not old.").text
