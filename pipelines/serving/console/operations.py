"""Health and the action log."""

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.database.tables import EPSILON_SPENDING, USER_TRUST
from radarstream.connectors.state_table.incidents import complaints, quarantine
from radarstream.connectors.state_table.queries import outbox
from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.serving.users import list_users
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.showing import BELOW, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.operations import answers
from radarstream.schemas.incidents import ComplaintState

ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class Vital:
    """Something that is well or not; `value` in words."""

    name: str
    well: bool | None
    value: str


@dataclass(frozen=True, slots=True)
class Spender:
    """A user with trust and what they spent of their epsilon budget on a corpus."""

    name: str
    roles: str
    trust: float | None
    spent: tuple[tuple[str, float], ...]
    revoked: bool


def checks_of(engine: Engine) -> list[Vital]:
    """What the page of health shows first."""
    if not answers(engine):
        return [Vital("database", False, "does not answer")]
    unsent, states = outbox.depth(engine), complaints.counts(engine)[0]
    waiting = states.get(ComplaintState.OPEN, 0)
    return [
        Vital("database", True, f"answers; schema {HEAD}"),
        Vital("events not published yet", None if unsent else True, f"{unsent:,}"),
        Vital("complaints without an attribution", None if waiting else True, f"{waiting:,}"),
        Vital("texts in quarantine", None, f"{quarantine.count_active(engine):,}"),
    ]


def spenders(engine: Engine) -> list[Spender]:
    """All users with trust and spent epsilon."""
    trusts = dict(db.fetch(engine, select(USER_TRUST.c.user_name, USER_TRUST.c.trust)))
    spent: dict[str, list[tuple[str, float]]] = {}
    columns = EPSILON_SPENDING.c
    for name, corpus, epsilon in db.fetch(
        engine, select(columns.user_name, columns.corpus, columns.epsilon).order_by(columns.corpus)
    ):
        spent.setdefault(name, []).append((corpus, epsilon))
    return [
        Spender(user.name, ", ".join(sorted(user.roles)), trusts.get(user.name),
                tuple(spent.get(user.name, ())), user.revoked_ms is not None)
        for user in list_users(engine)
    ]  # fmt: skip


def router(context: Context) -> APIRouter:
    """Pages for whoever keeps the job running."""
    routes = APIRouter(include_in_schema=False)
    engine, settings = context.engine, context.settings

    @routes.get(f"{BELOW}health")
    def health(request: Request, user: Operator) -> HTMLResponse:
        loaded = context.warming.ready
        checks = [
            Vital("models", loaded, "loaded" if loaded else "are not loaded yet, or do not answer"),
            *checks_of(engine),
        ]
        well = all(check.well is not False for check in checks) and not context.stopping.is_set()
        return show(
            request,
            "health.html.j2",
            user,
            title="Health",
            sentence="The service takes questions." if well else "Something needs a look.",
            words=("Trust", "Epsilon budget"),
            live=True,
            checks=checks,
            spenders=spenders(engine),
            budget=settings.orchestration.epsilon_budget,
        )

    @routes.get(f"{BELOW}actions")
    def actions(request: Request, user: Operator, before: str = "") -> HTMLResponse:
        last = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
        rows = read_actions(engine, before=last, limit=ROWS + 1)
        more = rows[ROWS - 1].seq if len(rows) > ROWS else None
        said = "Who did what, newest first." if rows else "Nobody has done anything yet."
        return show(request, "actions.html.j2", user, title="Action log", sentence=said,
                    words=("Action log",), live=True, rows=rows[:ROWS], more=more)  # fmt: skip

    return routes
