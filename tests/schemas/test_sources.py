"""Whose page an address is, and how evidence for and against a source fades."""

import re
import subprocess
import sys
from itertools import permutations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from radarstream.schemas import sites
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.sites import (
    KEY_CHARACTERS,
    host_of,
    is_platform,
    is_registry_suffix,
    key_of,
    names_of,
    site_of,
)
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import (
    DAY_MS,
    NEUTRAL,
    Counts,
    EventKind,
    LedgerRules,
    SourceVerdict,
    Standing,
)
from tests.builders import make_evidence, make_snapshot, read_only

moments = st.integers(0, 400 * DAY_MS)
amounts = st.floats(0.0, 5.0)


class TestKeys:
    @pytest.mark.parametrize(
        ("granularity", "url", "key"),
        [
            ("site", "https://News.Example.co.uk:8443/a?b", "example.co.uk"),
            ("host", "https://News.Example.co.uk:8443/a?b", "news.example.co.uk"),
            ("section", "https://blogs.example/@ann/post/1", "blogs.example/@ann"),
            ("section", "https://blogs.example/%40ann", "blogs.example/@ann"),
            ("section", "https://blogs.example", "blogs.example"),
            ("section", "https://blogs.example//?u=ann", "blogs.example"),
            ("site", "https://10.0.0.1/x", "10.0.0.1"),
            ("host", "http://[::1]:8000/", "::1"),
            ("site", "http://owner.example\\@other.example/", "owner.example"),
            ("section", "", ""),
            ("host", "http://[broken", ""),
            ("section", "http://[broken", ""),
            ("site", "not an address", ""),
            ("section", "https://a.example/%00x%1b[2J y", "a.example/x[2Jy"),
            ("host", "https://a\x00b.example/", "ab.example"),
        ],
    )
    def test_key_of(self, granularity: str, url: str, key: str):
        assert key_of(Document(1, "", url=url), granularity) == key

    @pytest.mark.parametrize(
        "url", ["https://ｌies.example/", "https://LIES.example./", "https://lies。example"]
    )
    def test_spellings_of_one_host_are_one_source(self, url: str):
        assert host_of(url) == "lies.example"

    def test_hosts_that_no_resolver_takes_stand_for_themselves(self):
        assert host_of(f"https://{'a' * 80}.example/") == f"{'a' * 80}.example"
        assert site_of(f"https://{'a' * 80}.lies.example/") == "lies.example"

    @pytest.mark.parametrize(
        ("host", "site"),
        [
            ("www.parliament.gov.uk", "parliament.gov.uk"),
            ("news.example.com.br", "example.com.br"),
            ("a.b.c.kawasaki.jp", "b.c.kawasaki.jp"),  # a wildcard
            ("www.city.kawasaki.jp", "city.kawasaki.jp"),  # and its exception
            ("shop.example.museum", "example.museum"),
            # No registry's second label, though it looks like one.
            ("news.net.de", "net.de"),
            ("lies.com.dk", "com.dk"),
            # Platforms give out names; a platform is a site itself.
            ("ann.github.io", "ann.github.io"),
            ("blog.ann.github.io", "ann.github.io"),
            ("ann.blogspot.com", "ann.blogspot.com"),
            ("github.io", "github.io"),
            ("co.uk", "co.uk"),
            ("com", "com"),
            # A top-level domain that the list does not know.
            ("a.lies.notatld", "lies.notatld"),
            ("intranet", "intranet"),
            ("wiki.intranet", "wiki.intranet"),
            # One spelling.
            ("LIES.Example.CO.UK.", "example.co.uk"),
            ("www.lies.example..", "lies.example"),
            ("a..lies.example", "lies.example"),
            ("www.lies\u3002example\uff0e", "lies.example"),
            ("www.bücher.de", "xn--bcher-kva.de"),
            ("www.XN--BCHER-KVA.de", "xn--bcher-kva.de"),
            ("www.食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn"),
            ("www.食狮.xn--55qx5d.cn:8080", "xn--85x722f.xn--55qx5d.cn"),
            ("example.co.uk:8443", "example.co.uk"),
            # Addresses of machines.
            ("192.0.2.7:80", "192.0.2.7"),
            ("0x7f.0.0.0x1", "0x7f.0.0.0x1"),
            ("2130706433", "2130706433"),
            ("[2001:db8::7]:443", "2001:db8::7"),
            ("[::ffff:192.0.2.7]", "::ffff:192.0.2.7"),
        ],
    )
    def test_sites_follow_the_public_suffix_list(self, host: str, site: str):
        assert site_of(f"https://{host}/page") == site

    def test_registries_and_platforms(self):
        hosts = ["com", "co.uk", "github.io", "ann.github.io", "intranet", "192.0.2.7", ""]
        assert [host for host in hosts if is_registry_suffix(host)] == ["com", "co.uk"]
        assert [host for host in hosts if is_platform(host)] == ["github.io"]

    @pytest.mark.parametrize(
        ("url", "names"),
        [
            (
                "https://a.b.example.co.uk/",
                ("a.b.example.co.uk", "b.example.co.uk", "example.co.uk"),
            ),
            ("https://ann.github.io/", ("ann.github.io", "github.io")),
            ("https://news.net.de/", ("news.net.de", "net.de")),  # the key of earlier releases
            ("https://co.uk/", ("co.uk",)),
            ("https://192.0.2.7/", ("192.0.2.7",)),
            ("https://[::ffff:192.0.2.7]/", ("::ffff:192.0.2.7",)),
            ("https://intranet/", ("intranet",)),
            ("", ()),
        ],
    )
    def test_names_of_a_site_reach_from_its_host_to_the_registrys_name(self, url: str, names):
        assert names_of(Document(1, "", url=url)) == names

    @pytest.mark.parametrize("granularity", ["host", "section"])
    def test_other_sources_have_one_name(self, granularity: str):
        document = Document(1, "", url="https://a.ann.github.io/x/y")
        assert names_of(document, granularity) == (key_of(document, granularity),)
        assert names_of(Document(1, ""), granularity) == ()

    @settings(deadline=None)
    @given(st.lists(st.sampled_from(["a", "b-1", "co", "uk", "github", "io", "com", "7"])))
    def test_a_sites_key_is_among_its_few_names(self, labels: list[str]):
        document = Document(1, "", url=f"https://{'.'.join(labels)}/")
        names = names_of(document)
        assert set(names) >= {key_of(document)} - {""}
        assert len(names) <= 8

    def test_the_list_is_read_at_its_first_use_only(self):
        program = (
            "import sys, schemas.sites as s; assert 'publicsuffixlist' not in sys.modules; "
            "s.site_of('https://a.example'); assert 'publicsuffixlist' in sys.modules; "
            "assert not {'requests', 'urllib.request', 'socket'} & sys.modules.keys()"
        )
        subprocess.run([sys.executable, "-c", program], check=True)

    @settings(deadline=None)
    @given(st.text(max_size=60), st.sampled_from(["site", "host", "section"]))
    def test_any_text_has_a_bounded_key(self, tail: str, granularity: str):
        for url in (tail, f"https://{tail}", f"https://a.example/{tail}"):
            key = key_of(Document(1, "", url=url), granularity)
            assert len(key) <= KEY_CHARACTERS
            assert key.isprintable()
            key.encode()


