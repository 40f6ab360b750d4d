"""A user's own corpus: JSON lines of `{"text": …, "title": …, "url": …, "id": …}`.

Only the text is required; other keys are ignored. `id` is the user's own: a later text with the
same id replaces the earlier one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from radarstream.connectors.files.lines import read_lines
from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.errors import ConfigurationError, InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Document

ID_CHARACTERS = 200


class Line(NamedTuple):
    """A usable line: the user's id, if any, and the document, whose rank has no meaning."""

    name: str | None
    document: Document


class BadLine(NamedTuple):
    """The number of an unusable line, and the reason."""

    number: int
    reason: str


def read_corpus(path: Path, limits: Limits) -> Iterator[Line | BadLine]:
    """Read each line, in file order; `.gz` files are decompressed.

    Raises ConfigurationError if the file cannot be read.
    """
    try:
        for record in read_lines(path, limits.record_bytes):
            try:
                yield _line(record, limits)
            except InputError as error:
                yield BadLine(record.position, str(error))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error


def _line(record: RawRecord, limits: Limits) -> Line:
    if record.reason is not None:
        raise InputError(record.reason, record.detail)
    value = parse_object(record.payload, max_bytes=limits.record_bytes)
    name, text, title, url = (_words(value, key) for key in ("id", "text", "title", "url"))
    if not (text or "").strip():
        raise InputError(ReasonClass.MISSING_FIELD, "there is no text")
    document = Document(1, text or "", title or "", url or "")
    size = sum(len(part.encode()) for part in (document.text, document.title, document.url))
    if size > limits.document_bytes:
        detail = f"{size} bytes, the limit is {limits.document_bytes}"
        raise InputError(ReasonClass.OVERSIZED_DOCUMENT, detail)
    if name is not None and not 0 < len(name) <= ID_CHARACTERS:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"id must have 1 to {ID_CHARACTERS} characters")
    return Line(name, document)


def _words(value: JsonObject, key: str) -> str | None:
    found = value.get(key)
    if found is None or isinstance(found, str):
        return found
    raise InputError(ReasonClass.WRONG_TYPE, f"{key} is not a text")
