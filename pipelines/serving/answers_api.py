"""The project's own interface: ask, read the answers of watched queries, report a wrong one."""

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from radarstream.connectors.state_table.database.tables import KEPT_EVENTS
from radarstream.connectors.state_table.serving import kept_events
from radarstream.pipelines.job.incidents.intake import only_query, report
from radarstream.pipelines.pages.safe_text import safe_link
from radarstream.pipelines.serving.access import MayAsk, MayReport
from radarstream.pipelines.serving.bodies import Body, Sources, body_of, described, question_of
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.serving.replies import facts_of, text_of
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.events import AnswerEvent

STORED = ("incident", "complaint_id", "query_id", "step", "answer", "sender")
Limit = Annotated[int, Query(ge=1, le=200)]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]
Search = Annotated[str, Query(max_length=200)]


class AskedQuestion(Sources):
    """A question; `defense` is a name of a defence, by default the configured one."""

    question: Annotated[str, Field(min_length=1)]
    defense: Annotated[str, Field(max_length=200)] | None = None


class CheckedClaim(Sources):
    """A claim to check."""

    claim: Annotated[str, Field(min_length=1)]


class WrongAnswer(Body):
    """A report of a wrong answer; without `answer` and `step` the latest answer is meant."""

    query: Annotated[str, Field(min_length=1, max_length=2_000)]
    answer: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None
    step: Annotated[int, Field(ge=0)] | None = None
    comment: Annotated[str, Field(max_length=2_000)] = ""


def router(context: Context) -> APIRouter:
    """The routes under /answers, /claims and /reports."""
    routes = APIRouter(tags=["answers"])
    questions, engine = context.questions, context.engine

    @routes.post("/answers", openapi_extra=described(AskedQuestion), response_class=JSONResponse)
    async def ask(request: Request, user: MayAsk) -> dict[str, Any]:
        """Answer a question from own documents, the corpus or a search."""
        asked = await body_of(request, AskedQuestion)
        question = question_of(context.settings, user, asked.question, asked, asked.defense)
        reply = await questions.reply(request, question)
        return {"question": question.text, "text": text_of(reply)} | facts_of(reply)

    @routes.post("/claims", openapi_extra=described(CheckedClaim), response_class=JSONResponse)
    async def check(request: Request, user: MayAsk) -> dict[str, Any]:
        """Check a claim against own documents, the corpus or a search."""
        claimed = await body_of(request, CheckedClaim)
        claim = question_of(context.settings, user, claimed.claim, claimed, field="claim")
        reply = await questions.reply(request, claim)
        return {"claim": claim.text, "text": text_of(reply)} | facts_of(reply)

    @routes.get("/answers", response_class=JSONResponse)
    def answers(
        _user: MayAsk, search: Search = "", limit: Limit = 50, offset: Offset = 0
    ) -> dict[str, Any]:
        """The latest answer of every watched query, newest first."""
        page = kept_events.latest_events(engine, search=search, limit=limit, offset=offset)
        found = [
            as_json(one.event) | {"changed_at": one.changed_at and one.changed_at.isoformat()}
            for one in page.latest
        ]
        return {"total": page.total, "answers": found}

    @routes.get("/answers/{query:path}", response_class=JSONResponse)
    def history(query: str, _user: MayAsk, limit: Limit = 100) -> dict[str, Any]:
        """The kept answers of one query, named by its id or its question; the latest first."""
        return history_of(engine, query, limit)

    @routes.post("/reports", status_code=201, openapi_extra=described(WrongAnswer),
                 response_class=JSONResponse)  # fmt: skip
    async def report_wrong_answer(request: Request, user: MayReport) -> dict[str, Any]:
        """Report a wrong answer of a watched query, as `radarstream complain` does."""
        wrong = await body_of(request, WrongAnswer)
        fields = (wrong.query, wrong.answer, wrong.step, wrong.comment)
        return await run_in_threadpool(reported, context, user, *fields)

    return routes


def history_of(engine: Engine, query: str, limit: int) -> dict[str, Any]:
    """The kept answers of the one query that an id or a question names. Raises InputError,
    NotFoundError.
    """
    query_id = only_query(engine, query, (KEPT_EVENTS,))
    found = kept_events.history(engine, query_id, limit=limit) if query_id else []
    if not found:
        raise NotFoundError("no answer of such a query is kept")
    return {"query_id": query_id, "answers": [as_json(event) for event in found]}


def reported(
    context: Context, user: User, query: str, answer: str | None, step: int | None, comment: str
) -> dict[str, Any]:
    """The complaint of a user, as it is stored."""
    stored = report(context.settings, context.engine, user.name, query, answer, step, comment)
    return {name: getattr(stored, name) for name in STORED}


def as_json(event: AnswerEvent) -> dict[str, Any]:
    """An event as on the wire, with addresses as citations have them."""
    sources = tuple(replace(one, url=safe_link(one.url) or "") for one in event.sources)
    value: dict[str, Any] = json.loads(encode(replace(event, sources=sources)))
    return value
