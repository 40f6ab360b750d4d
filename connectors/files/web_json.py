"""Parses JSON of data sets about web pages into models of the fields that we read.

Unlike records on the wire, pages are not refused: forbidden characters are removed.
"""

import json
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from radarstream.schemas.codec import clean, decode_snapshot, encode
from radarstream.schemas.codec.decoding import input_error
from radarstream.schemas.codec.text import capped
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Document, SearchSnapshot

ModelT = TypeVar("ModelT", bound=BaseModel)


def _cleaned(value: object) -> object:
    return "" if value is None else clean(value) if isinstance(value, str) else value


def _listed(value: object) -> object:
    return [] if value is None else [value] if isinstance(value, str) else value


PageText = Annotated[str, BeforeValidator(_cleaned)]
PageTexts = Annotated[tuple[PageText, ...], BeforeValidator(_listed)]


class Page(BaseModel):
    """A page, with the field names of several data sets."""

    title: PageText = ""
    url: PageText = Field(default="", validation_alias=AliasChoices("url", "link"))
    content: PageText = Field(default="", validation_alias=AliasChoices("content", "text"))
    snippet: PageText = ""

    @property
    def text(self) -> str:
        """The content, or the snippet if that is empty."""
        return self.content if self.content.strip() else self.snippet


def ranked(pages: Iterable[Page], limits: Limits) -> tuple[Document, ...]:
    """Return pages as documents, ranked in their order; texts are cut to the limit."""
    most = limits.document_bytes
    return tuple(
        Document(rank, capped(page.text, most), capped(page.title, most), capped(page.url, most))
        for rank, page in enumerate(pages, start=1)
    )


def parsed_line(model: type[ModelT], line: RawRecord) -> ModelT:
    """Parse a line; invalid UTF-8 is replaced. Raises InputError."""
    if line.reason is not None:
        raise InputError(line.reason, line.detail)
    try:
        value = json.loads(line.payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(ReasonClass.MALFORMED_JSON, f"not JSON: {error}") from None
    return checked(model, value)


def checked(model: type[ModelT], value: object) -> ModelT:
    """Validate a parsed value; unknown fields are ignored. Raises InputError."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise input_error(error) from None


def refused(part: Any, error: InputError) -> RawRecord:
    """Return a record for an unusable part of a file, as JSON, with the reason."""
    return RawRecord("", 0, json.dumps(part).encode(), error.reason, error.detail)


def record_of(snapshot: SearchSnapshot, limits: Limits) -> RawRecord:
    """Return a snapshot in the wire format. Raises InputError if the decoder refuses it."""
    payload = encode(snapshot)
    decoded = decode_snapshot(payload, limits=limits)
    return RawRecord("", 0, payload, snapshot=decoded)
