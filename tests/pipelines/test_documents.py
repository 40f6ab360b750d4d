"""Documents that were given: when they are read, and the page of a quote."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from time import monotonic

import pytest

from radarstream.connectors.webpages.options import PageOptions
from radarstream.pipelines.documents import DocumentReader, Given, in_path
from radarstream.pipelines.round.deciding import page_of
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas import plugins
from radarstream.schemas.errors import ConfigurationError, DocumentError, InputError, ReasonClass
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import Document
from tests.connectors.webpages.page_server import serve_pages
from tests.documents import PNG, pdf
from tests.servers import free_port

TEXT = "Minutes of May.\nAnn Lee is mayor.\nBob Ray is clerk."
PAPER = Document(1, TEXT, "Paper", pages=(0, 16, 34))


@pytest.mark.parametrize(
    ("read", "said", "page"),
    [
        (TEXT, "Minutes", 1),
        (TEXT, "Ann Lee", 2),
        (TEXT, "Bob Ray", 3),
        (TEXT, "Paper", None),  # the title is on no page
        ("May. … Bob Ray is clerk.", "Bob Ray", 3),
        ("Minutes of May. … Ann Lee is mayor.\nBob Ray", "Bob Ray", 3),
        ("Ann Lee is mayor. … clerk.", "Ann Lee", 2),
        ("words that are not there", "words", None),
    ],
)
def test_a_quote_of_what_was_read_is_found_in_the_whole(read, said, page) -> None:
    as_read = Document(1, read, "Paper")
    start = as_read.passage.index(said)
    assert page_of(PAPER, as_read, (start, start + len(said))) == page


@pytest.fixture
def settings() -> Settings:
    return load_settings(None, profile="scripted")


@pytest.fixture
def near(settings: Settings) -> Iterator[DocumentReader]:
    """Reads from loopback too, little at once."""
    own = {"inner_networks": (ip_network("127.0.0.0/8"),), "most_bytes": 2_000}
    allowed = settings.documents.model_copy(update=own)
    with DocumentReader(settings.model_copy(update={"documents": allowed})) as reader:
        yield reader


def test_nothing_is_begun_after_its_time(settings: Settings) -> None:
    with DocumentReader(settings) as reader:
        documents, (late,) = reader.read([Document(9, "Lima."), Given(b"Lima.")], until=0.0)
    assert (documents, late.reason) == ((Document(1, "Lima."),), "time")
    endless = [Given(pdf("x) Tj (" * 2**22))]
    with DocumentReader(settings) as reader, pytest.raises(DocumentError) as refused:
        reader.read(endless, monotonic() + 2.0)
    # The latter where the start takes so long.
    assert refused.value.reason in {"parse_time", "time"}


def test_an_extractor_that_is_missing_is_named_and_texts_need_none(settings, monkeypatch) -> None:
    missing = lambda name: None if name == "pypdf" else find_spec(name)  # noqa: E731
    monkeypatch.setattr(plugins, "find_spec", missing)
    with DocumentReader(settings) as reader:
        read = reader.read([Document(9, "Quito."), Given(b"Lima.")])
        assert read == ((Document(1, "Quito."), Document(2, "Lima.")), ())
        with pytest.raises(ConfigurationError, match=r"pypdf is not .*radarstream\[pages\]"):
            reader.read([Given(pdf("Lima."))])


def test_a_folder_has_a_limit_and_what_may_have_no_end_is_not_read(tmp_path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(InputError) as refused:
        in_path(tmp_path, Limits(documents=2))
    assert refused.value.reason is ReasonClass.TOO_MANY_DOCUMENTS
    os.mkfifo(tmp_path / "a.jsonl")
    for path, why in (
        (Path("/dev/zero"), "neither a file"),
        (tmp_path / "a.jsonl", "neither a file"),
        (Path("x" * 5_000), "too long"),
    ):
        (error,) = in_path(path, Limits())
        assert isinstance(error, DocumentError) and why in str(error)


def test_addresses_that_hang_leave_time_for_the_others(near: DocumentReader) -> None:
    with serve_pages() as server:
        hanging = [Given(url=f"http://127.0.0.1:{server.port}/hang")] * 20
        # A busy machine takes a while to begin.
        documents, unread = near.read([*hanging, Given(b"Lima.")], monotonic() + 6.0)
        assert len(server.hosts) == PageOptions().parallel
    assert documents == (Document(21, "Lima."),)
    assert {one.why for one in unread} == {"it did not arrive in time"}


@pytest.mark.parametrize(
    ("path", "why"),
    [("hang", "time"), ("absent", "status"), ("big", "size"), ("picture", "content_type"),
     ("inner", "address"), ("locked", "encrypted")],
)  # fmt: skip
def test_an_address_that_gives_nothing_has_a_reason(near, path, why) -> None:
    with serve_pages() as server, pytest.raises(DocumentError) as refused:
        server.add("/big", b"x" * 2_001)
        server.add("/picture", PNG, content_type="image/png")
        server.add("/inner", "", 302, location="http://10.0.0.7/")
        server.add("/locked", pdf("Lima", password="secret"), content_type="application/pdf")
        until = monotonic() + (1.0 if path == "hang" else 60.0)
        near.read([Given(url=f"http://127.0.0.1:{server.port}/{path}")], until)
    assert refused.value.reason == why


def test_an_address_where_nobody_listens_is_dead(near: DocumentReader) -> None:
    with pytest.raises(DocumentError, match="cannot be reached"):
        near.read([Given(url=f"http://127.0.0.1:{free_port()}/")])
