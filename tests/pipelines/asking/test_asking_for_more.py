"""Where the first documents settle no answer, more is searched; what the job knows of questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, update

from radarstream import Guard
from radarstream.connectors.corpus.store import Corpus
from radarstream.connectors.search.paged import period_of
from radarstream.connectors.state_table.database.tables import MEMORY
from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.watchlist import credits_used, replace_all
from radarstream.pipelines.asking import retrievers
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.building import build_answerer
from radarstream.pipelines.asking.known import KnownQueries, query_of
from radarstream.pipelines.asking.retrievers import WebSearch, found_for, impatient_clock
from radarstream.pipelines.asking.values import Origin, Reply
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.pages.verdict_words import depth_in_words
from radarstream.pipelines.searching import Search, other_words
from radarstream.pipelines.serving.replies import facts_of
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.settings.watched import Watched, table_entries
from radarstream.schemas.errors import InputError
from radarstream.schemas.orchestration import Module
from radarstream.schemas.searching import SearchRequest
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision
from tests.asking import CAPITAL, CLAIMS, NOON, OFF, Retrieving, answerer_with, question
from tests.builders import make_documents
from tests.connectors.search import search_server as service
from tests.connectors.search.search_server import SearchServer
from tests.connectors.search.services import CASES

TRUTH, LIE, NOTHING = "Lima", "Cusco", ""
WORDS = "capital peru"  # what the question says beside function words
FIRST, NEXT, OTHER = (CAPITAL, "0"), (CAPITAL, "10"), (WORDS, "0")
Web = Mapping[tuple[str, str], Sequence[tuple[str, str]]]  # words and start: addresses and texts
Serve = Callable[[dict[str, str]], service.Reply]
Ask = Callable[..., Reply]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    for case in CASES.values():
        monkeypatch.setenv(case.variable, service.KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with service.serve() as running:
        yield running


def in_words(answer: str, own: str) -> str:
    """A text that says an answer, or nothing, in words of its own: copies would be one voice."""
    return f"{own} of {own}: {answer} is the capital, {own} and {own} say." if answer else own


@pytest.fixture
def ask(server: SearchServer, tmp_path: Path) -> Ask:
    """Ask the question of a web, where the search service refuses what the web has no page for."""

    def ask(web: Web | Serve, **search: Any) -> Reply:
        def answering(parameters: dict[str, str]) -> service.Reply:
            if callable(web):
                return web(parameters)
            pages = web.get((parameters["q"], parameters.get("start", "0")))
            found = [
                (f"https://{address}", in_words(text, address)) for address, text in pages or ()
            ]
            results = [
                service.result(place, link=link, title="", snippet=text)
                for place, (link, text) in enumerate(found, start=1)
            ]
            body = service.page(results, more=True) if results else service.EMPTY
            return service.Reply(body, 200 if pages is not None else 400)

        server.requests.clear()
        server.otherwise = answering
        settings = load_settings(
            profile="scripted",
            database=f"sqlite:///{tmp_path / 'state.db'}",
            orchestration=dict(OFF),
            search={"base_url": server.url, "burst": 1_000} | search,
        )
        return build_answerer(settings).answer(question(origin=Origin.SEARCH))

    return ask


def asked(server: SearchServer) -> list[tuple[str, str]]:
    return [(request["q"], request.get("start", "0")) for request in server.requests]


def test_thin_evidence_is_read_on_at_ranks_that_go_on(server, ask) -> None:
    calm = ask({FIRST: [("a.example", TRUTH), ("b.example", TRUTH)]})
    assert (calm.text, calm.event.wanted_more, asked(server)) == ("Lima", False, [FIRST])
    first = [("a.example", TRUTH), ("b.example", NOTHING)]
    more = [("b.example/?utm_source=x", NOTHING), ("d.example", TRUTH), ("e.example", TRUTH)]
    reply = ask({FIRST: first, NEXT: more})
    assert (reply.text, reply.event.status) == ("Lima", AnswerStatus.CORROBORATED)
    assert asked(server) == [FIRST, NEXT]
    found = [(d.rank, d.url.removeprefix("https://")) for d in reply.documents]
    names = ("a.example", "b.example", "d.example", "e.example")
    assert found == list(enumerate(names, start=1))
    depth = {"found": 4, "read": 4, "result_pages": 2, "wanted_more": False}
    assert facts_of(reply)["depth"] == depth
    assert depth_in_words(reply.event) == "4 of 4 documents were read, of 2 result pages"
    assert reply.question == question(origin=Origin.SEARCH)


def test_what_a_page_holds_beyond_the_wanted_is_read_on_for_nothing(server, ask) -> None:
    texts = [in_words(TRUTH if n in (0, 11) else NOTHING, f"site{n}.example") for n in range(20)]
    results = [(f"https://site{n}.example/", text, "") for n, text in enumerate(texts)]
    for name, case in CASES.items():
        if name != "serpapi":  # whose pages hold ten
            page = service.Reply(case.page(results, True))
            reply = ask(lambda _, page=page: page, name=name)
            assert (reply.text, reply.event.status) == ("Lima", AnswerStatus.CORROBORATED)
            assert (len(server.requests), reply.event.result_pages) == (1, 1)
            assert reply.event.wanted_more is False


def test_the_last_search_is_in_other_words_and_a_dispute_costs_no_more(server, ask) -> None:
    disputed = [("a.example", TRUTH), ("b.example", LIE)]
    reply = ask({FIRST: disputed, NEXT: [("c.example", NOTHING)], OTHER: disputed})
    assert asked(server) == [FIRST, NEXT, OTHER]
    assert (reply.event.abstention is not None, reply.event.wanted_more) == (True, True)
    assert (reply.event.result_pages, len(reply.documents)) == (3, 3)


def test_a_further_search_that_fails_leaves_the_answer(server, ask, own_engine) -> None:
    close = [("a.example", TRUTH), ("b.example", LIE), ("c.example", TRUTH)]
    for web, more in (({FIRST: close}, {}), ({FIRST: close, NEXT: close}, {"monthly_credits": 3})):
        reply = ask(web, **more)
        assert (reply.text, reply.event.wanted_more) == ("Lima", True)
        assert (reply.event.status, reply.event.result_pages) == (AnswerStatus.DISPUTED, 1)
        assert asked(server) == ([FIRST] if more else [FIRST, NEXT])
    assert credits_used(own_engine, period_of(datetime.now(UTC))) == 3


def test_no_searches_of_a_liar_on_one_site_give_a_lie(server, ask) -> None:
    """The liar knows every search that will be made, and owns one site (w = 1), which may have any
    number of pages at any rank of any of them. Two or more other sites tell the truth somewhere.
    """
    random, told = Random(27), 0
    for _ in range(40):
        honest = [(f"honest-{n}.example", TRUTH) for n in range(random.randint(2, 4))]
        web: dict[tuple[str, str], list[tuple[str, str]]] = {FIRST: [], NEXT: [], OTHER: []}
        for one in honest:
            random.choice(list(web.values())).append(one)
        for place, pages in web.items():
            for n in range(random.randint(0, 6)):
                at = random.randint(0, len(pages))
                pages.insert(at, (f"{random.choice(['', 'www.'])}liar.example/{place}{n}", LIE))
        reply = ask(web)
        assert reply.event.abstention or reply.text == "Lima"
        told += reply.text == "Lima"
    assert told >= 30


def test_two_lying_sites_in_the_second_search_silence_two_and_cannot_outdo_three(ask) -> None:
    lies = [("liar.example", LIE), ("other-liar.example", LIE)]
    honest = [(f"honest-{n}.example", TRUTH) for n in range(3)]
    silent = ask({FIRST: [honest[0], lies[0]], NEXT: [lies[1], honest[1]], OTHER: lies})
    assert silent.event.abstention is not None
    outdone = ask({FIRST: honest[:1], NEXT: lies, OTHER: honest[1:]})
    assert (outdone.text, outdone.event.status) == ("Lima", AnswerStatus.DISPUTED)


@pytest.mark.parametrize(
    ("answers", "left"),
    [
        ((), "lima cusco capital peru"),
        (("Lima", "Cusco"), WORDS),
        (("Lima is the capital", "Lima capital"), "lima cusco capital peru"),  # not named whole
        (("Lima", "Cusco", "capital"), ""),  # one word would be about anything
    ],
)
def test_other_words_name_no_answer(answers: tuple[str, ...], left: str) -> None:
    assert other_words("Is Lima or Cusco the capital of Peru?", answers) == left
    assert other_words("谁是秘鲁总统？", answers) == ""


def test_a_corpus_gives_its_next_ten_and_nothing_is_read_twice(tmp_path) -> None:
    settings = load_settings(
        profile="scripted", database=f"sqlite:///{tmp_path / 'state.db'}", orchestration=dict(OFF)
    )
    for count, found in ((12, 12), (40, 24)):
        texts = [in_words(NOTHING, f"page {n}") for n in range(count)]
        Corpus(shared_engine(settings)).add([Document(1, text) for text in texts], 1)
        asker = build_answerer(settings)
        reply = asker.answer(question(origin=Origin.CORPUS, wanted=4))
        assert reply.event.wanted_more
        assert len(reply.documents) == found
        generator: Any = asker.pipeline.models.generator
        assert generator.calls <= found


def test_candidates_in_reserve_are_read_before_more_is_found(own_engine) -> None:
    found = Retrieving([in_words(NOTHING, f"page {n}") for n in range(40)])
    chosen = {"policy": "static", "modules": (Module.TRUSTRAG,), "always": ()}
    asker = answerer_with(own_engine, chosen, retrievers={Origin.CORPUS: found})
    reply = asker.answer(question(origin=Origin.CORPUS, wanted=8))
    assert (found.wanted, (len(reply.documents), reply.event.wanted_more)) == ([24], (24, True))


def test_what_was_charged_for_is_not_found_once_more(own_engine) -> None:
    sent = []

    def finding(asked, wanted):
        answers = yield found_for(asked, [Document(1, CLAIMS[0])])
        sent.append(answers)
        yield found_for(asked, [Document(1, CLAIMS[0])])

    for modules, expected in (((), [("Lima",)]), ((Module.PRIVACY,), [])):
        sent.clear()
        chosen = {"policy": "static", "modules": modules, "always": ()}
        asker = answerer_with(own_engine, chosen, retrievers={Origin.CORPUS: finding})
        asker.answer(question(origin=Origin.CORPUS))
        assert sent == expected


# --- what the job knows: its memory is read, what it holds back is left out


DAY = timedelta(days=1)


def remember(engine: Engine, text: str = CAPITAL, query_id: str | None = None, **given: Any) -> str:
    """Let the job's guard answer twice; returns the id of the query."""
    with Guard(profile="scripted", memory=engine.url.render_as_string(), **given) as guard:
        for day in (2, 1):
            answer = guard.answer(text, CLAIMS[:2], at=NOON - day * DAY, id=query_id)
    return answer.event.query_id


