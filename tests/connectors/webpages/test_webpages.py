"""Page text: only from public addresses, within caps, and the snippet when anything is wrong."""

import asyncio
import gzip
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from threading import Event

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.webpages.decoding import web_encoding
from radarstream.connectors.webpages.extraction import page_text
from radarstream.connectors.webpages.fetching import (
    Address,
    CheckedTransport,
    fetch,
    is_public,
    page_client,
    parsed,
)
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.reading import PageReader
from radarstream.schemas.snapshot import SearchSnapshot
from tests.builders import make_snapshot
from tests.connectors.webpages.page_server import PageServer, serve_pages
from tests.replies import Reply

ARTICLE = (
    "<html><head><title>Cup</title></head><body><nav>Home | News</nav><article><h1>Cup</h1><p>"
    + "Zürich won the cup final on Sunday after extra time. " * 5
    + "</p></article></body></html>"
)


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with serve_pages() as running:
        running.add("/article", ARTICLE)
        yield running


NAMES = {
    "pages.test": ["127.0.0.1"], "inner.test": ["10.0.0.7"],
    "both.test": ["127.0.0.1", "10.0.0.7"], "metadata.test": ["169.254.169.254"],
}  # fmt: skip


class Resolver:
    """A resolver of our own; `asked` lists what was looked up."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host == "nowhere.test":
            raise OSError("no such host")
        return NAMES.get(host, ["127.0.0.1"])


def loopback_only(address: Address, port: int) -> bool:
    return address == ip_address("127.0.0.1")


def fetched(
    url: str, resolver: Resolver | None = None, allow=loopback_only, **options: object
) -> Raw:
    caps = PageOptions(**({"seconds": 30.0, "page_bytes": 10_000} | options))

    async def run() -> Raw:
        transport = CheckedTransport(resolver or Resolver(), allow)
        async with page_client(caps, transport) as client:
            return await fetch(url, caps, client)

    return asyncio.run(run())


def refusal(url: str, **options: object) -> str:
    with pytest.raises(PageError) as caught:
        fetched(url, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1",  # noqa: S104
        "169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1",
        "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1",
        "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "::ffff:0:10.0.0.1", "::10.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:1::1", "fec0::1",
        "192.0.0.192", "168.63.129.16", "64:ff9b::c000:c0", "::ffff:192.0.0.192",
        "64:ff9b:1:7f00:0:100:808:808", "2001:2::1", "3fff::1",
    ]
)  # fmt: skip
def test_inner_addresses_are_refused(text: str) -> None:
    assert not is_public(parsed(text), 443)


@pytest.mark.parametrize("text", ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_allowed_on_the_ports_of_the_web(text: str) -> None:
    assert is_public(parsed(text), 80)
    assert is_public(parsed(text), 443)
    assert not is_public(parsed(text), 22)
    assert not is_public(parsed(text), 8080)


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_as_itself(inner) -> None:
    for prefix in ("::ffff:", "64:ff9b::"):
        assert is_public(parsed(f"{prefix}{inner}"), 80) == is_public(inner, 80)


def test_loopback_is_refused_by_default(server: PageServer) -> None:
    before = len(server.hosts)
    for host in ("127.0.0.1", "pages.test", "[::1]", "[::ffff:7f00:1]"):
        assert refusal(f"http://{host}:{server.port}/article", allow=is_public) == "address"
    assert refusal("http://127.0.0.1/", allow=is_public) == "address"
    assert refusal("http://metadata.test/latest/meta-data", allow=is_public) == "address"
    assert len(server.hosts) == before


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost"])
def test_odd_spellings_of_loopback_do_not_help(host: str) -> None:
    """The system's resolver, which reads them all as 127.0.0.1, with the real rule."""

    async def run() -> None:
        options = PageOptions(seconds=5.0)
        async with page_client(options, CheckedTransport()) as client:
            await fetch(f"http://{host}/", options, client)

    with pytest.raises(PageError, match="address|name|scheme"):
        asyncio.run(run())


def test_a_name_server_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    replied, ended = Event(), []

    def hanging(*_args: object, **_options: object) -> list[object]:
        replied.wait(60)
        ended.append(True)
        return []

    async def run() -> None:
        options = PageOptions(seconds=0.2)
        async with page_client(options, CheckedTransport()) as client:
            await fetch("http://slow.test/", options, client)

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    with pytest.raises(PageError, match="time"):
        asyncio.run(run())
    assert not ended
    replied.set()


