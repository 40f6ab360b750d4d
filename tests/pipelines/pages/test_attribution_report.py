"""Pages on wrong answers, sources and studies: figures as stored, every text inert."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, insert
from radarstream.connectors.state_table.incidents.store import Incident
from radarstream.connectors.state_table.sources.listing import SourceRecord, SourceSummary
from radarstream.defenses.attribution.registry import ATTRIBUTORS
from radarstream.defenses.kernels.honesty import credible_interval
from radarstream.pipelines import build
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.evaluation.study.record import RECORD
from radarstream.pipelines.pages.incidents.charts import (
    RADIUS,
    ROW,
    WIDTH,
    Dot,
    split_of,
    stacked,
    strip,
)
from radarstream.pipelines.pages.incidents.incidents_view import (
    HeldText,
    StreamView,
    incidents_of,
    stream_view,
    write_stream_pages,
)
from radarstream.pipelines.pages.incidents.sources_view import (
    Known,
    SourcesView,
    sources_view,
    trace,
)
from radarstream.pipelines.pages.incidents.stored import incidents
from radarstream.pipelines.pages.incidents.words import DECISIONS, FINDINGS, KINDS, WAITING
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import MODEL_ERRED, ComplaintState, Decision, Status
from radarstream.schemas.sources import DAY_MS, Counts, EventKind, SourceVerdict, Standing
from tests.pipelines.evaluation.attribution_studies import METHODS, NOBODY, Bench, oracle
from tests.pipelines.pages.attribution_pages import (
    HONEST,
    HOSTILE,
    LIARS,
    complaint_of,
    events,
    fill,
    hostile_events,
)
from tests.pipelines.pages.page_checks import Page, check_inert
from tests.pipelines.pages.report_run import IMAGE, LICENCES, MODELS

HALF_LIFE = 90.0
START_MS = 1_740_000_000_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Both pages of a filled database, by the command."""
    directory = tmp_path_factory.mktemp("pages")
    url = f"sqlite:///{directory / 'state.sqlite'}"
    fill(open_engine(url))
    result = command("--database", url, "--out", directory)
    assert str(directory / "attributions.html") in result
    return tuple(
        (directory / name).read_text("utf-8") for name in ("attributions.html", "sources.html")
    )


def command(*arguments: object) -> str:
    build._engine.cache_clear()
    result = CliRunner().invoke(app, ["incidents", "report", *map(str, arguments)])
    build._engine.cache_clear()
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_a_wrong_answer_shows_its_texts_the_split_and_what_followed(pages) -> None:
    page = Page(pages[0])
    sections = re.findall(r'<details class="event" id="event-\d+".*?</details>', pages[0], re.S)
    assert len(sections) == 4
    (quarantined,) = [s for s in sections if "texts in quarantine" in s]
    shown = Page(quarantined).text
    for words in (
        "Who is the mayor of Larkhaven?",
        "Peter Lang",
        "Ingrid Solberg no longer the same",
        "1.90 between the mean scores of flagged and other texts; +2.75 in the influence",
        "complaint by ann The official site disagrees.",
        "attributed in 9 model calls",
        "3 of 3 texts left out of this query",
    ):
        assert words in shown, words
    rows = re.findall(r'<tr class="flagged">.*?</tr>|<tr>.*?</tr>', quarantined, re.S)
    ranks = [re.search(r'data-label="rank">(\d+)', row) for row in rows]
    flagged = [m[1] for m, row in zip(ranks, rows, strict=True) if m and "flagged" in row[:20]]
    assert flagged == ["1", "3", "4"]
    assert quarantined.count(">not flagged</text>") == 1
    assert "approved by a person" in page.text
    assert "noticed by the pipeline itself" in page.text
    assert "the model errs by itself" in page.text


def test_a_proposal_names_the_commands_that_decide(pages) -> None:
    short = events()[2].incident[:8]
    assert f"<code>radarstream incidents approve {short}</code>" in pages[0]
    assert f"<code>radarstream incidents dismiss {short}</code>" in pages[0]
    assert f"<code>radarstream incidents model-erred {short}</code>" in pages[0]
    # What is blamed on no text is either the model's error or no error.
    unblamed = events()[3].incident[:8]
    assert f"<code>radarstream incidents model-erred {unblamed}</code>" in pages[0]
    assert pages[0].count("<code>") == 5


