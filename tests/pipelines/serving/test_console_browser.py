"""The console in a real headless Chromium: every page, every action, live, by keyboard, hostile."""

from dataclasses import replace
from datetime import timedelta

import pytest
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.pipelines.serving.console.showing import MENU, link
from radarstream.schemas.incidents import Status
from tests.lab.pages.attribution_pages import CUP, origin
from tests.pipelines.pages.headless_browser import (
    CONTRAST,
    WIDE,
    look,
    with_each_font,
    without_scripts,
)
from tests.pipelines.pages.report_run import make_run
from tests.pipelines.serving.console_rig import app_of, keep, seeded, settings_of
from tests.serving import running

pytestmark = pytest.mark.browser
INCIDENT = origin(CUP, 2, Status.PROPOSED).incident
PAGES = {
    "answers": "/",
    "answer": "/console/answer?query=watch-000",
    "report": "/console/report?query=watch-000&step=5",
    "ask": "/console/ask",
    "check": "/console/check",
    "inbox": "/console/inbox",
    "incident": f"/console/incident?id={INCIDENT}",
    "approve": f"/console/act/approve?id={INCIDENT}",
    "quarantine": "/console/quarantine",
    "sources": "/console/sources",
    "source": "/console/source?domain=quick-answers.example",
    "block": "/console/act/block?domain=fact-hub.example",
    "dead letters": "/console/dead-letters",
    "health": "/console/health",
    "actions": "/console/actions",
}
# What a reader with a screen reader or a keyboard needs; returns what is wrong (WCAG 2.2 AA).
CHECKS = """
const wrong = [];
const shown = (e) => e.checkVisibility();
const name = (e) => (e.getAttribute("aria-label") || e.labels?.[0]?.textContent
  || e.textContent || e.value || e.title || "").trim();
for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
  if (!e.labels?.length && !e.getAttribute("aria-label")) wrong.push(["no label", e.outerHTML]);
for (const e of document.querySelectorAll("a[href], button"))
  if (shown(e) && !name(e)) wrong.push(["no name", e.outerHTML.slice(0, 90)]);
let level = 0;
for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
  const now = Number(h.tagName[1]);
  if (now > level + 1) wrong.push(["heading", h.textContent]);
  level = now;
}
if (document.querySelectorAll("h1").length !== 1) wrong.push(["h1"]);
if (document.querySelectorAll("main").length !== 1) wrong.push(["main"]);
if (document.querySelectorAll("header").length < 1) wrong.push(["header"]);
if (!document.documentElement.lang) wrong.push(["lang"]);
if (!document.title) wrong.push(["title"]);
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids)) if (ids.filter((o) => o === id).length > 1) wrong.push(["id", id]);
for (const t of document.querySelectorAll("table"))
  if (!t.caption && !t.closest("[aria-label], .step")) wrong.push(["no caption", t.className]);
for (const n of document.querySelectorAll("nav"))
  if (!n.getAttribute("aria-label")) wrong.push(["nav"]);
for (const e of document.querySelectorAll("[aria-describedby]"))
  if (!document.getElementById(e.getAttribute("aria-describedby"))) wrong.push(["describedby"]);
for (const e of document.querySelectorAll(".button, button, .menu a")) {
  const box = e.getBoundingClientRect();
  if (shown(e) && (box.height < 24 || box.width < 24)) wrong.push(["small", name(e), box.height]);
}
return wrong;
"""
OVERHANG = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    settings = settings_of(tmp_path_factory.mktemp("console"))
    return app_of(settings, seeded(settings))


