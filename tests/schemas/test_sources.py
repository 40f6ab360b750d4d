"""Whose page an address is, and under which names a person may have judged it."""

import re
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from radarstream.schemas import sites
from radarstream.schemas.sites import (
    KEY_CHARACTERS,
    host_of,
    is_registry_suffix,
    names_of,
    site_of,
    source_of,
)


class TestNames:
    def test_the_site_and_the_nearest_name_of_a_page(self):
        for url, site, nearest in [
            ("https://News.Example.co.uk:8443/a?b", "example.co.uk", "news.example.co.uk"),
            ("https://10.0.0.1/x", "10.0.0.1", "10.0.0.1"),
            ("http://[::1]:8000/", "::1", "::1"),
            ("http://owner.example\\@other.example/", "owner.example", "owner.example"),
            ("https://a\x00b.example/", "ab.example", "ab.example"),
        ]:
            assert (source_of(url), names_of(url)[0]) == (site, nearest)

    @pytest.mark.parametrize("url", ["", "http://[broken", "not an address"])
    def test_what_is_no_address_has_no_names(self, url: str):
        assert (source_of(url), names_of(url)) == ("", ())

    @pytest.mark.parametrize(
        "url", ["https://ｌies.example/", "https://LIES.example./", "https://lies。example"]
    )
    def test_spellings_of_one_host_are_one_source(self, url: str):
        assert host_of(url) == "lies.example"

    def test_odd_hosts_registries_and_when_the_list_is_read(self):
        assert host_of(f"https://{'a' * 80}.example/") == f"{'a' * 80}.example"
        assert site_of(f"https://{'a' * 80}.lies.example/") == "lies.example"
        hosts = ["com", "co.uk", "github.io", "ann.github.io", "intranet", "192.0.2.7", ""]
        assert [host for host in hosts if is_registry_suffix(host)] == ["com", "co.uk"]
        program = (
            "import sys, schemas.sites as s; assert 'publicsuffixlist' not in sys.modules; "
            "s.site_of('https://a.example'); assert 'publicsuffixlist' in sys.modules; "
            "assert not {'requests', 'urllib.request', 'socket'} & sys.modules.keys()"
        )
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_sites_follow_the_public_suffix_list(self):
        for host, site in [
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
        ]:
            assert site_of(f"https://{host}/page") == site

    def test_names_of_a_site_reach_from_its_host_to_the_registrys_name(self):
        for url, names in [
            (
                "https://a.b.example.co.uk/",
                ("a.b.example.co.uk", "b.example.co.uk", "example.co.uk"),
            ),
            ("https://ann.github.io/", ("ann.github.io", "github.io")),
            ("https://news.net.de/", ("news.net.de", "net.de")),
            ("https://co.uk/", ("co.uk",)),
            ("https://192.0.2.7/", ("192.0.2.7",)),
            ("https://[::ffff:192.0.2.7]/", ("::ffff:192.0.2.7",)),
            ("https://intranet/", ("intranet",)),
            ("", ()),
        ]:
            assert names_of(url) == names

    @settings(deadline=None)
    @given(st.lists(st.sampled_from(["a", "b-1", "co", "uk", "github", "io", "com", "7"])))
    def test_a_sites_key_is_among_its_few_names(self, labels: list[str]):
        url = f"https://{'.'.join(labels)}/"
        names = names_of(url)
        assert set(names) >= {source_of(url)} - {""}
        assert len(names) <= 8

    @settings(deadline=None)
    @given(st.text(max_size=60))
    def test_any_text_has_bounded_names(self, tail: str):
        for url in (tail, f"https://{tail}", f"https://a.example/{tail}"):
            for name in (source_of(url), *names_of(url)):
                assert len(name) <= KEY_CHARACTERS
                assert name.isprintable()
                name.encode()


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