def test_that_the_model_erred_is_told_and_asks_for_no_word() -> None:
    event = replace(events()[0], status=Status.NOTHING_FLAGGED, detail=MODEL_ERRED)
    life = Incident("", 0, Decision.MODEL_ERRED, START_MS, attributed_ms=START_MS, model_calls=1)
    told = [complaint_of(event, "ann")]
    view = stream_view(incidents_of([event], {event.incident: life}, told, {}))
    assert view.decisions == (("the model erred: no source is to blame", "none", 1),)
    assert view.events[0].advice == ()
    words = [words for _, words, _ in view.events[0].life]
    assert "laid to the model by a person" in words
    assert words[-1] == "now: the model erred: no source is to blame"


def test_no_page_says_that_a_named_site_lies(pages) -> None:
    for page in pages:
        words = re.sub(
            r"<style.*?</style>|<script.*?</script>|[\w.-]+\.example", "", page, flags=re.S
        )
        assert not re.search(r"\b(lie|lies|lied|liar|(dis)?honest(y)?)\b", words, re.I)
    assert "Which sources are blamed, since when, for what" in pages[1]


def test_reports_that_wait_are_listed(pages) -> None:
    assert "waits for its attribution" in Page(pages[0]).text
    assert "ffffffff" in pages[0]


def test_sources_are_listed_with_verdicts_intervals_claims_and_links(pages) -> None:
    page = Page(pages[1])
    order = re.findall(r'<th scope="row" class="domain">.*?<bdi>(.*?)</bdi>', pages[1])
    assert order[:2] == [LIARS[0], LIARS[1]]
    assert {*order[2:]} == {*HONEST[:2]}
    assert "blocked by a person 1" in page.text
    assert "pardoned by a person 1" in page.text
    assert "a farm of answers" in page.text
    assert "judged as if nothing were known" in page.text
    low, high = credible_interval(4.0, 1.0)
    assert f"{low:.2f} to {high:.2f}" not in page.text  # every source has a past
    links = set(re.findall(r'href="(attributions\.html#event-\d+)"', pages[1]))
    assert links
    anchors = set(re.findall(r'id="(event-\d+)"', pages[0]))
    assert {link.split("#")[1] for link in links} <= anchors
    back = set(
        re.findall(r'href="sources\.html#(source-\d+)">(?:reliability [.\d]+|\w+)<', pages[0])
    )
    assert back == {"source-1", "source-2", "source-3", "source-4"}


def test_one_query_can_be_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.sqlite'}"
    fill(open_engine(url))
    command("--database", url, "--out", tmp_path, "--query", "q-cup")
    page = (tmp_path / "attributions.html").read_text("utf-8")
    assert "Greyfield" in page
    assert "Larkhaven" not in page
    question = events()[2].question.upper()
    command("--database", url, "--out", tmp_path, "--query", question)
    assert (tmp_path / "attributions.html").read_text("utf-8") == page
    command("--database", url, "--out", tmp_path, "--limit", "1")
    assert "there are more than 1" in (tmp_path / "attributions.html").read_text("utf-8")


def test_a_report_that_nothing_was_looked_for_is_told_as_that() -> None:
    event = replace(events()[0], status=Status.UNVERIFIED, finding=None, attributor="")
    life = Incident("", 0, None, None, attributed_ms=START_MS, model_calls=1)
    told = str(stream_view(incidents_of([event], {event.incident: life}, [], {})))
    assert "'no texts were looked for'" in told
    assert "'looked into with 1 model call'" in told
    assert "attributed in" not in told


def test_an_empty_database_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.sqlite'}"
    open_engine(url).dispose()
    command("--database", url, "--out", tmp_path / "new")
    assert "Nobody has complained" in (tmp_path / "new/attributions.html").read_text("utf-8")
    assert "The ledger is empty" in (tmp_path / "new/sources.html").read_text("utf-8")