@pytest.fixture(scope="module")
def service(app):
    with running(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    settings = settings_of(tmp_path_factory.mktemp("hostile"))
    app = app_of(settings, seeded(settings, hostile=True), hostile=True)
    with running(app) as port:
        yield app, f"http://127.0.0.1:{port}"


def visit(browser, app, service, path: str, name: str = "ada") -> None:
    """Open a page; sign in by keyboard on the way, if nobody is signed in."""
    look(browser)
    browser.get(service + path)
    if "/console/sign-in" in browser.current_url:
        # A page focuses its field after it has loaded.
        until(browser, lambda: browser.switch_to.active_element.tag_name == "input")
        browser.switch_to.active_element.send_keys(app.state.tokens[name], Keys.ENTER)
        until(browser, lambda: "/console/sign-in" not in browser.current_url)


def until(browser, condition, seconds: float = 60.0):
    return WebDriverWait(browser, seconds, 0.05).until(lambda _: condition())


def body(browser):
    return browser.find_element(By.TAG_NAME, "body")


def problems(browser) -> list[str]:
    return [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]


def unfold(browser) -> None:
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true;")


@with_each_font
def test_every_page_is_quiet_readable_and_fits(browser, app, service):
    visit(browser, app, service, "/console/inbox")
    for name, path in PAGES.items():
        look(browser)
        browser.get_log("browser")
        browser.get(service + path)
        assert browser.execute_script("return document.contentType") == "text/html", name
        unfold(browser)
        assert browser.execute_script(CHECKS) == [], name
        for scheme in ("light", "dark"):
            look(browser, scheme=scheme)
            worst = browser.execute_script(CONTRAST)
            assert worst[0][0] >= 4.5, (name, worst)
        for width in (WIDE, 320):
            look(browser, width)
            assert browser.execute_script(OVERHANG) <= 0, name
        assert problems(browser) == [], name
        marked = "return document.querySelectorAll('.menu [aria-current]').length"
        assert browser.execute_script(marked) == (path in {menu for menu, _, _ in MENU}), name


def test_answers_are_live_and_keep_focus_folds_and_scroll(browser, app, service):
    visit(browser, app, service, "/console/answer?query=watch-003")
    until(browser, lambda: browser.find_element(By.ID, "live-state").text == "live")
    fold = browser.find_element(By.ID, "step-2")
    browser.execute_script(
        "arguments[0].open = true; window.kept = true;"
        "const s = arguments[0].querySelector('summary'); s.focus(); scrollTo(0, 400);", fold
    )  # fmt: skip
    engine = app.state.context.engine
    event = make_run()[0][3 * 6 + 5]
    assert event.query_id == "watch-003"
    at = event.observed_at + timedelta(days=30)
    keep(engine, replace(event, step=6, answer="eighteen moons", changed=True, observed_at=at))
    until(browser, lambda: "eighteen moons" in browser.find_element(By.ID, "result").text)
    assert browser.execute_script(
        "return [window.kept, document.activeElement === arguments[0].querySelector('summary'),"
        " arguments[0].open, arguments[0].isConnected, scrollY > 0]", fold
    ) == [True] * 5  # fmt: skip
    assert browser.find_element(By.ID, "step-6").is_displayed()
    browser.get(f"{service}/")
    assert "eighteen moons" in browser.find_element(By.ID, "row-1").text


def test_search_and_keyboard(browser, app, service):
    visit(browser, app, service, "/")
    body(browser).send_keys("/")
    browser.switch_to.active_element.send_keys("QUILLSTACK", Keys.ENTER)
    until(browser, lambda: "q=QUILLSTACK" in browser.current_url)
    rows = browser.find_elements(By.CSS_SELECTOR, "tbody tr")
    assert [("Quillstack" in row.text) for row in rows] == [True]
    reached = []
    body(browser).send_keys(Keys.TAB)
    for _ in range(60):
        here = browser.switch_to.active_element
        reached.append(here.text or here.get_attribute("name") or here.tag_name)
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        assert browser.execute_script(outline) != "none", reached
        if "Quillstack" in reached[-1]:
            break
        here.send_keys(Keys.TAB)
    assert reached[0] == "Skip to the result"
    assert {"Answers", "Inbox", "Sign out", "q"} <= set(reached)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(browser, lambda: "/console/answer" in browser.current_url)


def test_shortcuts_are_listed_and_lead_there(browser, app, service):
    visit(browser, app, service, "/console/inbox?sort=-complaints")
    body(browser).send_keys("?")
    listed = browser.find_element(By.ID, "shortcuts")
    assert listed.is_displayed() and "next and previous row" in listed.text
    body(browser).send_keys(Keys.ESCAPE)
    until(browser, lambda: not listed.is_displayed())
    body(browser).send_keys("jj")
    rows = browser.find_elements(By.CSS_SELECTOR, "tbody tr")
    assert browser.switch_to.active_element == rows[1].find_element(By.TAG_NAME, "a")
    browser.find_element(By.NAME, "q").send_keys("4")
    assert "/console/inbox" in browser.current_url
    browser.switch_to.active_element.send_keys(Keys.TAB, Keys.TAB)
    browser.switch_to.active_element.send_keys("6")
    until(browser, lambda: "/console/sources" in browser.current_url)


def test_a_question_by_keyboard(browser, app, service):
    visit(browser, app, service, "/console/ask")
    browser.find_element(By.ID, "question").send_keys("Who is the mayor?", Keys.TAB, Keys.TAB,
                                                      Keys.ENTER)  # fmt: skip
    until(browser, lambda: browser.find_elements(By.ID, "reply"))
    unfold(browser)
    assert browser.execute_script(CHECKS) == []
    look(browser, 320, "dark")
    assert browser.execute_script(OVERHANG) <= 0
    assert browser.execute_script(CONTRAST)[0][0] >= 4.5
    assert problems(browser) == []


def test_pages_work_without_scripts(browser, app, service):
    visit(browser, app, service, "/")
    with without_scripts(browser):
        browser.get(f"{service}/console/sources")
        assert "quick-answers.example" in browser.find_element(By.TAG_NAME, "table").text
        browser.get(f"{service}/console/act/block?domain=fact-hub.example")
        browser.find_element(By.CSS_SELECTOR, "button.primary").click()
        until(browser, lambda: "/console/done" in browser.current_url)
        assert read_actions(app.state.context.engine)[0].action == "block"


def test_nothing_hostile_executes(browser, hostile):
    app, service = hostile
    visit(browser, app, service, "/")
    of_others = ("dead letters", "answer", "report", "incident", "approve")
    paths = [path for name, path in PAGES.items() if name not in of_others]
    with app.state.context.engine.connect() as connection:
        for table, column, pages in (
            ("kept_events", "query_id", {"answer": {}, "report": {"step": 1}}),
            ("incidents", "incident", {"incident": {}, "act/approve": {}}),
            ("quarantine", "query_id", {"act/release": {}}),
        ):
            named = connection.exec_driver_sql(f"SELECT DISTINCT {column} FROM {table}").all()  # noqa: S608
            field = "id" if column == "incident" else "query"
            for page, more in pages.items():
                paths += [link(f"/console/{page}", **{field: name}, **more) for (name,) in named]
    look(browser, 320)
    for path in paths:
        browser.get(service + path)
        check_inert(browser, path)
    browser.get(f"{service}/console/ask")
    browser.find_element(By.ID, "question").send_keys("<img src=x onerror='window.pwned=1'>")
    browser.find_element(By.CSS_SELECTOR, "form.ask button").click()
    until(browser, lambda: browser.find_elements(By.ID, "reply"))
    check_inert(browser, "reply")


def check_inert(browser, path: str) -> None:
    unfold(browser)
    browser.execute_script(
        "for (const e of document.querySelectorAll('bdi, td, circle, a:not([href])')) "
        "e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"
    )
    assert browser.execute_script("return window.pwned") is None, path
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert.text
    foreign = "img, iframe, object, embed, base, foreignObject, script:not([src]), style"
    count = f"return document.querySelectorAll('{foreign}').length"
    assert browser.execute_script(count) == 0, path
    kinds = "return [...new Set([...document.links].map((a) => a.protocol))]"
    assert set(browser.execute_script(kinds)) <= {"http:", "https:"}, path
    assert [m for m in problems(browser) if "404" not in m] == [], path
    assert browser.execute_script(OVERHANG) <= 0, path


def test_signing_out_leads_to_the_sign_in_and_back_does_not_show_pages(browser, app, service):
    visit(browser, app, service, "/")
    browser.find_element(By.CSS_SELECTOR, ".who button").click()
    until(browser, lambda: "/console/sign-in" in browser.current_url)
    assert [c["name"] for c in browser.get_cookies()] == []
    browser.back()
    until(browser, lambda: "/console/sign-in" in browser.current_url)
