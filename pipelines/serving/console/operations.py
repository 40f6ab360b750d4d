"""Health and the action log."""

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock, Thread
from time import monotonic
from typing import Final, Generic, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine, select

from radarstream.connectors.kafka.offsets import OffsetReader
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.database.tables import EPSILON_SPENDING, USER_TRUST
from radarstream.connectors.state_table.incidents import complaints, quarantine
from radarstream.connectors.state_table.queries import outbox
from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.serving.users import list_users
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.letters import UNREACHABLE, impatient
from radarstream.pipelines.serving.console.showing import BELOW, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.operations import answers
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.incidents import ComplaintState

ValueT = TypeVar("ValueT")
EVERY_S: Final = 10.0  # how long an answer of the broker is repeated
WAIT_S: Final = 0.5  # how long a page waits for it
LAG: Final = "lag of the job"
ASKING: Final = "is being asked for"
ROWS: Final = 100


class Asked(Generic[ValueT]):
    """Asks something slow in a thread, at most every few seconds, and waits only a moment for it.

    Calling it returns the last answer, None before there is one.
    """

    def __init__(self, ask: Callable[[], ValueT], now: Callable[[], float] = monotonic) -> None:
        self._ask, self._now = ask, now
        self._lock, self._next = Lock(), 0.0
        self._asking: Future[None] | None = None
        self._last: ValueT | None = None

    def __call__(self, wait_s: float = WAIT_S) -> ValueT | None:
        """The last answer."""
        with self._lock:
            if self._asking is None and self._now() >= self._next:
                self._asking = Future()
                Thread(target=self._work, args=(self._asking,), daemon=True).start()
            asking = self._asking
        if asking is not None:
            futures.wait([asking], wait_s)
        return self._last

    def _work(self, asking: "Future[None]") -> None:
        try:
            self._last = self._ask()
        finally:
            with self._lock:
                self._asking, self._next = None, self._now() + EVERY_S
            asking.set_result(None)


@dataclass(frozen=True, slots=True)
class Check:
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


def lag_of(kafka: KafkaOptions) -> Check:
    """How far the job is behind, as the broker tells."""
    try:
        with OffsetReader(impatient(kafka), group=kafka.group) as reader:
            found = reader.read()
    except (BrokerError, ConfigurationError):
        return Check(LAG, None, UNREACHABLE.format(what="the lag is"))
    lag = sum(offsets.lag for offsets in found.values())
    parts = "1 partition" if len(found) == 1 else f"{len(found)} partitions"
    return Check(LAG, lag == 0, f"{lag:,} records on {parts}")


def checks_of(engine: Engine, lag: Check) -> list[Check]:
    """What the page of health shows first."""
    if not answers(engine):
        return [Check("database", False, "does not answer"), lag]
    unsent, states = outbox.depth(engine), complaints.counts(engine)[0]
    waiting = states.get(ComplaintState.OPEN, 0)
    return [
        Check("database", True, f"answers; schema {HEAD}"),
        lag,
        Check("events not published yet", None if unsent else True, f"{unsent:,}"),
        Check("complaints without an attribution", None if waiting else True, f"{waiting:,}"),
        Check("texts in quarantine", None, f"{quarantine.count_active(engine):,}"),
    ]


def models_of(settings: Settings) -> list[tuple[str, str]]:
    """Which models answer: their kinds and names, without addresses or keys."""
    sections = {"generator": settings.generator, "relations": settings.relations,
                "embedder": settings.embedder, "tokens": settings.tokens}  # fmt: skip
    told = [("profile", settings.profile), ("defence", settings.defense.name)]
    for name, section in sections.items():
        kind = str(getattr(section, "kind", type(section).__name__))
        model = str(getattr(section, "model", "") or "")
        told.append((name, f"{kind} {model}".strip()))
    return told


def replies_of(context: Context) -> list[tuple[str, int]]:
    """What this process replied since it started, by what the reply rests on, and failures."""
    counted = ((context.metrics.replies, "status"), (context.metrics.failures, "code"))
    return [
        (sample.labels.get(label, ""), int(sample.value))
        for counter, label in counted
        for metric in counter.collect()
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.value
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
    lag = Asked(lambda: lag_of(settings.kafka))

    @routes.get(f"{BELOW}health")
    def health(request: Request, user: Operator) -> HTMLResponse:
        loaded = context.warming.ready
        checks = [
            Check("models", loaded, "loaded" if loaded else "are not loaded yet, or do not answer"),
            *checks_of(engine, lag() or Check(LAG, None, ASKING)),
        ]
        well = all(check.well is not False for check in checks) and not context.stopping.is_set()
        return show(
            request,
            "health.html.j2",
            user,
            title="Health",
            sentence="The service takes questions." if well else "Something needs a look.",
            words=("Lag", "Trust", "Epsilon budget"),
            live=True,
            checks=checks,
            models=models_of(settings),
            replies=replies_of(context),
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