class TestCounts:
    def test_without_evidence_neutral(self):
        assert Counts().honesty == NEUTRAL == 0.8

    def test_one_confirmed_event_does_not_silence(self):
        assert Counts(dishonest=LedgerRules().confirmed).honesty > 0.6

    @pytest.mark.parametrize("kind", list(EventKind))
    def test_no_event_counts_more_than_one(self, kind: EventKind):
        assert 0.0 <= LedgerRules().weight(kind) <= 1.0

    def test_halves_every_half_life_in_whole_days(self):
        start = Counts(4.0, 2.0, 7 * DAY_MS + 5)
        assert start.at(7 * DAY_MS + DAY_MS - 1, 10.0).dishonest == 2.0
        assert start.at(17 * DAY_MS, 10.0) == Counts(2.0, 1.0, 17 * DAY_MS)
        assert start.at(0, 10.0) is start

    @settings(deadline=None)
    @given(
        st.lists(st.tuples(moments, amounts, amounts), min_size=1, max_size=4),
        st.floats(1.0, 1000.0),
    )
    def test_any_order_of_arrival_gives_the_same(self, events, half_life: float):
        found = set()
        for order in permutations(events):
            counts = Counts()
            for at_ms, honest, dishonest in order:
                counts = counts.plus(at_ms, half_life, honest=honest, dishonest=dishonest)
            found.add((counts.as_of_ms, round(counts.honest, 9), round(counts.dishonest, 9)))
        newest = max(at_ms for at_ms, _, _ in events)
        faded = sum(
            d * 2 ** (-((newest // DAY_MS) - at_ms // DAY_MS) / half_life) for at_ms, _, d in events
        )
        assert len({as_of for as_of, _, _ in found}) == 1
        assert all(d == pytest.approx(faded, abs=1e-6) for _, _, d in found)
        spread = [max(values) - min(values) for values in zip(*found, strict=True)]
        assert max(spread) <= 1e-8

    @settings(deadline=None)
    @given(moments, moments, amounts)
    def test_what_is_taken_back_is_gone(self, first: int, second: int, amount: float):
        with_it = Counts().plus(first, 30.0, dishonest=1.0).plus(second, 30.0, dishonest=amount)
        left = with_it.plus(first, 30.0, dishonest=-1.0).dishonest
        assert left == pytest.approx(
            Counts().plus(second, 30.0, dishonest=amount).at(max(first, second), 30.0).dishonest,
            abs=1e-9,
        )

    @pytest.mark.parametrize(
        ("verdict", "honesty"),
        [(None, 4 / 7), (SourceVerdict.PARDONED, 0.8), (SourceVerdict.BLOCKED, 4 / 7)],
    )
    def test_a_pardon_overrides_the_counts(self, verdict: SourceVerdict | None, honesty: float):
        standing = Standing("a", Counts(0.0, 2.0, 0), verdict)
        assert standing.honesty(0, 90.0) == pytest.approx(honesty)


class TestEvidence:
    @pytest.mark.parametrize(
        "honesty", [[0.5], [0.5, 1.0, 0.5], [0.0, 0.5, 0.5], [0.5, float("nan"), 0.5], [[0.5] * 3]]
    )
    def test_honesty_that_cannot_be_is_refused(self, honesty):
        snapshot = make_snapshot(["a", "b", "c"])
        with pytest.raises(EvidenceError, match="honesty"):
            Evidence(
                snapshot.query,
                snapshot.observed_at,
                snapshot.documents,
                source_honesty=read_only(honesty),
            )

    def test_honesty_covers_all_documents_informative_or_not(self):
        evidence = make_evidence([[0.0]], [[0.0]])
        assert evidence.source_honesty is None


addresses = st.builds(
    "{}{}{}".format,
    st.sampled_from(["https://", "http://", "HTTP://", "//", ""]),
    st.text("ab-.1_@:[]\\/?#\t\n\u00fc\u3002", max_size=12),
    st.sampled_from(["", "/", "?q@x", "\\path", "#", ":80/", "\n", ".\t/"]),
)


@given(addresses)
@example("https://a.b\n")
@example("https://a.b\t/c")
@example("https://a.b\\@c.d/")
def test_the_short_cut_for_plain_addresses_changes_nothing(url: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sites, "_PLAIN", re.compile("(?!)"))
        in_full = host_of(url)
    assert host_of(url) == in_full


def test_hosts_too_long_for_a_name_are_not_remembered() -> None:
    before = sites._looked_up.cache_info().currsize
    host = ".".join(["a"] * 200) + ".example"
    assert site_of(f"https://{host}/") == "a.example"
    assert sites._looked_up.cache_info().currsize == before
