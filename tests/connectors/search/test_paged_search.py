"""Whole searches: pages, ranks, retries, pace, budget, partial results, dates."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.search.options import SearchOptions
from radarstream.connectors.search.paged import PagedSearch, TokenBucket
from radarstream.connectors.search.results import canonical_url, documents, listed, published_at
from radarstream.pipelines.searching import search_client
from radarstream.schemas.codec import decode_snapshot, encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Limits
from radarstream.schemas.searching import DateSpan, FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import Provenance, Query
from tests.clocks import FakeClock
from tests.connectors.search.search_server import KEY, SearchServer, page, result, results
from tests.connectors.search.services import CASES
from tests.replies import Reply

NOW = datetime(2025, 6, 1, 12, 0, 0, 250_999, tzinfo=UTC)
CUP = Query("cup", "Who won the cup?", ("sport",))
SPAN = DateSpan(date(2015, 1, 1), date(2015, 12, 31))
MEMBERS = {"url": "link", "text": "snippet", "date": "date"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


class Purse:
    """Credits to spend."""

    def __init__(self, credits_left: int = 1_000) -> None:
        self.left = credits_left
        self.spent = 0

    def __call__(self, amount: int) -> bool:
        if amount > self.left:
            return False
        self.left -= amount
        self.spent += amount
        return True


def search_of(
    server: SearchServer, clock: FakeClock, spend: Callable[[int], bool] | None = None, **more: Any
) -> PagedSearch:
    options = SearchOptions(**({"base_url": server.url, "timeout_s": 30.0, "burst": 100} | more))
    return PagedSearch(search_client(options), options, clock, spend or Purse())


def ranked(snapshot) -> list[tuple[int, str]]:
    return [(d.rank, d.url.rpartition("/")[2]) for d in snapshot.documents]


def many(first: int, last: int) -> list[tuple[str, str, str]]:
    """Results of these numbers."""
    return [(f"https://example.org/{n}", f"Snippet {n}.", "") for n in range(first, last + 1)]


@pytest.mark.parametrize("name", CASES)
def test_each_service_is_asked_and_read_by_its_protocol(server, clock, name):
    case = CASES[name]
    search = search_of(server, clock, name=name)
    first = [("https://a.org/1", "One &amp; <b>1</b>", case.date), *many(2, case.per_page)]
    further = many(case.per_page + 1, 2 * case.per_page)
    server.replies += [Reply(case.page(first, True)), Reply(case.page(further, True))]
    request = SearchRequest(CUP, k=2 * case.per_page, language="en", country="ch")
    found = search.search(request)
    assert server.requests == [case.asked, *([case.asked | case.second] if case.second else [])]
    assert server.keys[0] == ("" if name == "searxng" else KEY)
    top = found.documents[0]
    assert (top.rank, top.title, top.url) == (1, "Title 1", "https://a.org/1")
    assert top.text == ("One & <b>1</b>" if name == "brave" else "One &amp; <b>1</b>")
    assert top.published_at == datetime(2024, 3, 5, tzinfo=UTC)
    assert [d.text for d in found.documents[1:]] == [
        f"Snippet {n}." for n in range(2, len(found.documents) + 1)
    ]
    assert len(found.documents) == (request.k if case.second else case.per_page)
    assert (found.query, found.provenance) == (CUP, Provenance.LIVE)
    assert found.observed_at == NOW.replace(microsecond=250_000)
    assert found.retrieval.engine == {"serpapi": "google"}.get(name, name)
    assert found.retrieval.archive_ids == (("65f0a1",) * 2 if name == "serpapi" else ())
    assert found.retrieval.partial is (case.second is None)
    assert decode_snapshot(encode(found), limits=Limits()) == found


@pytest.mark.parametrize("name", CASES)
def test_what_a_page_held_beyond_the_wanted_is_given_next_and_costs_nothing(server, clock, name):
    case, purse = CASES[name], Purse()
    search = search_of(server, clock, purse, name=name)
    server.replies += [Reply(case.page(many(1, 25), True)), Reply(case.page(many(26, 40), False))]
    server.otherwise = lambda _: Reply(case.page([], False))
    request = SearchRequest(CUP)
    ranks = []
    for start in (0, 10, 20, 30, 40):
        found = search.search(replace(request, start=start))
        ranks += [int(url) for _, url in ranked(found)]
    last = 25 if case.second is None else 40
    assert ranks == list(range(1, last + 1))
    spent = {"tavily": 1, "searxng": 3}  # SearXNG does not say that there are no more
    assert purse.spent == len(server.requests) == spent.get(name, 2)
    search.search(request)
    assert len(server.requests) == spent.get(name, 2) + 1  # a new search is asked anew


@pytest.mark.parametrize("name", CASES)
def test_two_who_search_for_the_same_get_the_same(server, clock, name):
    case, search = CASES[name], search_of(server, clock, name=name)
    pages = [many(1 + n * case.per_page, (n + 1) * case.per_page) for n in range(4)]

    def found(asked: dict[str, str]) -> Reply:
        start = int(asked.get("start", "0")) // 10 + int(asked.get("pageno", "1")) - 1
        return Reply(case.page(pages[start + int(asked.get("offset", "0"))], True))

    server.otherwise = found
    for start in (0, 10):
        requests = [SearchRequest(CUP, start=start)] * 2
        one, other = (search.search(request).documents for request in requests)
        assert one == other
        assert one[0].url == f"https://example.org/{start + 1}"


@pytest.mark.parametrize("name", CASES)
def test_days_where_the_service_takes_them(server, clock, name):
    case, search = CASES[name], search_of(server, clock, name=name)
    server.replies.append(Reply(case.page(many(1, 10), False)))
    if case.dates is None:
        with pytest.raises(SearchFailedError, match="between two days"):
            search.search(SearchRequest(CUP, dates=SPAN))
        assert not server.requests
        return
    found = search.search(SearchRequest(CUP, dates=SPAN))
    assert server.requests[0].items() >= case.dates.items()
    assert found.provenance is Provenance.DATE_RESTRICTED
    assert found.observed_at == datetime(2015, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("name", CASES)
def test_nothing_found_is_an_answer(server: SearchServer, clock: FakeClock, name: str) -> None:
    server.replies.append(Reply(CASES[name].page([], False)))
    found = search_of(server, clock, name=name).search(SearchRequest(CUP, k=50))
    assert (found.documents, found.retrieval.partial, found.retrieval.pages) == ((), True, 1)
    assert len(server.requests) == 1


def test_a_pause_that_the_service_asks_for_is_kept(server: SearchServer, clock: FakeClock) -> None:
    server.replies.append(Reply("", 429, headers={"Retry-After": "45"}))
    search_of(server, clock).search(SearchRequest(CUP))
    assert clock.pauses == [45.0]
    server.replies.append(Reply("", 429, headers={"Retry-After": "600"}))
    with pytest.raises(SearchFailedError, match="throttles"):  # beyond the deadline
        search_of(server, clock).search(SearchRequest(CUP))
    assert clock.pauses == [45.0]


def test_long_questions_are_cut_where_the_service_refuses_them(server, clock):
    question = Query("long", "word " * 300)
    server.otherwise = lambda _: Reply({"type": "search", "results": []})
    for name, asked in (("brave", "q"), ("tavily", "query")):
        search_of(server, clock, name=name).search(SearchRequest(question))
        assert len(server.requests[-1][asked]) <= 400


@pytest.mark.parametrize(("k", "pages"), [(1, 1), (10, 1), (11, 2), (50, 5), (100, 10)])
def test_as_many_pages_and_credits_as_k_needs(server, clock, k, pages):
    purse = Purse()
    snapshot = search_of(server, clock, purse).search(SearchRequest(CUP, k=k))
    assert ranked(snapshot) == [(n, str(n)) for n in range(1, k + 1)]
    assert (len(server.requests), purse.spent) == (pages, pages)
    assert [r.get("start", "0") for r in server.requests] == [str(10 * n) for n in range(pages)]
    assert not snapshot.retrieval.partial
    assert len(snapshot.retrieval.archive_ids) == pages


def test_ranks_go_by_position_over_pages_and_repeats_count_once(server, clock):
    shuffled = [result(3, link="http://a.org/3"), result(1, link="http://a.org/1")]
    again = [
        result(1, link="https://A.org:443/1/?utm_source=x#top"),
        result(2, link="http://a.org/4"),
    ]
    server.replies.extend([Reply(page(shuffled, more=True)), Reply(page(again))])
    snapshot = search_of(server, clock).search(SearchRequest(CUP, k=20))
    assert ranked(snapshot) == [(1, "1"), (2, "3"), (3, "4")]
    assert snapshot.retrieval.partial
    assert snapshot.retrieval.detail == "the results ended on page 2"


def test_partial_snapshots_say_why(server, clock):
    server.replies.append(Reply(page(results(1, 10), more=True)))
    server.replies.extend([Reply({"error": "no {key}"}, 503)] * 4)
    snapshot = search_of(server, clock, attempts=4).search(SearchRequest(CUP, k=30))
    assert len(snapshot.documents) == 10
    assert snapshot.retrieval.partial
    assert snapshot.retrieval.detail == "page 2 failed: unavailable"
    assert len(server.requests) == 5  # the first page, and four tries of the second
    assert snapshot.retrieval.pages == 1
    assert KEY.encode() not in encode(snapshot)
    server.replies.append(Reply(page(results(1, 8), more=True)))
    snapshot = search_of(server, clock).search(SearchRequest(CUP))
    assert (snapshot.retrieval.partial, len(snapshot.documents)) == (True, 8)
    assert snapshot.retrieval.detail == "the pages held fewer results"


@pytest.mark.parametrize(
    ("failing", "credits_spent"),
    [
        (Reply({"error": "hourly throughput"}, 429), 1),
        (Reply({"error": "oops"}, 500), 1),
        (Reply("", 503), 1),
        (Reply(close=True), 1),
        (Reply("", hang=True), 3),  # the service may have searched, so each try counts
        (Reply("<html>", 200, "text/html"), 3),
        (Reply('{"half": ', 200), 3),
        (Reply(page([], error="We couldn't get valid results. Please try again later.")), 1),
        (Reply(page([], status="Error")), 1),
        (Reply(page([], status="Processing")), 1),
    ],
    ids=lambda value: str(value)[:60],
)
def test_passing_failures_are_tried_again_with_pauses(server, clock, failing, credits_spent):
    server.replies.extend([failing, failing])
    purse = Purse()
    search = search_of(server, clock, purse, timeout_s=1.0 if failing.hang else 30.0)
    assert len(search.search(SearchRequest(CUP)).documents) == 10
    assert len(server.requests) == 3
    assert len(clock.pauses) == 2
    assert all(0.0 <= pause <= 30.0 for pause in clock.pauses)
    assert purse.spent == credits_spent
    counts = (search.counts.requests, search.counts.retries, search.counts.credits)
    assert counts == (3, 2, credits_spent)


@pytest.mark.parametrize(
    ("failing", "kind"),
    [
        (Reply({"error": "Your account has run out of searches."}, 429), "out_of_searches"),
        (Reply({"error": "Unsupported gl"}, 400), "refused"),
        (Reply("", 302, headers={"Location": "/elsewhere"}), "refused"),
    ],
)
def test_lasting_failures_are_not_tried_again(server, clock, failing, kind):
    server.replies.append(failing)
    with pytest.raises(SearchFailedError) as caught:
        search_of(server, clock).search(SearchRequest(CUP))
    assert caught.value.kind == kind
    assert not caught.value.retryable
    assert len(server.requests) == 1


def test_a_refused_key_ends_the_search_on_any_page(server: SearchServer, clock: FakeClock) -> None:
    server.replies.append(Reply(page(results(1, 10), more=True)))
    server.replies.append(Reply({"error": "Invalid API key"}, 401))
    with pytest.raises(ConfigurationError):
        search_of(server, clock).search(SearchRequest(CUP, k=20))


def test_the_deadline_ends_tries(server: SearchServer, clock: FakeClock) -> None:
    server.otherwise = lambda _: Reply("", 503)
    search = search_of(server, clock, attempts=1_000, deadline_s=60.0, first_pause_s=5.0)
    with pytest.raises(SearchFailedError):
        search.search(SearchRequest(CUP))
    assert clock.seconds <= 60.0
    assert len(server.requests) < 100


def test_nothing_is_asked_beyond_the_budget(server: SearchServer, clock: FakeClock) -> None:
    purse = Purse(3)
    search = search_of(server, clock, purse)
    snapshot = search.search(SearchRequest(CUP, k=50))
    assert (len(server.requests), len(snapshot.documents)) == (3, 30)
    assert snapshot.retrieval.detail == "page 4 failed: out_of_budget"
    with pytest.raises(SearchFailedError) as caught:
        search.search(SearchRequest(CUP))
    assert caught.value.kind is FailureClass.OUT_OF_BUDGET
    assert len(server.requests) == 3


def test_a_stop_ends_pauses(server: SearchServer, clock: FakeClock) -> None:
    server.otherwise = lambda _: Reply("", 503)
    clock.stopped = True
    with pytest.raises(SearchFailedError) as caught:
        search_of(server, clock, first_pause_s=20.0).search(SearchRequest(CUP))
    assert caught.value.kind in (FailureClass.STOPPED, FailureClass.UNAVAILABLE)
    assert len(server.requests) <= 2


def test_the_pace_is_kept(clock: FakeClock) -> None:
    bucket = TokenBucket(clock, per_hour=60, burst=3)
    taken = []
    for _ in range(10):
        assert bucket.take()
        taken.append(clock.seconds)
    assert taken[:3] == [0.0, 0.0, 0.0]
    assert taken[3:] == pytest.approx([60.0 * n for n in range(1, 8)])
    clock.seconds += 86_400.0
    before = clock.seconds
    for _ in range(4):
        bucket.take()
    assert clock.seconds - before == pytest.approx(60.0)  # a long rest saves up no more than 3


def test_only_plain_dates_are_read() -> None:
    for text, day in [
        ("Mar 5, 2024", (2024, 3, 5)),
        ("2024-03-05", (2024, 3, 5)),
        ("2024-03-05T10:00:00Z", (2024, 3, 5)),
        ("Jun 1, 2025", (2025, 6, 1)),
        ("Jun 3, 2025", None),  # has not begun anywhere
        ("3 days ago", None),
        ("5. März 2024", None),
        ("03/05/2024", None),
        ("Feb 30, 2024", None),
        ("Mar 5, 0024", None),
        ("Mar 2024", None),
        ("Tue, 05 Mar 2024 10:00:00 GMT", (2024, 3, 5)),
        ("", None),
    ]:
        assert published_at(text, NOW) == (datetime(*day, tzinfo=UTC) if day else None)


def test_spellings_of_an_address() -> None:
    for one, other, same in [
        ("http://a.org", "https://A.ORG/", True), ("http://a.org:80/x", "http://a.org/x/", True),
        ("http://a.org/x?utm_medium=m&id=1", "http://a.org/x?id=1#part", True),
        ("http://a.org/x?id=1", "http://a.org/x?id=2", False),
        ("http://a.org/x", "http://a.org/X", False),
        ("http://a.org:8080/", "http://a.org/", False),
        ("http://a.org/", "http://www.a.org/", False), ("http://[broken", "http://[broken", True),
    ]:  # fmt: skip
        assert (canonical_url(one) == canonical_url(other)) is same


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
entries = st.dictionaries(
    st.sampled_from(["position", "title", "link", "snippet", "date", "source"]), json_values
)


@given(st.lists(entries | json_values, max_size=5) | json_values)
def test_any_results_become_documents_or_nothing(organic: Any) -> None:
    answer = {"web": {"results": organic}}
    read = documents(listed(answer, "web", "results") or [], NOW, **MEMBERS)
    for each in read:
        assert isinstance(each.text, str)
        assert isinstance(each.rank, int)
        canonical_url(each.url)


def test_what_results_may_not_hold_is_cut_cleaned_or_left_out() -> None:
    hostile = result(True, title="T" * 5_000, snippet="a\x1b[2J\x00b\ud800")
    (read,) = documents([hostile, {}], NOW, **MEMBERS)
    assert (len(read.title), read.rank, read.text) == (500, 1, "a[2Jb\ufffd")
    for url in [
        "javascript:alert(1)", "data:text/html,x", "ftp://a.org", "//a.org", "", None,
        f"https://a.org/{'u' * 2_000}",
    ]:  # fmt: skip
        assert documents([result(1, link=url)], NOW, **MEMBERS) == []


@pytest.mark.parametrize(
    ("position", "rank"),
    [(float("nan"), 1), (float("inf"), 1), (-3, 1), (0, 1), ("2", 1), (2.5, 1), (2, 2)],
)
def test_positions_that_are_none(position: object, rank: int) -> None:
    (read,) = documents([result(1) | {"position": position}], NOW, **MEMBERS)
    assert read.rank == rank