def test_a_query_nobody_reported_makes_no_page(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.sqlite'}"
    fill(open_engine(url))
    given = ["--database", url, "--out", str(tmp_path / "new"), "--query", "nope"]
    result = CliRunner().invoke(app, ["incidents", "report", *given])
    assert result.exit_code == 1
    assert "query 'nope'" in str(result.exception)
    assert not (tmp_path / "new").exists()


def test_the_limit_counts_reports_of_the_query_alone(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    with engine.begin() as connection:
        for number in range(60):
            query = "old" if number == 0 else "other"
            report = StoredComplaint(
                f"{number:032x}", f"{number:016x}", query, number, "Rome", "eve", number, number
            )
            insert(connection, report)
    assert [one.complaints[0].query_id for one in incidents(engine, "old", 2)] == ["old"]


def hostile_views() -> tuple[StreamView, SourcesView]:
    found = hostile_events()
    reports = [complaint_of(event, HOSTILE[0], HOSTILE[1]) for event in found]
    lives = {
        e.incident: Incident(
            "", 0, Decision.APPROVED, START_MS, attributed_ms=START_MS, model_calls=3
        )
        for e in found
    }
    held = {e.incident: [HeldText(IMAGE, IMAGE, True, True, False)] for e in found}
    waiting = replace(reports[0], incident=IMAGE, sender=HOSTILE[1], detail=HOSTILE[0])
    stream = stream_view(incidents_of(found, lives, [*reports, waiting], held))
    record = SourceRecord(EventKind.CONFIRMED, 1.0, START_MS, HOSTILE[0], 1, IMAGE, HOSTILE[1])
    known = [
        Known(
            SourceSummary(
                Standing(name, Counts(0.0, 1.0, START_MS), SourceVerdict.BLOCKED, HOSTILE[2]),
                1,
                START_MS,
                START_MS,
                HOSTILE,
            ),
            (record,),
        )
        for name in HOSTILE
    ]
    return stream, sources_view(known, total=9, as_of_ms=START_MS, half_life_days=HALF_LIFE)


def test_hostile_text_is_inert(tmp_path: Path) -> None:
    for file in write_stream_pages(tmp_path, *hostile_views(), heads=[("query", IMAGE)], most=5):
        check_inert(file.read_text("utf-8"))


@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.booleans()).map(lambda p: Dot(p[0], 1, flagged=p[1])),
        min_size=2,
        max_size=40,
    )
)
def test_dots_never_cover_each_other(dots: list[Dot]) -> None:
    unit = max(1e-9, max(d.score for d in dots) - min(d.score for d in dots)) / WIDTH
    places = [(dot.score / unit, level * ROW) for dot, level in stacked(dots, unit)]
    assert len(places) == len(dots)
    for i, (x, y) in enumerate(places):
        for other_x, other_y in places[:i]:
            assert (x - other_x) ** 2 + (y - other_y) ** 2 >= (2 * RADIUS - 0.2) ** 2


def test_every_dot_is_drawn_where_the_layout_has_it() -> None:
    dots = [Dot(0.1 * n, n + 1, flagged=n > 3, poison=n == 5) for n in range(6)]
    drawing = str(strip(dots))
    assert re.findall(r"<title>text (\d): [\d.]+, (not )?flagged(, planted)?<", drawing) == [
        (str(n + 1), "" if n > 3 else "not ", ", planted" if n == 5 else "") for n in range(6)
    ]
    assert re.findall(r'font-weight="600"[^>]*>(\d)</text>', drawing) == list("123456")
    assert drawing.count('stroke="var(--attack)"') == 1


def test_the_cut_is_between_the_groups_if_anywhere() -> None:
    apart = [Dot(0.1, 3, False), Dot(0.2, 2, False), Dot(1.0, 1, True)]
    assert split_of(apart) == pytest.approx(0.6)
    assert split_of([*apart, Dot(0.0, 4, True)]) is None
    assert split_of(apart[:2]) is None
    assert ">flagged<" in str(strip(apart))
    assert ">flagged<" not in str(strip(apart[:2]))


