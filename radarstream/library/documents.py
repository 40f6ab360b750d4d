"""Converts documents of callers and of other libraries to documents of a snapshot."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from radarstream.pipelines.documents import Given
from radarstream.schemas.codec.text import clean
from radarstream.schemas.snapshot import Document

TITLES: Final = ("title", "name")
ADDRESSES: Final = ("url", "link", "source", "href", "file_path")
DATES: Final = ("published", "date")  # keys of other libraries, in any form, or unreadable


def to_documents(given: Iterable[Any]) -> tuple[Document, ...]:
    """Convert documents; the first one given has rank 1.

    A document is a string, a `Document`, a mapping with `text` (or `content`, `snippet`) and
    optionally `title`, `url`, `published_at`, or an object of LangChain (`page_content`),
    LlamaIndex (`get_content()`) or Haystack (`content`) with its metadata. Control characters are
    dropped. Raises TypeError for anything else, and for one string or mapping in place of a list;
    ValueError if `published_at` is not a date.

    >>> to_documents(["Lima.", {"text": "Cusco.", "url": "https://b.example"}])[1].url
    'https://b.example'
    """
    return tuple(to_document(one, rank) for rank, one in enumerate(listed(given), start=1))


def to_read(given: Iterable[Any]) -> tuple[Document | Given, ...]:
    """Convert documents if some of them have to be read first; return an empty tuple if none has.

    Files and folders (`Path`), bytes and addresses (`Given`) have to be read. Raises TypeError and
    ValueError as `to_documents`.

    >>> to_read(["Lima."]), to_read([Path("a.pdf")])[0].path
    ((), PosixPath('a.pdf'))
    """
    found = [
        Given(path=one)
        if isinstance(one, Path)
        else one
        if isinstance(one, Given)
        else to_document(one, rank)
        for rank, one in enumerate(given, start=1)
    ]
    return tuple(found) if any(isinstance(one, Given) for one in found) else ()


def listed(given: Iterable[Any]) -> tuple[Any, ...]:
    """Return the documents as a tuple. Raises TypeError for one document in place of a list."""
    if isinstance(given, str | bytes | Mapping):
        raise TypeError("`documents` is one document: put it into a list")
    if not isinstance(given, Iterable):
        raise TypeError(f"`documents` is {type(given).__name__}: give a list of documents")
    return tuple(given)


def to_document(given: Any, rank: int) -> Document:
    """Convert one document. Raises TypeError if it has no text, ValueError as `published`."""
    text, about = parts_of(given)
    if not isinstance(text, str):
        raise TypeError(
            f"document {rank} ({type(given).__name__}) has no text: give a string, a Path, a "
            "Given, a mapping with 'text', or a document of LangChain, LlamaIndex or Haystack"
        )
    return Document(
        rank=rank,
        text=clean(text),
        title=clean(first_text(about, TITLES)),
        url=clean(first_text(about, ADDRESSES)),
        published_at=published(about, rank),
    )


def parts_of(given: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the text of a document, or None, and its metadata.

    >>> parts_of({"snippet": "Lima.", "link": "https://a.example"})[0]
    'Lima.'
    """
    if isinstance(given, str):
        return given, {}
    if isinstance(given, Document):
        known = {"title": given.title, "url": given.url, "published_at": given.published_at}
        return given.text, known
    if isinstance(given, Mapping):
        known = {**mapping_of(given.get("metadata")), **given}
        found = (given.get(key) for key in ("text", "content", "snippet", "page_content"))
        return next((text for text in found if isinstance(text, str)), None), known
    if callable(content := getattr(given, "get_content", None)):
        return content(), mapping_of(getattr(given, "metadata", None))
    for text_name, about_name in (("page_content", "metadata"), ("content", "meta")):
        if hasattr(given, text_name):
            return getattr(given, text_name), mapping_of(getattr(given, about_name, None))
    return None, {}


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def first_text(about: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of the entries `names` that is a string and not empty, else "".

    >>> first_text({"name": "Peru", "title": ""}, TITLES)
    'Peru'
    """
    found = (about.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def published(about: Mapping[str, Any], rank: int) -> datetime | None:
    """Return `published_at`, else the first readable date. Raises ValueError for a bad one."""
    stated = about.get("published_at")
    if stated is None or stated == "":
        return next(filter(None, (as_time(about.get(name)) for name in DATES)), None)
    time = as_time(stated)
    if time is None:
        raise ValueError(
            f"document {rank}: `published_at` is a datetime, or a text such as 2024-05-06, not "
            f"{str(stated)[:40]!r}"
        )
    return time


def as_time(value: Any) -> datetime | None:
    """Return a datetime or an ISO 8601 string as a datetime, by default in UTC; else None.

    >>> as_time("2024-05-06").isoformat(), as_time("in May")
    ('2024-05-06T00:00:00+00:00', None)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