def parts_of(engine: Engine, **changed: Any) -> Answerer:
    return answerer_with(engine, OFF, **changed)


def test_a_poisoned_question_meets_the_memory_and_cannot_change_it(own_engine) -> None:
    query_id = remember(own_engine)
    before = load(own_engine, [query_id])
    lies = ("Cusco is the capital.", "The capital is Cusco.", "Cusco is its capital.")
    reply = parts_of(own_engine).answer(question(claims=lies))
    memory = reply.event.verdict.memory
    assert reply.event.query_id == query_id
    assert (reply.event.step, memory.previous_answer) == (2, "Lima")
    assert memory.decision is not MemoryDecision.NONE
    assert load(own_engine, [query_id]) == before


def test_a_memory_that_is_damaged_fails_the_question_as_in_the_job(own_engine) -> None:
    query_id = remember(own_engine)
    with own_engine.begin() as connection:
        connection.execute(update(MEMORY).values(state=b"?"))
    damaged, fine = parts_of(own_engine).answer_all([question(), question("Who else is there?")])
    assert isinstance(damaged, InputError)
    assert not isinstance(fine, Exception)
    assert query_id in load(own_engine, [query_id])


def test_a_question_is_newer_than_the_memory(own_engine) -> None:
    remember(own_engine)
    reply = parts_of(own_engine).answer(question(asked_at=NOON - 9 * DAY))
    assert reply.event.observed_at == NOON - DAY + timedelta(milliseconds=1)