def test_a_page_comes_from_the_checked_address_under_its_own_name(server: PageServer) -> None:
    resolver = Resolver()
    page, media_type, charset = fetched(f"http://pages.test:{server.port}/article", resolver)
    assert (page.decode(), media_type, charset) == (ARTICLE, "text/html", "utf-8")
    assert server.hosts[-1] == f"pages.test:{server.port}"
    assert resolver.asked == ["pages.test"]  # and never again
    assert refusal(f"http://both.test:{server.port}/article") == "address"

    class Rebinding(Resolver):
        async def __call__(self, host: str, port: int) -> Sequence[str]:
            self.asked.append(host)
            return ["127.0.0.1"] if len(self.asked) == 1 else ["10.0.0.7"]

    resolver = Rebinding()
    fetched(f"http://rebinding.test:{server.port}/article", resolver)
    assert len(resolver.asked) == 1


def test_every_redirect_is_checked(server: PageServer) -> None:
    base = f"http://pages.test:{server.port}"
    for path, location, why in (
        ("/inner", f"http://inner.test:{server.port}/article", "address"),
        ("/file", "file:///etc/passwd", "scheme"),
        ("/gopher", "gopher://pages.test/", "scheme"),
        ("/loop", "/loop", "redirects"),
        ("/nowhere", "", "redirects"),
    ):
        server.add(path, "", 302, location=location)
        assert refusal(f"{base}{path}") == why
    server.add("/good", "", 308, location="/article", set_cookie="session=1")
    server.add("/user", "", 307, location=f"http://user:word@pages.test:{server.port}/article")
    for path in ("/good", "/user"):
        assert fetched(f"{base}{path}")[0].decode() == ARTICLE
        assert not any(name in server.headers[-1] for name in ("Cookie", "Authorization"))


def test_what_is_not_a_web_address() -> None:
    for url, why in [
        ("", "scheme"), ("ftp://pages.test/", "scheme"), ("file:///etc/passwd", "scheme"),
        ("javascript:alert(1)", "scheme"), ("http://", "scheme"),
        ("http://pages.test:99999/", "scheme"), ("http://[::1/", "scheme"),
        ("http://nowhere.test/", "name"),
        ("http://" + "a" * 300 + ".test/", "network|name|address|scheme"),
        ("http://a\x00b.test/", "scheme"),
    ]:  # fmt: skip
        assert refusal(url, seconds=5.0) in why.split("|")


def test_caps(server: PageServer) -> None:
    base = f"http://pages.test:{server.port}"
    server.add("/gzip", gzip.compress(ARTICLE.encode()), content_encoding="gzip")
    server.add("/exact", b"x" * 10_000)
    assert fetched(f"{base}/gzip")[0].decode() == ARTICLE
    assert len(fetched(f"{base}/exact")[0]) == 10_000
    for path, body, headers, why in (
        ("/bomb", gzip.compress(b"x" * 5_000_000), {"content_encoding": "gzip"}, "size"),
        ("/broken", b"nonsense", {"content_encoding": "gzip"}, "network"),
        ("/brotli", b"x", {"content_encoding": "br"}, "content_type"),
        ("/picture", b"GIF89a", {"content_type": "image/gif"}, "content_type"),
        ("/big", b"x" * 10_001, {}, "size"),
    ):
        server.add(path, body, **headers)
        assert refusal(f"{base}{path}") == why
    server.pages["/drip"] = Reply(b"." * 9_000, 200, "text/html", drip_s=0.02)
    assert refusal(f"{base}/endless") == "size"
    for slow in ("/drip", "/hang"):
        assert refusal(f"{base}{slow}", seconds=0.3) == "time"
    assert refusal(f"{base}/absent") == "status"