kinds = st.sampled_from([EventKind.CONFIRMED, EventKind.DETECTED, EventKind.AGREEMENT])
pasts = st.lists(st.tuples(kinds, st.floats(0.05, 1.0), st.integers(0, 300)), max_size=12)


@given(pasts, st.integers(0, 100))
@settings(deadline=None)
def test_the_curve_ends_where_the_ledger_is_and_starts_at_the_prior(past, later) -> None:
    counts = Counts()
    records = []
    for kind, weight, day in sorted(past, key=lambda entry: entry[2]):
        at = START_MS + day * DAY_MS
        side = "honest" if kind is EventKind.AGREEMENT else "dishonest"
        counts = counts.plus(at, HALF_LIFE, **{side: weight})
        records.append(SourceRecord(kind, weight, at, None, None, None, None))
    as_of = START_MS + (300 + later) * DAY_MS
    points = trace(counts, records, START_MS - DAY_MS, as_of, HALF_LIFE)
    now = counts.at(as_of, HALF_LIFE)
    assert points[-1].at_ms == as_of
    assert points[-1].mean == pytest.approx(now.honesty, abs=1e-6)
    assert points[0].mean == pytest.approx(0.8)
    assert all(0 < p.low <= p.mean <= p.high < 1 for p in points)


def test_agreement_that_is_kept_in_the_sum_alone_is_drawn_from_the_first_kept_day() -> None:
    at = START_MS + 100 * DAY_MS
    kept = SourceRecord(EventKind.AGREEMENT, 0.2, at, None, None, None, None)
    counts = Counts(honest=2.0, as_of_ms=at)
    points = trace(counts, [kept], START_MS, at, HALF_LIFE)
    assert points[-1].mean == pytest.approx(6.0 / 7.0)
    assert all(p.mean == pytest.approx(0.8) for p in points if p.at_ms < at)


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
    page = Page(text)
    assert "All plain attacks, 3 events: rag_origin judges" in page.text
    assert "false-reports, 3 events without an attacker" in page.text
    assert "Who is found out" in page.text
    assert text.count('<details class="event"') == 6
    first = re.search(r'<details class="event" id="event-1-1" open>.*?</details>', text, re.S)
    assert first
    shown = Page(first[0]).text
    assert "5 of 5 planted, 0 of" in shown  # the oracle
    assert "0 of 5 planted, 0 of" in shown  # nobody
    assert first[0].count('class="tag attack">planted') == 5
    assert 'stroke="var(--attack)"' in first[0]
    check_inert(text)


def test_a_study_tells_the_licences_of_its_weights(study: Path) -> None:
    record = json.loads((study / "study.json").read_text("utf-8"))
    (study / "study.json").write_text(json.dumps(record | {"models": MODELS}), encoding="utf-8")
    assert all(licence in Page(rendered(study)).text for licence in LICENCES)


def test_a_study_lists_mistakes_first_and_not_too_many(study: Path, monkeypatch) -> None:
    monkeypatch.setattr("radarstream.pipelines.pages.attribution.MOST_EVENTS", 4)
    text = rendered(study)
    assert text.count('<details class="event"') == 4
    assert "2 of 3 wrong answers, those first" in Page(text).text


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
    assert "failed: " in Page(text).text
    check_inert(text)


def test_what_is_stored_is_read_back(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.sqlite'}")
    fill(engine)
    found = incidents(engine, None, 10)
    assert [one.event is not None for one in found] == [True] * 4 + [False]
    lives = [one.life for one in found if one.event]
    assert [life.model_calls for life in lives if life] == [9] * 4
    approved = next(one for one in found if one.life and one.life.decision)
    assert approved.life
    assert approved.life.decision is Decision.APPROVED
    assert len(approved.held) == 3
    assert all(text.active for text in approved.held)


def test_every_decision_state_finding_and_kind_of_event_has_words() -> None:
    assert set(DECISIONS) == set(Status)
    assert set(WAITING) == set(ComplaintState)
    assert set(FINDINGS) == set(Finding)
    assert set(KINDS) == set(EventKind)
