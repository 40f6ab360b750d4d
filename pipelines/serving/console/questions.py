"""A question of a user, its defended answer with what every hook did, and complaints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Request
from fastapi import Query as Parameter
from fastapi.responses import HTMLResponse

from radarstream.connectors.state_table.serving.action_log import log_action
from radarstream.connectors.state_table.serving.kept_events import find_event
from radarstream.connectors.webpages.media import SUFFIXES
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.documents import Given
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError, report
from radarstream.pipelines.pages.steps import StepView, build_step
from radarstream.pipelines.pages.verdict_words import (
    claim_in_words,
    decided_in_words,
    module_in_words,
)
from radarstream.pipelines.serving.access import Form, MayAsk, MayReport, files_of
from radarstream.pipelines.serving.console.answers import STEP_WORDS, answer_in_words
from radarstream.pipelines.serving.console.showing import BELOW, as_sentence, link, message, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.people import Role, User
from radarstream.pipelines.serving.replies import may_quote, without_evidence
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import InputError, NotFoundError
from radarstream.schemas.events import TITLE_CHARACTERS
from radarstream.schemas.snapshot import MOST_LYING, Document, Query, SearchSnapshot
from radarstream.schemas.times import now_ms

COMPLAINT: Final = "Complain about an answer"
NEXT: Final = (
    "The worker (radarstream attribute) finds out which texts taught the answer, and a person"
    " decides.",
)
COMMENT: Final = 2_000  # characters
Step = Annotated[int, Parameter(ge=0, le=2**53)]
ASKED, ANSWERED = 2_000, 4_000  # characters that a complaint repeats
# Where documents may come from where none are given.
ORIGINS: Final = {Origin.CORPUS: "the corpus", Origin.SEARCH: "a search"}


@dataclass(frozen=True, slots=True)
class Door:
    """A page on which a user asks: its title and place, what is typed, and what the page says."""

    title: str
    path: str
    name: str
    sentence: str
    is_claim: bool = False


DOORS: Final = (
    Door("Ask", f"{BELOW}ask", "question", "Ask a question once."),
    Door("Check", f"{BELOW}check", "claim", "Check a claim once.", is_claim=True),
)


def step_of(reply: Reply, user: User) -> StepView:
    """The reply as a step of a timeline, with the answer that the audit let through."""
    reply = reply if may_read(reply, user) else without_evidence(reply)
    event = replace(reply.event, answer=reply.text)
    snapshot = SearchSnapshot(
        Query(event.query_id, event.question), event.observed_at, reply.documents, event.provenance
    )
    return build_step(event, snapshot, "reply")


def may_read(reply: Reply, user: User) -> bool:
    """Whether a user may read what documents say: operators always."""
    return Role.OPERATE in user.roles or may_quote(reply)


async def documents_in(
    request: Request, form: Mapping[str, str], *, fetch: bool
) -> list[Document | Given]:
    """The documents of a form: the text that was pasted, files, then addresses, one a line."""
    text = form.get("text", "")
    given: list[Document | Given] = [Document(1, clean(text))] if text.strip() else []
    for file in await files_of(request):
        data, kind = await file.read(), file.content_type or ""
        kind = SUFFIXES.get(Path(file.filename or "").suffix.lower(), kind)
        given.append(Given(data, kind, clean(file.filename or "")[:TITLE_CHARACTERS]))
    addresses = form.get("addresses", "").split() if fetch else []
    given += [Given(url=address) for address in addresses]
    return [
        replace(one, name=f"document {number}{f' ({one.title})' * bool(one.title)}")
        if isinstance(one, Given)
        else one
        for number, one in enumerate(given, 1)
    ]


def taken(  # noqa: PLR0913 what a complaint is made of
    context: Context,
    request: Request,
    user: User,
    query: str,
    answer: str,
    *,
    step: int | None = None,
    comment: str = "",
    back: str,
) -> HTMLResponse:
    """Take a complaint in and write that down; a page says what became of it."""
    status, lines, said = 200, NEXT, "Thank you, the complaint was taken."
    began_ms = now_ms()
    try:
        stored = report(context.settings, context.engine, user.name, query, answer, step, comment)
    except (InputError, RefusedComplaintError) as error:
        detail = error.detail if isinstance(error, InputError) else str(error)
        status, said, lines = 409, "The complaint was not taken.", (detail,)
    else:
        if stored.received_ms < began_ms:
            said = "You complained about this answer before."
        else:
            where = f"{stored.query_id}, step {stored.step}"
            log_action(context.engine, at_ms=stored.received_ms, user=user.name, action="report",
                       target=stored.incident, detail=where)  # fmt: skip
    return message(request, user, COMPLAINT, said, lines=lines, back=back, status=status)


def router(context: Context) -> APIRouter:
    """The pages on which a user asks, and complains about an answer."""
    routes = complaints(context)
    for door in DOORS:
        routes.include_router(asking(context, door))

    @routes.post(f"{BELOW}ask/report")
    def wrong(request: Request, user: MayReport, form: Form) -> HTMLResponse:
        asked, answer = form.get("question", "")[:ASKED], form.get("answer", "")[:ANSWERED]
        return taken(context, request, user, asked, answer, back=f"{BELOW}ask")

    return routes


def asking(context: Context, door: Door) -> APIRouter:
    """The page of one door, empty and with a reply."""
    routes = APIRouter(include_in_schema=False)
    serving = context.settings.serving
    usual = Origin(serving.source) if serving.source in tuple(ORIGINS) else Origin.CORPUS

    def page(request: Request, user: MayAsk, asked: dict[str, str], problem: str = "",
             reply: Reply | None = None, status: int = 200) -> HTMLResponse:  # fmt: skip
        decided = reply.orchestration if reply else None
        return show(
            request,
            "ask.html.j2",
            user,
            title=door.title,
            door=door,
            sentence=sentence_of(reply) if reply else door.sentence,
            words=("Support", "Plan", "Hook", "Risk", "Kept, rejected") if reply else (),
            status=status,
            problem=problem,
            asked=asked,
            origins={origin.value: name for origin, name in ORIGINS.items()},
            usual=asked.get("origin", usual.value),
            kinds=", ".join(SUFFIXES),
            most_mb=serving.upload_bytes // 10**6,
            fetches=serving.fetch_addresses,
            withstand=asked.get("withstand", context.settings.defense.withstand),
            most_lying=MOST_LYING,
            longest=serving.question_characters,
            reply=reply,
            step=step_of(reply, user) if reply else None,
            first_open="reply",
            facts=decided_in_words(decided) if decided else [],
            hooks=[(one.hook, module_in_words(one)) for one in decided.hooks] if decided else [],
            may_report=Role.REPORT in user.roles and not door.is_claim,
            **STEP_WORDS,
        )

    @routes.get(door.path)
    async def form(request: Request, user: MayAsk) -> HTMLResponse:
        return page(request, user, {})

    @routes.post(door.path)
    async def ask(request: Request, user: MayAsk, form: Form) -> HTMLResponse:
        text = " ".join(form.get("question", "").split())
        origin, lying = form.get("origin", usual.value), form.get("withstand", "")
        if not text or len(text) > serving.question_characters or origin not in tuple(ORIGINS):
            return page(request, user, form, f"Please type a {door.name}.", status=400)
        given = await documents_in(request, form, fetch=serving.fetch_addresses)
        if len(given) > serving.documents:
            problem = f"At most {serving.documents} documents are read."
            return page(request, user, form, problem, status=400)
        question = UserQuestion(
            text,
            user.name,
            datetime.now(UTC),
            Origin.DOCUMENTS if given else Origin(origin),
            len(given) or serving.documents,
            withstand=min(int(lying[:9]), MOST_LYING) if lying.isdecimal() else None,
            unread=tuple(given),
            is_claim=door.is_claim,
        )
        try:
            reply = await context.questions.reply(request, question)
        except ServiceError as error:
            return page(request, user, form, as_sentence(error.message), status=error.status)
        return page(request, user, form, reply=reply)

    return routes


def sentence_of(reply: Reply) -> str:
    """The reply in a sentence; of a claim, what became of it and what its question is."""
    if reply.checked is None:
        return reply.text or "No answer."
    claim, said = reply.checked.claim, claim_in_words(reply.checked).capitalize()
    answer = reply.text or "no answer"
    return f"{said}. Asked: {claim.question} The claim says {claim.answer}; the answer: {answer}."


def complaints(context: Context) -> APIRouter:
    """The page on which a user complains about an answer of a watched query."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(f"{BELOW}report")
    def complain(
        request: Request, user: MayReport, query: str = "", step: Step | None = None
    ) -> HTMLResponse:
        """Without a step, of the newest answer."""
        kept = find_event(context.engine, query, step)
        if kept is None or kept.abstention is not None:
            raise NotFoundError("no answer of this query is kept at this step")
        step = kept.step
        return show(
            request,
            "report.html.j2",
            user,
            title=COMPLAINT,
            sentence=f"You say that this answer is wrong: {answer_in_words(kept)}",
            words=("Incident",),
            heads=[("query", query), ("step", step)],
            question=kept.question,
            action=link(f"{BELOW}report", query=query, step=step),
            back=link(f"{BELOW}answer", query=query),
        )

    @routes.post(f"{BELOW}report")
    def send(
        request: Request, user: MayReport, form: Form, query: str = "", step: Step = 0
    ) -> HTMLResponse:
        kept = find_event(context.engine, query, step)
        if kept is None:
            raise NotFoundError("no answer of this query is kept at this step")
        comment = form.get("comment", "").strip()[:COMMENT]
        return taken(context, request, user, query, kept.answer, step=step, comment=comment,
                     back=link(f"{BELOW}answer", query=query))  # fmt: skip

    return routes