def test_tls_asks_for_the_name_and_certificates_are_verified() -> None:
    asked: list[httpx.Request] = []

    class Recording(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked.append(request)
            return httpx.Response(404)

    transport = CheckedTransport(Resolver(), loopback_only)
    transport._inner = Recording()  # type: ignore[assignment]
    options = PageOptions()

    async def run() -> None:
        async with page_client(options, transport) as client:
            await fetch("https://pages.test/a", options, client)

    with pytest.raises(PageError, match="status"):
        asyncio.run(run())
    assert str(asked[0].url) == "https://127.0.0.1/a"
    assert asked[0].extensions["sni_hostname"] == "pages.test"
    assert asked[0].headers["host"] == "pages.test"
    transport = CheckedTransport(Resolver(), loopback_only)
    context = transport._inner._pool._ssl_context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@contextmanager
def reader_of(**options: object) -> Iterator[PageReader]:
    caps = PageOptions(**({"seconds": 30.0} | options))
    with PageReader(caps, lambda: CheckedTransport(Resolver(), loopback_only)) as reader:
        yield reader


def of_pages(*urls: str) -> SearchSnapshot:
    """A snapshot whose snippets are "snippet 1" and so on."""
    return make_snapshot([f"snippet {n}" for n in range(1, len(urls) + 1)], urls=urls)


def test_pages_replace_their_snippets_capped_and_clean(server: PageServer) -> None:
    base = f"http://pages.test:{server.port}"
    server.add("/blank", "<html><body></body></html>")
    snapshot = of_pages(f"{base}/article", f"{base}/absent", "http://inner.test/", f"{base}/blank")
    with reader_of() as reader:
        read = reader.with_pages(snapshot)
    assert "Zürich won the cup final" in read.documents[0].text
    assert "Home | News" not in read.documents[0].text
    assert [d.text for d in read.documents[1:]] == ["snippet 2", "snippet 3", "snippet 4"]
    assert [(d.rank, d.title, d.url) for d in read.documents] == [
        (d.rank, d.title, d.url) for d in snapshot.documents
    ]
    assert reader.counts == {"read": 1, "status": 1, "address": 1, "no_text": 1}
    server.add("/controls", ARTICLE.replace("Zürich won", "Zürich\x1b[2J\x00 won"))
    with reader_of(text_bytes=256) as reader:
        changed = reader.with_pages(of_pages(f"http://pages.test:{server.port}/controls"))
    (read,) = changed.documents
    assert "\x1b" not in read.text
    assert "Zürich" in read.text
    assert len(read.text.encode()) <= 256


def test_hostile_pages_give_text_or_nothing_and_pages_name_their_encoding() -> None:
    for page in [
        b"", b"\xff\xfe\x00", b"<" * 50_000, b"<div>" * 50_000, b"<table><tr><td>" * 5_000,
        b"<!DOCTYPE html [<!ENTITY a 'b'>]><p>&a;</p>", b"<?xml version='1.0'?><html><p>x",
        "<html><body><p>\ud800".encode("utf-8", "surrogatepass"),
    ]:  # fmt: skip
        for charset in ("", "utf-8", "utf-16", "rot13", "zlib", "no-such", "a\x00"):
            assert isinstance(page_text(page, charset), str)
    page = (
        '<html><head><meta charset="Shift_JIS"></head><body><p>東京は首都です。</p></body></html>'
    )
    assert page_text(page.encode("cp932"), "") == "東京は首都です。"
    assert page_text(page.encode(), "utf-8") == "東京は首都です。"


def test_a_page_of_any_encoding_of_the_web_is_read() -> None:
    for encoding, charset in [
        ("cp1252", ""),
        ("cp1252", "windows-1252"),
        ("cp1252", "ISO-8859-1"),
        ("cp1252", "utf-8"),  # it lies, as many do
        ("utf-16", "utf-16"),
        ("utf-8", "no-such"),
        ("utf-8", "punycode"),
        ("mac-roman", " Macintosh "),
    ]:
        assert "Zürich" in page_text(ARTICLE.encode(encoding), charset)


@pytest.mark.parametrize(
    "charset",
    ["punycode", "idna", "rot13", "zlib", "bz2", "hex", "base64", "unicode_escape", "utf-7"]
    + ["raw_unicode_escape", "mbcs", "undefined", "utf-32", "hz", "cp037", "a\x00", "../x", ""],
)
def test_only_encodings_of_the_web_are_used(charset: str) -> None:
    assert web_encoding(charset) is None


def test_one_bad_page_costs_its_own_fetch_only(server: PageServer) -> None:
    base = f"http://pages.test:{server.port}"
    many = " ".join(f"a{number}" for number in range(100_000))
    server.add("/attributes", f"<html><body><p {many}>{ARTICLE}")
    server.add("/punycode", ARTICLE, content_type="text/html; charset=punycode")
    pages = ("/attributes", "/article", "/punycode", "/article")
    with reader_of(page_bytes=2**20, parse_seconds=1) as reader:
        found = reader.with_pages(of_pages(*(base + page for page in pages)))
        assert reader.counts == {"parse_time": 1, "read": 3}
    assert [d.text.startswith("snippet") for d in found.documents] == [1, 0, 0, 0]


def test_a_failure_that_nobody_thought_of_costs_one_page() -> None:
    class Odd(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/odd":
                raise KeyError("unforeseen")
            stream = httpx.ByteStream(ARTICLE.encode())
            return httpx.Response(200, headers={"content-type": "text/html"}, stream=stream)

    with PageReader(PageOptions(), Odd) as reader:
        read = reader.with_pages(of_pages("http://a.test/odd", "http://a.test/article"))
    assert read.documents[0].text == "snippet 1"
    assert "Zürich" in read.documents[1].text
    assert reader.counts == {"defect": 1, "read": 1}
