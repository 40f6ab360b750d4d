"""Whole searches: pages, ranks, retries, pace, budget, partial results, dates."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.serpapi.client import SerpApiClient
from radarstream.connectors.serpapi.failures import FailureClass, SearchFailedError
from radarstream.connectors.serpapi.options import SerpApiOptions
from radarstream.connectors.serpapi.request import DateSpan, SearchRequest
from radarstream.connectors.serpapi.results import canonical_url, page_results, published_at
from radarstream.connectors.serpapi.search import SerpApiSearch, TokenBucket
from radarstream.schemas.codec import decode_snapshot, encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import Provenance, Query
from tests.clocks import FakeClock
from tests.connectors.serpapi.serpapi_server import (
    EMPTY,
    KEY,
    Reply,
    SerpApiServer,
    page,
    result,
    results,
)

NOW = datetime(2025, 6, 1, 12, 0, 0, 250_999, tzinfo=UTC)
CUP = Query("cup", "Who won the cup?", ("sport",))


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
    server: SerpApiServer, clock: FakeClock, spend: Callable[[int], bool] | None = None, **more: Any
) -> SerpApiSearch:
    options = SerpApiOptions(**({"base_url": server.url, "timeout_s": 0.3, "burst": 100} | more))
    return SerpApiSearch(SerpApiClient(options), options, clock, spend or Purse())


def ranked(snapshot) -> list[tuple[int, str]]:
    return [(d.rank, d.url.rpartition("/")[2]) for d in snapshot.documents]


def test_a_page_becomes_a_snapshot(server: SerpApiServer, clock: FakeClock) -> None:
    first = result(1, date="Mar 5, 2024")
    server.replies.append(Reply(page([first, *results(2, 10)], more=True)))
    request = SearchRequest(CUP, language="en", country="ch")
    snapshot = search_of(server, clock).search(request)
    assert snapshot.query == CUP
    assert snapshot.observed_at == NOW.replace(microsecond=250_000)
    assert snapshot.provenance is Provenance.LIVE
    (asked,) = server.requests
    asked.pop("api_key")
    assert asked == {"engine": "google", "q": "Who won the cup?", "hl": "en", "gl": "ch"}
    assert snapshot.documents[0].text == "Snippet 1."
    assert snapshot.documents[0].title == "Title 1"
    assert snapshot.documents[0].published_at == datetime(2024, 3, 5, tzinfo=UTC)
    assert (snapshot.retrieval.archive_ids, snapshot.retrieval.pages) == (("65f0a1",), 1)
    assert not snapshot.retrieval.partial
    assert decode_snapshot(encode(snapshot), limits=Limits()) == snapshot


@pytest.mark.parametrize(("k", "pages"), [(1, 1), (10, 1), (11, 2), (50, 5), (100, 10)])
def test_as_many_pages_and_credits_as_k_needs(
    server: SerpApiServer, clock: FakeClock, k: int, pages: int
) -> None:
    purse = Purse()
    snapshot = search_of(server, clock, purse).search(SearchRequest(CUP, k=k))
    assert ranked(snapshot) == [(n, str(n)) for n in range(1, k + 1)]
    assert (len(server.requests), purse.spent) == (pages, pages)
    assert [r.get("start", "0") for r in server.requests] == [str(10 * n) for n in range(pages)]
    assert not snapshot.retrieval.partial
    assert len(snapshot.retrieval.archive_ids) == pages


def test_ranks_go_by_position_over_pages_and_repeats_count_once(
    server: SerpApiServer, clock: FakeClock
) -> None:
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


def test_a_later_page_that_fails_leaves_a_partial_snapshot(
    server: SerpApiServer, clock: FakeClock
) -> None:
    server.replies.append(Reply(page(results(1, 10), more=True)))
    server.replies.extend([Reply({"error": "no {key}"}, 503)] * 4)
    snapshot = search_of(server, clock, attempts=4).search(SearchRequest(CUP, k=30))
    assert len(snapshot.documents) == 10
    assert snapshot.retrieval.partial
    assert snapshot.retrieval.detail == "page 2 failed: unavailable"
    assert snapshot.retrieval.pages == 1
    assert KEY.encode() not in encode(snapshot)


def test_short_pages_are_told(server: SerpApiServer, clock: FakeClock) -> None:
    server.replies.append(Reply(page(results(1, 8), more=True)))
    snapshot = search_of(server, clock).search(SearchRequest(CUP))
    assert (snapshot.retrieval.partial, len(snapshot.documents)) == (True, 8)
    assert snapshot.retrieval.detail == "the pages held fewer results"


def test_no_results_are_an_answer(server: SerpApiServer, clock: FakeClock) -> None:
    server.replies.append(Reply(EMPTY))
    snapshot = search_of(server, clock).search(SearchRequest(CUP, k=50))
    assert snapshot.documents == ()
    assert (snapshot.retrieval.partial, snapshot.retrieval.pages) == (True, 1)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("failing", "credits_spent"),
    [
        (Reply({"error": "hourly throughput"}, 429), 1),
        (Reply({"error": "oops"}, 500), 1),
        (Reply("", 503), 1),
        (Reply("", reset=True), 1),
        (Reply("", hang=True), 3),  # the service may have searched, so each try counts
        (Reply("<html>", 200, "text/html"), 3),
        (Reply('{"half": ', 200), 3),
        (Reply(page([], error="We couldn't get valid results. Please try again later.")), 1),
        (Reply(page([], status="Error")), 1),
        (Reply(page([], status="Processing")), 1),
    ],
    ids=lambda value: str(value)[:60],
)
def test_passing_failures_are_tried_again_with_pauses(
    server: SerpApiServer, clock: FakeClock, failing: Reply, credits_spent: int
) -> None:
    server.replies.extend([failing, failing])
    purse = Purse()
    search = search_of(server, clock, purse)
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
def test_lasting_failures_are_not_tried_again(
    server: SerpApiServer, clock: FakeClock, failing: Reply, kind: str
) -> None:
    server.replies.append(failing)
    with pytest.raises(SearchFailedError) as caught:
        search_of(server, clock).search(SearchRequest(CUP))
    assert caught.value.kind == kind
    assert not caught.value.retryable
    assert len(server.requests) == 1


def test_a_refused_key_ends_the_search_on_any_page(server: SerpApiServer, clock: FakeClock) -> None:
    server.replies.append(Reply(page(results(1, 10), more=True)))
    server.replies.append(Reply({"error": "Invalid API key"}, 401))
    with pytest.raises(ConfigurationError):
        search_of(server, clock).search(SearchRequest(CUP, k=20))


def test_tries_end(server: SerpApiServer, clock: FakeClock) -> None:
    server.otherwise = lambda _: Reply("", 503)
    with pytest.raises(SearchFailedError):
        search_of(server, clock, attempts=3).search(SearchRequest(CUP))
    assert len(server.requests) == 3


def test_the_deadline_ends_tries_too(server: SerpApiServer, clock: FakeClock) -> None:
    server.otherwise = lambda _: Reply("", 503)
    search = search_of(server, clock, attempts=1_000, deadline_s=60.0, first_pause_s=5.0)
    with pytest.raises(SearchFailedError):
        search.search(SearchRequest(CUP))
    assert clock.seconds <= 60.0
    assert len(server.requests) < 100


def test_nothing_is_asked_beyond_the_budget(server: SerpApiServer, clock: FakeClock) -> None:
    purse = Purse(3)
    search = search_of(server, clock, purse)
    snapshot = search.search(SearchRequest(CUP, k=50))
    assert (len(server.requests), len(snapshot.documents)) == (3, 30)
    assert snapshot.retrieval.detail == "page 4 failed: out_of_budget"
    with pytest.raises(SearchFailedError) as caught:
        search.search(SearchRequest(CUP))
    assert caught.value.kind is FailureClass.OUT_OF_BUDGET
    assert len(server.requests) == 3


def test_a_stop_ends_pauses(server: SerpApiServer, clock: FakeClock) -> None:
    server.otherwise = lambda _: Reply("", 503)
    clock.stopped = True
    with pytest.raises(SearchFailedError) as caught:
        search_of(server, clock, first_pause_s=20.0).search(SearchRequest(CUP))
    assert caught.value.kind in (FailureClass.STOPPED, FailureClass.UNAVAILABLE)
    assert len(server.requests) <= 2


def test_dates(server: SerpApiServer, clock: FakeClock) -> None:
    span = DateSpan(date(2015, 1, 1), date(2015, 12, 31))
    snapshot = search_of(server, clock).search(SearchRequest(CUP, dates=span))
    assert server.requests[0]["tbs"] == "cdr:1,cd_min:1/1/2015,cd_max:12/31/2015"
    assert snapshot.provenance is Provenance.DATE_RESTRICTED
    assert snapshot.observed_at == datetime(2015, 12, 31, 23, 59, 59, tzinfo=UTC)


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


@pytest.mark.parametrize(
    ("text", "day"),
    [
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
        ("", None),
    ],
)
def test_only_plain_dates_are_read(text: str, day: tuple[int, int, int] | None) -> None:
    assert published_at(text, NOW) == (datetime(*day, tzinfo=UTC) if day else None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a.org", "https://A.ORG/", True),
        ("http://a.org:80/x", "http://a.org/x/", True),
        ("http://a.org/x?utm_medium=m&id=1", "http://a.org/x?id=1#part", True),
        ("http://a.org/x?id=1", "http://a.org/x?id=2", False),
        ("http://a.org/x", "http://a.org/X", False),
        ("http://a.org:8080/", "http://a.org/", False),
        ("http://a.org/", "http://www.a.org/", False),
        ("http://[broken", "http://[broken", True),
    ],
)
def test_spellings_of_an_address(one: str, other: str, same: bool) -> None:
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
    read = page_results({"organic_results": organic}, NOW)
    for each in read:
        assert isinstance(each.text, str)
        assert isinstance(each.rank, int)
        canonical_url(each.url)


def test_what_results_may_not_hold_is_cut_or_cleaned() -> None:
    hostile = result(True, title="T" * 5_000, snippet="a\x1b[2J\x00b\ud800", link="u" * 3_000)
    (read,) = page_results({"organic_results": [hostile, "x", None, {}]}, NOW)
    assert (len(read.title), read.url, read.rank) == (500, "", 1)
    assert read.text == "a[2Jb\ufffd"