def watch(engine: Engine, *entries: Watched) -> None:
    replace_all(engine, table_entries(entries), 1)


def test_a_watched_question_is_answered_and_searched_for_as_it_is_watched(own_engine) -> None:
    entry = Watched(question=CAPITAL, id="capital", language="es", tags=("geo",), withstand=0)
    watch(own_engine, entry)
    known = KnownQueries(own_engine)
    (found, by_id, other) = known.find([query_of(text) for text in (CAPITAL[:-1], "capital", "?!")])
    assert found.query == by_id.query == entry.query
    assert found.request == entry.request
    assert other.request == SearchRequest(Query.from_text("?!"))
    watch(own_engine)
    (gone,) = known.find([query_of(CAPITAL)])
    assert gone.watched is None
    assert gone.query.id != "capital"


def test_a_search_asks_as_the_watchlist_says_and_only_once_it_is_needed(own_engine, monkeypatch):
    watch(own_engine, Watched(question=CAPITAL, id="capital", language="es", country="pe"))
    requests, opened = list[SearchRequest](), list[object]()

    def search(request: SearchRequest) -> SearchSnapshot:
        requests.append(request)
        return SearchSnapshot(request.query, datetime.now(UTC), make_documents(CLAIMS))

    @contextmanager
    def opening(*given: object, **named: object) -> Iterator[tuple[Search, None]]:
        opened.append(given)
        yield search, None

    monkeypatch.setattr(retrievers, "opened_search", opening)
    parts = parts_of(own_engine)
    with WebSearch(parts.settings, parts.queries) as web:
        asker = replace(parts, retrievers={Origin.SEARCH: web.retrieve})
        assert opened == []
        for text in (CAPITAL, "Who is it?"):
            reply = asker.answer(question(text, origin=Origin.SEARCH, wanted=7))
            assert reply.event.question == text
    assert len(opened) == 1
    asked = [(r.query.id, r.k, r.start, r.language, r.country) for r in requests]
    places = ((7, 0), (10, 7), (10, 0))
    assert asked[:3] == [("capital", *place, "es", "pe") for place in places]
    assert asked[3] == (Query.from_text("Who is it?").id, 7, 0, "", "")


def test_somebody_who_waits_for_an_answer_does_not_wait_for_a_turn_of_an_hour() -> None:
    clock = impatient_clock(5.0)
    before = clock.monotonic()
    clock.wait(3600.0)
    assert clock.monotonic() - before < 600.0
    assert clock.now().tzinfo is UTC
