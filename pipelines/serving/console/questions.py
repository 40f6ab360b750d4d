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
from radarstream.pipelines.documents import Given, Offered
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError, report
from radarstream.pipelines.pages.steps import StepView, build_step
from radarstream.pipelines.pages.verdict_words import (
    CLAIM_TONES,
    claim_in_words,
    decided_in_words,
    module_in_words,
)
from radarstream.pipelines.serving.access import Form, MayAsk, MayReport, context_of, files_of
from radarstream.pipelines.serving.console.answers import answer_in_words, grounds_of
from radarstream.pipelines.serving.console.showing import BELOW, link, message, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.people import Role, User
from radarstream.pipelines.serving.replies import NOTHING, has_nothing, may_quote, without_evidence
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import InputError, NotFoundError
from radarstream.schemas.events import TITLE_CHARACTERS, AnswerEvent
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


@dataclass(frozen=True, slots=True)
class Door:
    """A page on which a user asks: its title and place, what is typed, and what the page says."""

    title: str
    path: str
    name: str
    sentence: str
    is_claim: bool = False


DOORS: Final = (
    Door(
        "Ask",
        f"{BELOW}ask",
        "question",
        "Ask a question once. The answer comes here, with the sites that say so.",
    ),
    Door(
        "Check",
        f"{BELOW}check",
        "claim",
        "Check a claim once. The sites for and against it come here.",
        is_claim=True,
    ),
)


def step_of(reply: Reply, user: User) -> StepView:
    """The reply as a step of a timeline, with the answer that the audit let through."""
    reply = reply if may_read(reply, user) else without_evidence(reply)
    event = replace(reply.event, answer=reply.text)
    snapshot = SearchSnapshot(
        Query(event.query_id, event.question), event.observed_at, reply.documents, event.provenance
    )
    return build_step(event, snapshot, "reply", reply.checked)


def may_read(reply: Reply, user: User) -> bool:
    """Whether a user may read what documents say: operators always."""
    return Role.OPERATE in user.roles or may_quote(reply)


async def documents_in(request: Request, form: Mapping[str, str], *, fetch: bool) -> list[Offered]:
    """The documents of a form: the text that was pasted, files, then addresses, one a line."""
    text = form.get("text", "")
    given: list[Offered] = [Document(1, clean(text))] if text.strip() else []
    for file in await files_of(request):
        data, kind = await file.read(), file.content_type or ""
        kind = SUFFIXES.get(Path(file.filename or "").suffix.lower(), kind)
        name = clean(file.filename or "")[:TITLE_CHARACTERS]
        given.append(Given(data, kind, name, name=f"file {name}"))
    addresses = form.get("addresses", "").split() if fetch else []
    return [*given, *(Given(url=address, name=f"address {address}") for address in addresses)]


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

    @routes.get(door.path)
    async def form(request: Request, user: MayAsk) -> HTMLResponse:
        return page_of(door, request, user, {})

    @routes.post(door.path)
    async def ask(request: Request, user: MayAsk, form: Form) -> HTMLResponse:
        try:
            question = await question_in(door, request, user, form)
            reply = await context.questions.reply(request, question)
        except ServiceError as error:
            return page_of(door, request, user, form, problem=error)
        return page_of(door, request, user, form, reply)

    return routes


def page_of(
    door: Door,
    request: Request,
    user: User,
    asked: Mapping[str, str],
    reply: Reply | None = None,
    problem: ServiceError | None = None,
) -> HTMLResponse:
    """The page of a door with what was `asked`, and its reply or the reason why there is none."""
    context, decided = context_of(request), reply.orchestration if reply else None
    settings = context.settings
    step = step_of(reply, user) if reply else None
    return show(
        request,
        "ask.html.j2",
        user,
        title=door.title,
        door=door,
        sentence=sentence_of(reply) if reply else door.sentence,
        words=("Support", "Plan", "Hook", "Risk", "Kept, rejected") if reply else (),
        notes=[NOTHING] if reply and has_nothing(reply) else [],
        problem=problem,
        asked=asked,
        origins=context.origins,
        usual=asked.get("origin", settings.serving.source),
        kinds=", ".join(SUFFIXES),
        serving=settings.serving,
        withstand=asked.get("withstand", settings.defense.withstand),
        most_lying=MOST_LYING,
        reply=reply,
        grounds=grounds_in(reply, step.event) if reply and step else None,
        step=step,
        first_open="reply",
        facts=decided_in_words(decided) if decided else [],
        hooks=[(one.hook, module_in_words(one)) for one in decided.hooks] if decided else [],
        may_report=Role.REPORT in user.roles and not door.is_claim,
    )


async def question_in(
    door: Door, request: Request, user: User, form: Mapping[str, str]
) -> UserQuestion:
    """The question of a form, with its documents. Raises ServiceError 400."""
    origins, serving = context_of(request).origins, context_of(request).settings.serving
    text, lying = " ".join(form.get("question", "").split()), form.get("withstand", "").strip()
    origin = form.get("origin", Origin.CORPUS.value)
    given = await documents_in(request, form, fetch=serving.fetch_addresses)
    problems = {
        f"please type a {door.name}": not 0 < len(text) <= serving.question_characters,
        f"documents come from {' or '.join(origins.values())}": origin not in origins,
        f"lying sites to withstand are a number from 0 to {MOST_LYING}": not is_withstand(lying),
        f"at most {serving.documents} documents are read": len(given) > serving.documents,
    }
    for problem, there in problems.items():
        if there:
            raise ServiceError(400, "invalid_value", problem)
    return UserQuestion(
        text,
        user.name,
        datetime.now(UTC),
        Origin.DOCUMENTS if given else Origin(origin),
        len(given) or serving.documents,
        withstand=int(lying) if lying else None,
        to_read=tuple(given),
        is_claim=door.is_claim,
    )


def is_withstand(text: str) -> bool:
    """Whether a field has a number of lying sites, or is empty: then the settings say.

    >>> [is_withstand(text) for text in ("", "0", "100", "101", "-1", "1.5", "two", "²")]
    [True, True, True, False, False, False, False, False]
    """
    return not text or (len(text) < 9 and text.isdecimal() and int(text) <= MOST_LYING)


def sentence_of(reply: Reply) -> str:
    """The reply in a sentence; of a claim, what became of it."""
    if reply.checked:
        return f"{claim_in_words(reply.checked).capitalize()}."
    abstained = reply.event.abstention is not None
    return reply.text or (answer_in_words(reply.event) if abstained else "No answer.")


def grounds_in(reply: Reply, event: AnswerEvent) -> tuple[str, str, str]:
    """What the reply rests on, by the event that its user may read; of a claim, what was asked."""
    if reply.checked is None:
        return grounds_of(event)
    claim, verdict = reply.checked.claim, reply.checked.verdict
    said = f"The claim says {claim.answer}; the answer: {reply.text or 'no answer'}."
    return verdict.replace("_", " "), CLAIM_TONES[verdict], f"Asked: {claim.question} {said}"


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
