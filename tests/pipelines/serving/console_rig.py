"""A console over a real database with a small run, incidents and a ledger, honest or hostile."""

import atexit
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import httpx
from sqlalchemy import Engine
from starlette.testclient import TestClient

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.connectors.state_table.serving.users import add_user
from radarstream.pipelines.asking.values import Reply
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.orchestration import (
    Audited,
    Hook,
    HookRecord,
    Orchestration,
    Plan,
    RiskLevel,
    RiskProfile,
)
from radarstream.schemas.snapshot import Query, SearchSnapshot
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.users import Role
from tests.lab.pages.attribution_pages import fill
from tests.pipelines.pages.report_run import hostile_run, make_run
from tests.servers import free_port
from tests.serving import FakeAsker

USERS = {"ada": list(Role), "bob": [Role.OPERATE], "cleo": [Role.ASK], "dan": [Role.REPORT]}
NOW_MS = 1_750_000_000_000
SUPPORT = Support(5, 1, 0.9, 0.34, "Lyon", 4, 5)


def settings_of(directory: Path, **more: object) -> Settings:
    """Scripted models, a database of its own, and a broker that nobody runs."""
    return load_settings(
        None,
        profile="scripted",
        database=f"sqlite:///{directory / 'state.sqlite'}",
        kafka={"bootstrap": f"127.0.0.1:{free_port()}", "request_timeout_s": 1.0},
        serving={"health_listen": ""},
        attribution={"enabled": True, "min_gap": 0.0, "max_chance": 1.0},
        **more,
    )


def keep(engine: Engine, event: AnswerEvent, snapshot: SearchSnapshot | None = None) -> None:
    """What a fold keeps of an answer for the console and for attribution."""
    with engine.begin() as connection:
        keep_event(connection, event, steps=30)
        if snapshot is not None:
            keep_answer(connection, KeptAnswer.of(event, snapshot), steps=30)


def seeded(settings: Settings, *, hostile: bool = False) -> Engine:
    """A copy of a database with answers, incidents, quarantine and sources."""
    shutil.copyfile(template(hostile=hostile), settings.database.removeprefix("sqlite:///"))
    return open_engine(settings.database)


@cache
def template(*, hostile: bool) -> Path:
    """The database that tests copy."""
    file = Path(mkdtemp()) / "template.sqlite"
    engine = open_engine(f"sqlite:///{file}")
    answers, snapshots = hostile_run()[:2] if hostile else make_run()
    statuses = tuple(AnswerStatus)
    for event in answers:
        number = sum(map(ord, event.query_id))  # differs between queries
        status = AnswerStatus.ABSTAINED if event.abstention else statuses[number % 3]
        told = replace(event, status=status, support=None if event.abstention else SUPPORT)
        keep(engine, told, snapshots.get(event.snapshot_id))
    fill(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    atexit.register(shutil.rmtree, file.parent, ignore_errors=True)
    return file


def answered(*, hostile: bool = False) -> tuple[AnswerEvent, SearchSnapshot]:
    """An event with documents that were kept and cut, and its snapshot."""
    answers, snapshots = hostile_run()[:2] if hostile else make_run(steps=3)
    event = next(e for e in answers if e.step == 2)
    found = snapshots[event.snapshot_id]
    told = replace(event, status=AnswerStatus.CORROBORATED, support=SUPPORT)
    return told, replace(found, query=Query(event.query_id, event.question))


def asker(event: AnswerEvent, snapshot: SearchSnapshot, masked: str = "") -> FakeAsker:
    """Answers with an event; the audit lets its answer pass, or makes another one of it."""
    records = (
        HookRecord(Hook.PRE_RETRIEVAL, "differential_privacy", False, {}, 0, 0),
        HookRecord(Hook.POST_RETRIEVAL, "trustrag", True, {"rouge_threshold": 0.25}, 10, 8),
    )
    risk = RiskProfile(RiskLevel.ELEVATED, poisoning=0.6)
    audit = Audited("mask", masked) if masked else Audited("pass", event.answer)
    orchestration = Orchestration(
        Plan(), risk, risk, trust=0.5, trust_after=0.45, epsilon_spent=3.0, epsilon_left=97.0,
        hooks=records, audit=audit,
    )  # fmt: skip
    told = (masked or event.answer, event, snapshot.documents, orchestration)
    return FakeAsker(lambda question: Reply(question, *told))


def app_of(settings: Settings, engine: Engine, *, hostile: bool = False):
    """The service over this database with users in memory."""
    tokens = {name: add_user(engine, name, roles, NOW_MS) for name, roles in USERS.items()}
    app = create_app(settings, asker(*answered(hostile=hostile)), engine)
    app.state.tokens = tokens
    return app


def client_of(app, address: str = "http://127.0.0.1") -> httpx.Client:
    """A browser without scripts: cookies, no redirects of its own."""
    return TestClient(app, base_url=address, follow_redirects=False)


def sign_in(client: httpx.Client, name: str = "ada") -> httpx.Response:
    """Sign in by the form."""
    response = client.post("/console/sign-in", data={"token": client.app.state.tokens[name]})
    assert response.status_code == 303, response.text
    return response
