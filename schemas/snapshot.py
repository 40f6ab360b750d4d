"""The pipeline's input: the results of one search for one query."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Final
from unicodedata import normalize

from pydantic import ConfigDict, Field

from radarstream.schemas.times import Moment, milliseconds

# `codec.encode` refuses NaN and infinity, which are written as these constants.
STRICT = ConfigDict(extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants")
MOST_LYING: Final = 100  # largest `withstand` of a setting or a query
# A field with it is absent from the wire while it is None, so that older readers accept the rest.
ABSENT_UNSET: Final = Field(exclude_if=lambda value: value is None)
LONG_FORM: Final = "long_form"  # tag of a query that asks for some sentences, not a few words


class Strict:
    """The base of values on the wire: pydantic refuses unknown fields, infinity and NaN."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    __match_args__: ClassVar[tuple[str, ...]]

    def __reduce__(self) -> tuple[type[Any], tuple[Any, ...]]:
        """Pickle by position, in half the time of a frozen dataclass."""
        return type(self), tuple([getattr(self, name) for name in self.__match_args__])


class Provenance(StrEnum):
    """How a snapshot was obtained; scores name it, because date filters leak later pages."""

    LIVE = "live"
    ARCHIVED = "archived"
    DATE_RESTRICTED = "date_restricted"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Query(Strict):
    """A watched question. `id` is the key in every topic and table.

    `tags` are for consumers; the tag `long_form` also asks for a long answer. `withstand` replaces
    the setting of this name for this query.
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    text: Annotated[str, Field(min_length=1, max_length=2_000)]
    tags: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=32)] = ()
    withstand: Annotated[Annotated[int, Field(ge=0, le=MOST_LYING)] | None, ABSENT_UNSET] = None

    @property
    def long_form(self) -> bool:
        """Whether the answer is a text of some sentences, such as a biography."""
        return LONG_FORM in self.tags

    @staticmethod
    def from_text(text: str) -> "Query":
        """Make a query whose id is a hash of the normalised question.

        >>> Query.from_text("Who leads  France?").id == Query.from_text("who leads france?").id
        True
        """
        canonical = " ".join(normalize("NFKC", text).casefold().split())
        return Query(id=f"q-{sha256(canonical.encode()).hexdigest()[:12]}", text=text)


@dataclass(frozen=True, slots=True)
class Document(Strict):
    """One search result. Its text is untrusted everywhere.

    `pages` has the character of `text` at which each page begins, None without pages.

    >>> Document(rank=1, text="Lima.", title="Peru", url="https://a.example").passage.split()
    ['Peru', 'Lima.']
    """

    rank: Annotated[int, Field(ge=1, description="retrieval rank, 1 = best")]
    text: str
    title: str = ""
    url: str = ""
    published_at: Moment | None = None
    pages: Annotated[tuple[Annotated[int, Field(ge=0)], ...] | None, ABSENT_UNSET] = None

    @property
    def passage(self) -> str:
        """The document as a model reads it: title, then text."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def content_id(self) -> str:
        """A hash of title, text and address: 128 bits of SHA-256, which nobody can collide.

        >>> Document(1, "same").content_id == Document(9, "same").content_id
        True
        """
        digest = sha256()
        for part in (self.title, self.text, self.url):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little"))  # separates the parts
            digest.update(encoded)
        return f"d-{digest.hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class Labels(Strict):
    """What an evaluator knows about a snapshot. No defence ever sees it.

    `target` is the answer an attacker wants; `false_passages` are texts that claim it, which an
    attack may plant.
    """

    answers: tuple[str, ...] = ()
    all_answers_required: bool = False
    target: str | None = None
    attack: str | None = None
    poisoned_ranks: tuple[Annotated[int, Field(ge=1)], ...] = ()
    false_passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieval(Strict):
    """How a search service gave the results of a snapshot; it has no credentials.

    `archive_ids` name the answers that the service stored, one per page, in order. `partial` means
    fewer documents than requested, because a page failed or the results ended; `detail` says which,
    never in words of the service.
    """

    engine: Annotated[str, Field(min_length=1, max_length=64)]
    pages: Annotated[int, Field(ge=0, description="result pages that were read")]
    archive_ids: tuple[Annotated[str, Field(max_length=128)], ...] = ()
    partial: bool = False
    detail: Annotated[str, Field(max_length=300)] = ""


@dataclass(frozen=True, slots=True)
class SearchSnapshot(Strict):
    """The results of one query at one event time; documents are sorted by rank."""

    query: Query
    observed_at: Moment
    documents: tuple[Document, ...]
    provenance: Provenance = Provenance.LIVE
    labels: Labels | None = None
    retrieval: Retrieval | None = None

    def __post_init__(self) -> None:
        ranked = tuple(sorted(self.documents, key=lambda document: document.rank))
        object.__setattr__(self, "documents", ranked)

    @property
    def id(self) -> str:
        """Identity: query and event time in milliseconds."""
        return f"{self.query.id}@{self.observed_at_ms}"

    @property
    def observed_at_ms(self) -> int:
        """Event time in whole milliseconds since 1970-01-01 UTC."""
        return milliseconds(self.observed_at)
