"""Health, the action log, and the dead letters of the topic."""

from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine, select

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.database.tables import EPSILON_SPENDING, USER_TRUST
from radarstream.connectors.state_table.incidents import complaints, quarantine
from radarstream.connectors.state_table.queries import outbox
from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.serving.users import list_users
from radarstream.pipelines.job.answering import dead_letters
from radarstream.pipelines.job.answering.dead_letters import Letter
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.answers import moment
from radarstream.pipelines.serving.console.showing import BELOW, Columns, Listing, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.operations import answers
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.incidents import ComplaintState

ROWS: Final = 1_000
REST: Final = f"The newest {ROWS:,} are listed; the search looks at all."
ACTIONS: Final[Columns] = {
    "action": attrgetter("action"),
    "user": attrgetter("user"),
    "on": attrgetter("target"),
    "what followed": attrgetter("detail"),
    "when (UTC)": attrgetter("at_ms"),
}
USERS: Final[Columns] = {
    "user": attrgetter("name"),
    "roles": attrgetter("roles"),
    "trust": attrgetter("trust"),
    "epsilon spent": lambda one: sum(epsilon for _, epsilon in one.spent),
}
LETTERS: Final[Columns] = {
    "reason": lambda row: f"{row[0]['reason'].replace('_', ' ')} {row[0]['id']}",
    "detail": lambda row: f"{row[0]['detail']} {row[0]['source']}",
    "at fault": lambda row: row[0]["disposition"],
    "attempts": lambda row: row[0]["attempts"],
    "written": itemgetter(1),
    "replayed": None,
}


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
    routes = letter_pages(context)
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
            **Listing.of(request, USERS, ("trust",)).page(spenders(engine)),
            budget=settings.orchestration.epsilon_budget,
        )

    @routes.get(f"{BELOW}actions")
    def actions(request: Request, user: Operator) -> HTMLResponse:
        listing = Listing.of(request, ACTIONS)
        rows = read_actions(engine, search=listing.search, limit=ROWS)
        said = "Who did what, newest first." if rows else "Nobody has done anything yet."
        return show(request, "actions.html.j2", user, title="Action log", sentence=said,
                    words=("Action log",), live=True, notes=[REST] if len(rows) == ROWS else [],
                    **listing.page(rows))  # fmt: skip

    return routes


PATIENCE_S: Final = 2.0  # a person waits for the page
UNREACHABLE: Final = (
    "The message broker cannot be reached, so dead letters are not known. The service itself needs"
    " no broker."
)


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The dead letters, oldest first; ids of replayed ones; what could not be read."""

    letters: tuple[Letter, ...]
    replayed: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


def mailbox(kafka: KafkaOptions) -> Mailbox:
    """Read both topics to their ends. Raises BrokerError, ConfigurationError."""
    seconds, problems = min(kafka.request_timeout_s, PATIENCE_S), list[str]()
    kafka = kafka.model_copy(update={"request_timeout_s": seconds})
    found = tuple(dead_letters.letters_of_topic(kafka, problems.append))
    return Mailbox(found, dead_letters.replayed_before(kafka, found), tuple(problems))


def letters_sentence(box: Mailbox) -> str:
    """What the topic holds, in one sentence."""
    count, left = len(box.letters), sum(x.id not in box.replayed for x in box.letters)
    if not count:
        return "The topic holds no dead letter."
    return f"{count:,} dead {'letter' if count == 1 else 'letters'}, {left:,} not replayed yet."


def letter_pages(context: Context) -> APIRouter:
    """The page of dead letters."""
    routes, settings = APIRouter(include_in_schema=False), context.settings

    @routes.get(f"{BELOW}dead-letters")
    def letters(request: Request, user: Operator) -> HTMLResponse:
        sentence, box = UNREACHABLE, Mailbox(())
        try:
            box = mailbox(settings.kafka)
            sentence = letters_sentence(box)
        except (BrokerError, ConfigurationError):
            pass  # the sentence says so; the error may name hosts
        newest = [(letter.plain(), moment(letter.written_at)) for letter in box.letters[::-1]]
        return show(
            request,
            "dead_letters.html.j2",
            user,
            title="Dead letters",
            sentence=sentence,
            words=("Dead letter", "Outage", "Replay"),
            notes=box.problems[:5],
            **Listing.of(request, LETTERS, ("attempts",)).page(newest),
            replayed=box.replayed,
        )

    return routes
