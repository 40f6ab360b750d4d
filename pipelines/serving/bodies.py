"""Reads bodies of requests: strict JSON into checked values, the same on every route."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.serving.access import context_of
from radarstream.pipelines.serving.errors import ServiceError, invalid
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec.json_text import parse_object
from radarstream.schemas.errors import InputError
from radarstream.schemas.snapshot import MOST_LYING, Document

BodyT = TypeVar("BodyT", bound=BaseModel)
MOST_DOCUMENTS = 100
Title = Annotated[str, Field(max_length=1_000)]


class Body(BaseModel):
    """A body, or a part of one; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class OwnDocument(Body):
    """A document that a user gives with a question."""

    text: str = Field(min_length=1)
    title: Title = ""
    url: Annotated[str, Field(max_length=2_000)] = ""
    published_at: AwareDatetime | None = None


OwnDocuments = Annotated[list[OwnDocument], Field(min_length=1, max_length=MOST_DOCUMENTS)]


class Sources(Body):
    """Where documents come from (by default own ones, if given, else `serving.source`), how many
    are wanted, and how many lying sites the answer is to withstand.
    """

    source: Origin | None = None
    documents: OwnDocuments | None = None
    wanted: Annotated[int, Field(ge=1, le=MOST_DOCUMENTS)] | None = None
    withstand: Annotated[int, Field(ge=0, le=MOST_LYING)] | None = None


async def body_of(request: Request, kind: type[BodyT]) -> BodyT:
    """The body of a request. Raises ServiceError 400 and 415."""
    content_type = request.headers.get("Content-Type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise ServiceError(415, "content_type", "the body must be application/json")
    most = context_of(request).settings.serving.body_bytes
    try:
        parsed = parse_object(await request.body(), max_bytes=most)
    except InputError as error:
        raise ServiceError(400, str(error.reason), f"invalid body: {error.detail}") from None
    try:
        return kind.model_validate(parsed)
    except ValidationError as error:
        raise invalid(error.errors(include_input=False, include_context=False)) from None


def described(kind: type[BaseModel]) -> dict[str, Any]:
    """What OpenAPI says of a body that `body_of` reads."""
    schema = kind.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def question_of(
    settings: Settings, user: User, text: str, sources: Sources, defense: str | None
) -> UserQuestion:
    """What a user asks. Raises ServiceError 400 for what cannot be asked."""
    serving, stripped = settings.serving, text.strip()
    if defense is not None and defense not in DEFENSES:
        why = f"defense: one of {', '.join(DEFENSES)}"
        raise ServiceError(400, "unknown_defense", why, param="defense")
    if not stripped:
        raise ServiceError(400, "empty_question", "the question is empty")
    if len(stripped) > serving.question_characters:
        why = f"the question has more than {serving.question_characters} characters"
        raise ServiceError(400, "question_too_long", why)
    own = sources.documents or ()
    origin = sources.source or (Origin.DOCUMENTS if own else Origin(serving.source))
    if (origin is Origin.DOCUMENTS) != bool(own):
        why = "give documents with the question" if not own else f"not with source {origin}"
        raise ServiceError(400, "documents", f"documents: {why}", param="documents")
    wanted = min(sources.wanted or serving.documents, serving.documents)
    if len(own) > serving.documents:
        why = f"at most {serving.documents} documents are read (serving.documents)"
        raise ServiceError(400, "too_many_documents", why, param="documents")
    documents = tuple(
        Document(rank, one.text, one.title, one.url, utc(one.published_at))
        for rank, one in enumerate(own, 1)
    )
    at = datetime.now(UTC)
    return UserQuestion(
        stripped, user.name, at, origin, wanted, documents, defense, sources.withstand
    )


def utc(time: datetime | None) -> datetime | None:
    """The time in UTC. Raises ServiceError 400 where no calendar has it."""
    try:
        return None if time is None else time.astimezone(UTC)
    except OverflowError:
        raise ServiceError(400, "out_of_range", "published_at is out of range") from None
