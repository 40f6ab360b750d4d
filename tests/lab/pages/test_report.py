"""The report: every text inert, every number from the run, every link leading somewhere."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.lab.pages.replay import view
from radarstream.lab.pages.replay.page import render_report
from radarstream.lab.pages.replay.view import build_view
from radarstream.lab.pages.report import without_secrets
from radarstream.lab.study.scoring import Outcome
from radarstream.pipelines.pages.safe_text import (
    HIDDEN,
    domain,
    excerpt,
    safe_link,
)
from radarstream.pipelines.pages.verdict_words import REASONS, judged_in_words
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.retrieval import JudgedCandidate, Reranking
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    Abstention,
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)
from tests.pipelines.pages.page_checks import ParsedPage, check_inert
from tests.pipelines.pages.report_run import LICENCES, TOPICS, hostile_run, make_record, make_run


@pytest.fixture(scope="module")
def run() -> tuple[list[AnswerEvent], dict[str, SearchSnapshot]]:
    return make_run()


@pytest.fixture(scope="module")
def page(run) -> str:
    return render_report(*run, make_record())


@pytest.fixture(scope="module")
def hostile() -> str:
    answers, snapshots, record = hostile_run()
    return render_report(answers, snapshots, record)


def test_hostile_text_is_shown_and_nothing_else(page, hostile):
    check_inert(page)
    parsed = check_inert(hostile)
    assert '<img src=x onerror="window.pwned=1">' in parsed.text
    assert "{{7*7}}" in parsed.text
    assert "javascript:window.pwned=1" in parsed.text  # as text, not as a link
    assert "‹U+202E›" in parsed.text
    assert "\u200d" in hostile  # emoji that are joined stay joined
    assert not HIDDEN.search(hostile)
    hostile.encode("utf-8")


def test_a_page_asks_for_nothing_tells_licences_and_keeps_secrets(page):
    parsed = ParsedPage(page)
    links = [a for tag, a in parsed.tags if tag == "a" and a.get("href", "#")[0] != "#"]
    assert links
    assert {link["rel"] for link in links} == {"noopener noreferrer nofollow"}
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "canary-3f9a" not in page
    assert "max_tokens" in page
    assert all(licence in parsed.text for licence in LICENCES)


def test_order_of_events_within_a_query_does_not_matter(run, page):
    answers, snapshots = run
    shuffled = sorted(answers, key=lambda event: (event.query_id, -event.step))
    assert render_report(shuffled, snapshots, make_record()) == page


def test_summary_counts_what_the_labels_say(run):
    answers, snapshots = run
    shown = build_view(answers, snapshots, make_record())
    attacked = [s for s in snapshots.values() if s.labels.attack]
    fooled = [
        event
        for event in answers
        if snapshots[event.snapshot_id].labels.attack
        and snapshots[event.snapshot_id].labels.target in event.answer
    ]
    assert len(shown.steps) == 72
    assert sum(len(query.attacked) for query in shown.queries) == len(attacked)
    hits, trials, bare = (
        sum(getattr(point.attack_success, count) for point in shown.curves[side] if point.planted)
        for side, count in (("defended", "hits"), ("defended", "trials"), ("undefended", "hits"))
    )
    assert (hits, trials) == (len(fooled), len(attacked))
    assert 0 < hits < trials  # the sample has both kinds
    assert bare == len(attacked)
    assert len(shown.findings["Attacks that got through"]) == len(fooled)
    assert len(shown.findings["Attacks stopped"]) == len(attacked) - len(fooled)


def test_teachers_of_a_lie_are_named(run):
    shown = build_view(*run, make_record())
    lies = [step for query in shown.queries for step in query.fooled]
    assert lies
    for step in lies:
        named = {rank for ranks in step.teachers.values() for rank in ranks}
        assert named == {line.verdict.rank for line in step.planted if line.verdict.kept}
        assert all(site.endswith(".example") for site in step.teachers)


def test_a_lie_that_stays_is_found(run):
    answers, snapshots = run
    first, second, third = answers[2:5]  # step 2 is attacked
    assert snapshots[first.snapshot_id].labels.target == "Victor Marlowe"
    told = [replace(event, answer="Victor Marlowe") for event in (first, second)]
    shown = build_view([*told, third], snapshots, make_record())
    assert [step.outcome for step in shown.queries[0].steps][:2] == [Outcome.FOOLED] * 2
    stayed = shown.findings["Wrong answers that stayed"]
    assert [finding.step.event.step for finding in stayed] == [second.step]


def test_memory_that_kept_a_wrong_answer_did_not_hold(run):
    answers, snapshots = run
    held = build_view(answers, snapshots, make_record()).findings[view.HELD]
    first = held[0].step.event
    wrong = [replace(e, answer="Nobody at all") if e == first else e for e in answers]
    now = build_view(wrong, snapshots, make_record()).findings[view.HELD]
    assert len(now) == len(held) - 1
    assert first.snapshot_id not in [finding.step.event.snapshot_id for finding in now]


def test_every_question_stands_under_its_dates(run, monkeypatch):
    answers, snapshots = run
    early, late = answers[:3], [event for event in answers if event.query_id != answers[0].query_id]
    late = [event for event in late if event.query_id == late[0].query_id][1:4]
    shown = build_view([*early, *late], snapshots, make_record())
    dates = sorted({f"{event.observed_at:%Y-%m-%d}" for event in (*early, *late)})
    assert len(dates) == 4
    assert list(shown.columns) == dates
    assert sorted((dates.index(date), q) for date, held in shown.columns.items() for q in held) == [
        (0, 1), (1, 1), (1, 2), (2, 1), (2, 2), (3, 2)]  # fmt: skip

    first = early[0].observed_at.replace(hour=9)
    twice = [replace(e, observed_at=first.replace(hour=9 + n)) for n, e in enumerate(early)]
    shown = build_view(twice, snapshots, make_record())
    assert list(shown.columns) == [f"{first:%Y-%m-%d} {h} UTC" for h in
                                                ("09:00", "10:00", "11:00")]  # fmt: skip

    monkeypatch.setattr(view, "MAX_DATES", 3)
    shown = build_view([*early, *late], snapshots, make_record())
    assert list(shown.columns) == ["1", "2", "3", "4"]


def test_large_runs_are_cut_short_and_say_so(run, monkeypatch):
    monkeypatch.setattr(view, "MAX_DETAILED_QUERIES", 3)
    monkeypatch.setattr(view, "MAX_OVERVIEW_QUERIES", 5)
    answers, snapshots = run
    shown = build_view(answers, snapshots, make_record())
    assert [query.number for query in shown.detailed][:1] == [1]
    assert 8 in {query.number for query in shown.detailed}  # the other one with a lie
    parsed = ParsedPage(render_report(answers, snapshots, make_record()))
    assert "Details are shown for 3 of 12 questions" in parsed.text
    assert "6 of 12 questions are listed here" in parsed.text
    inside = {href[1:] for href in parsed.values("href") if href.startswith("#")}
    assert inside <= set(parsed.values("id"))
    monkeypatch.setattr(view, "MAX_DETAILED_DOCUMENTS", 10)
    assert len(build_view(*run, make_record()).detailed) == 1  # one huge question has its section


@pytest.mark.parametrize("missing", ["labels", "snapshots", "selection", "everything"])
def test_less_than_a_full_run(run, missing):
    answers, snapshots = run
    match missing:
        case "labels":
            snapshots = {key: replace(s, labels=None) for key, s in snapshots.items()}
        case "snapshots":
            snapshots = {}
        case "selection":
            answers = [replace(event, verdict=unselective(event)) for event in answers]
        case "everything":
            answers, snapshots = [], {}
    parsed = check_inert(render_report(answers, snapshots, make_record()))
    assert ("This run carries no labels" in parsed.text) == (missing != "selection")


def unselective(event: AnswerEvent) -> Verdict:
    documents = tuple(
        DocumentVerdict(d.rank, kept=True, reason=Reason.NOT_JUDGED)
        for d in event.verdict.documents
    )
    return Verdict(event.answer, documents)


def test_abstentions_are_explained(run):
    answers, snapshots = run
    for reason in Abstention:
        silent = replace(answers[0], answer="", abstention=reason, verdict=Verdict("", (), reason))
        parsed = ParsedPage(render_report([silent], snapshots, make_record()))
        assert "no answer: " in parsed.text
        assert "1 of 1" not in parsed.text[: parsed.text.index("Undefended")]


@pytest.mark.parametrize(
    ("reason", "keep", "reject", "margin", "words"),
    [
        (Reason.SUPPORTED, 0.9, 0.0, 1.0, "agrees with document 2 and the memory"),
        (Reason.CUT, 0.1, 0.9, 1.0, "contradicted by document 3"),
        (Reason.CUT, 0.1, 0.3, 1.0, "more conflict than support; no agreement with document 3"),
        (Reason.CUT, 0.3, 0.1, 1.0, "falls with the documents that share its answer"),
        (Reason.CUT, 0.3, 0.3, 0.0, "as much speaks against it as for it"),
        (Reason.CUT, None, None, None, "no agreement with document 3"),
        (Reason.UNINFORMATIVE, None, None, None, "the model read no answer in it"),
    ],
)
def test_reasons_in_plain_words(reason, keep, reject, margin, words):
    judged = DocumentVerdict(1, reason is Reason.SUPPORTED, reason, "a", keep, reject, margin)
    others = tuple(DocumentVerdict(rank, True, Reason.SUPPORTED, "b") for rank in (2, 3))
    verdict = Verdict(
        "b",
        (judged, *others),
        memory=MemoryVerdict(MemoryDecision.RETAINED, "a"),
        edges=((1, 2, 0.9), (1, 3, 0.1), (MEMORY_NODE, 1, 0.8)),
    )
    assert judged_in_words(judged, verdict)[1] == words


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=25, deadline=None)
def test_any_text_is_inert(title, url, claim):
    answers, snapshots = make_run(TOPICS[:1], steps=1, documents=2)
    event, snapshot = answers[0], snapshots[answers[0].snapshot_id]
    documents = tuple(replace(d, title=title, url=url, text=claim) for d in snapshot.documents)
    judged = tuple(replace(d, atomic_answer=claim) for d in event.verdict.documents)
    event = replace(event, answer=claim, question=title,
                    verdict=replace(event.verdict, documents=judged))  # fmt: skip
    page = render_report([event], {snapshot.id: replace(snapshot, documents=documents)},
                         make_record())  # fmt: skip
    check_inert(page)
    page.encode("utf-8")


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "data:text/html,x",
     "vbscript:x", "//evil.example/x", "http:evil.example", "https://", "http://[::1", "/local",
     "ht\ttps://a.example", "https://a.example/\u202egpj.exe", "file:///etc/passwd",
     'https://a.example/"onmouseover="x', "https://a.example\\@b.example", "",
     "https://a.example/" + "x" * 3_000]
)  # fmt: skip
def test_links_that_are_not_followed(url):
    assert safe_link(url) is None
    assert domain(url) == ""


@pytest.mark.parametrize(
    ("url", "link", "shown"),
    [
        ("https://bank.example@evil.example:81/a?b#c", "https://evil.example:81/a?b#c",
         "evil.example"),
        ("https://www.bank.example:pin@evil.example/", "https://evil.example/", "evil.example"),
        ("https://b\u0430nk.example/", "https://xn--bnk-6cd.example/", "xn--bnk-6cd.example"),
        ("https://app\u04cfe.example/", "https://xn--appe-xre.example/", "xn--appe-xre.example"),
        ("http://\uff42ank.example\u3002org/", "http://bank.example.org/", "bank.example.org"),
        ("http://u@[2001:db8::1]:80/", "http://[2001:db8::1]:80/", "2001:db8::1"),
    ]
)  # fmt: skip
def test_links_show_the_real_host(url, link, shown):
    assert (safe_link(url), domain(url)) == (link, shown)


@given(st.text(st.sampled_from("ab\u0430\u04cf\u00df\U0001f600.@:-\uff42\u2100"), max_size=80))
def test_a_link_is_to_the_host_that_it_shows(host):
    link = safe_link(f"https://{host}/")
    if link is not None:
        assert urlsplit(link).netloc.isascii() and "@" not in urlsplit(link).netloc
        assert domain(link) == domain(f"https://{host}/") != ""


def test_excerpt_shows_the_passage_that_says_it():
    text = "filler " * 100 + "The mayor is Ana Ruiz. " + "filler " * 100
    found = excerpt(text, "ana ruiz")
    assert found.match == "Ana Ruiz"
    assert len(found.before + found.match + found.after) <= 302
    assert (found.before[0], found.after[-1]) == ("…", "…")


def test_settings_lose_their_secrets_only():
    shown = without_secrets(
        {
            "a": [{"API-Key": "x", "partition_key": "id"}],
            "password": "",
            "dsn": "s://u:p@h/d",
            "link": "https://h/x?api_key=canary&k=3",
        }
    )
    assert shown["a"][0]["partition_key"] == "id"
    assert "p@h" not in str(shown)
    assert shown["link"] == "https://h/x?api_key=(redacted)&k=3"
    assert shown["a"][0]["API-Key"] == "(redacted)"


def test_what_an_answer_rests_on_is_told_in_words(run) -> None:
    answers, snapshots = run
    support = Support(4, 1, 1.0, 0.38, "<b>Rome</b>" + 90 * "!", 3, 4)
    standing = StandingAnswer("The <old> answer", answers[0].observed_at)
    first = replace(answers[0], status=AnswerStatus.DISPUTED, support=support)
    second = replace(answers[1], status=AnswerStatus.ABSTAINED, standing=standing)
    page = ParsedPage(render_report([first, second, *answers[2:]], snapshots, make_record()))
    assert "4 independent sites say so, 1 says <b>Rome</b>!!!" in page.text
    assert (
        "; the memory agrees; 3 more lying sites could silence it, 4 could change it" in page.text
    )
    assert 90 * "!" not in page.text
    assert "disputed, confidence 0.38" in page.text
    assert "The <old> answer stands, unconfirmed since 2024-" in page.text
    assert (
        "unconfirmed since" not in ParsedPage(render_report(answers, snapshots, make_record())).text
    )


def test_a_step_shows_what_a_reranker_dropped(run) -> None:
    answers, snapshots = run
    event, *others = answers
    snapshot = snapshots[event.snapshot_id]
    count = len(snapshot.documents)
    found = {d.rank: count + 1 - d.rank for d in snapshot.documents}  # everything turned round
    judged = tuple(
        JudgedCandidate(rank, found[rank], rank < count, 0.5 - rank / 100,
                        Reason.SUSPECT if rank == count else None, penalty=0.125)
        for rank in sorted(found)
    )  # fmt: skip
    last = replace(event.verdict.documents[-1], kept=False, reason=Reason.SUSPECT,
                   atomic_answer=None, keep_evidence=None, margin=None)  # fmt: skip
    verdict = replace(event.verdict, documents=(*event.verdict.documents[:-1], last), edges=())
    event = replace(event, verdict=verdict, reranking=Reranking("wary", judged))
    turned = snapshots | {snapshot.id: event.reranking.renumbered(snapshot)}
    html = render_report([event, *others], turned, make_record())
    step = html[html.index('class="text candidates"') :]
    step = step[: step.index("</details>")]
    assert f"wary dropped 1 of {count} candidates (1 suspect)" in step
    assert step.count("<tr class=") == count
    suspect = step[step.rindex('<tr class="cut">') :]
    assert REASONS[Reason.SUSPECT] in suspect
    assert "0.125" in suspect
    title = next(d.title for d in snapshot.documents if d.rank == found[count])
    assert title[:20] in suspect  # the one that was found first
    assert ", 1 dropped" in html
    plain = render_report(answers, snapshots, make_record())
    assert 'class="text candidates"' not in plain
