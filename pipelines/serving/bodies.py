"""Reads bodies of requests: strict JSON into checked values, the same on every route."""

from base64 import b64decode
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.documents import Given, Offered, readable, sized
from radarstream.pipelines.serving.access import context_of
from radarstream.pipelines.serving.errors import ServiceError, invalid, wrong
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import clean
from radarstream.schemas.codec.json_text import parse_object
from radarstream.schemas.errors import InputError
from radarstream.schemas.snapshot import MOST_LYING, Document

BodyT = TypeVar("BodyT", bound=BaseModel)
MOST_DOCUMENTS = 100
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)  # in any zone
Cleaned = AfterValidator(clean)  # JSON of ours is refused with controls, that of agents is not
Title = Annotated[str, Field(max_length=1_000), Cleaned]


class Body(BaseModel):
    """A body, or a part of one; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class OwnDocument(Body):
    """A document that a user gives with a question: `text`, or `data` (base64) of a media type, or
    the `url` alone of a page that the service fetches.
    """

    text: Annotated[str, Field(min_length=1), Cleaned] | None = None
    data: Annotated[str, Field(min_length=1)] | None = None
    media_type: Annotated[str, Field(max_length=200)] = ""
    title: Title = ""
    url: Annotated[str, Field(max_length=2_000), Cleaned] = ""
    published_at: Annotated[AwareDatetime, Field(ge=FIRST, le=LAST)] | None = None


def given_as(own: OwnDocument, path: str, settings: Settings) -> Offered:
    """A document, or what has to be read first; `path` leads to it in the body. Raises ServiceError
    400, and 403 where addresses are not fetched.
    """
    at = own.published_at and own.published_at.astimezone(UTC)
    if own.text is not None and own.data is None:
        document = Document(1, own.text, own.title, own.url, at)
        return sized(document, f"{path}.text", settings.limits)
    if own.text is not None or not (own.data or own.url.strip()):
        raise wrong(path, "give text, or data with its media_type, or a url alone")
    if own.data is None and not settings.serving.fetch_addresses:
        why = "this service fetches no addresses (serving.fetch_addresses)"
        raise wrong(f"{path}.url", why, "addresses_refused", 403)
    try:
        data = None if own.data is None else b64decode(own.data, validate=True)
    except ValueError:
        raise wrong(f"{path}.data", "this is not base64") from None
    name = f"{path}.{'url' if data is None else 'data'}"
    return Given(data, own.media_type, own.title, own.url, at, name=name)


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
    serving = context_of(request).settings.serving
    most = max(serving.body_bytes, serving.upload_bytes)  # what comes here is within its limit
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


def question_of(  # noqa: PLR0913 what a question is made of
    settings: Settings,
    user: User,
    text: str,
    sources: Sources,
    defense: str | None = None,
    *,
    field: str = "question",
) -> UserQuestion:
    """What a user asks, or claims, in a `field` of the body: question, claim, or that of OpenAI's
    interface. Raises ServiceError 400 for what cannot be asked, DocumentError.
    """
    serving, stripped, is_claim = settings.serving, clean(text).strip(), field == "claim"
    name = "claim" if is_claim else "question"
    place = "documents" if field == name else "radarstream.documents"
    if defense is not None and defense not in DEFENSES:
        raise wrong("defense", f"one of {', '.join(DEFENSES)}", "unknown_defense")
    if not stripped:
        raise wrong(field, f"the {name} is empty", f"empty_{name}")
    if len(stripped) > serving.question_characters:
        why = f"the {name} has more than {serving.question_characters} characters"
        raise wrong(field, why, f"{name}_too_long")
    own = sources.documents or ()
    origin = sources.source or (Origin.DOCUMENTS if own else Origin(serving.source))
    if (origin is Origin.DOCUMENTS) != bool(own):
        ways = f"give text, data or a url with the {name}, or the source corpus or search"
        why = f"not with source {origin}" if own else ways
        raise wrong(place, why, "documents")
    wanted = min(sources.wanted or serving.documents, serving.documents)
    if len(own) > serving.documents:
        why = f"at most {serving.documents} documents are read (serving.documents)"
        raise wrong(place, why, "too_many_documents")
    given = [given_as(one, f"{place}.{n}", settings) for n, one in enumerate(own)]
    ready = [one for one in given if not isinstance(one, Given)]
    documents, unread = readable(ready) if len(ready) == len(given) else ((), ())
    return UserQuestion(
        stripped,
        user.name,
        datetime.now(UTC),
        origin,
        wanted,
        documents,
        defense,
        sources.withstand,
        () if documents else tuple(given),
        unread,
        is_claim,
    )
