"""A service for tests: askers that are scripted, fail or wait; users in memory; real sockets."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread

from fastapi import FastAPI

from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.serving.people import Role, User
from radarstream.pipelines.serving.server import bound, serving
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.orchestration import Orchestration, Plan
from radarstream.schemas.snapshot import Document, Provenance, Query
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import Abstention, DocumentVerdict, Excerpt, Reason, Verdict

TOKENS = {
    "asking": User("asking", frozenset({Role.ASK})),
    "reporting": User("reporting", frozenset({Role.REPORT})),
    "operating": User("operating", frozenset({Role.OPERATE})),
    "all": User("all", frozenset(Role)),
}
OWN = [
    {"text": "Paris is the capital of France.", "url": "https://one.example/a"},
    {"text": "Paris is its capital, with the parliament.", "url": "https://two.example/a"},
    {"text": "Lyon became its capital after a long vote.", "url": "https://liar.example/a"},
]


def service_settings(folder: Path, **serving: object) -> Settings:
    """Scripted models, a database in `folder`, any free port."""
    free = {"listen": "127.0.0.1:0", "health_listen": "", "questions_per_minute": 100_000}
    given = free | serving
    database = f"sqlite:///{folder}/state.sqlite"
    calm = {"policy": "none", "always": ()}
    return load_settings(
        None, profile="scripted", database=database, serving=given, orchestration=calm
    )


@dataclass
class PeopleInMemory:
    """Users and sessions without a database; a user's token is the key."""

    tokens: dict[str, User] = field(default_factory=lambda: dict(TOKENS))
    sessions: dict[str, User] = field(default_factory=dict)

    def by_token(self, token: str) -> User | None:
        return self.tokens.get(token)

    def by_session(self, secret: str) -> User | None:
        return self.sessions.get(secret)

    def open_session(self, user: User) -> User:
        opened = replace(user, session=token_hex(16))
        self.sessions[opened.session] = opened
        return opened

    def close_session(self, secret: str) -> None:
        self.sessions.pop(secret, None)


def reply_to(
    question: UserQuestion, text: str = "Paris", abstention: Abstention | None = None
) -> Reply:
    """A reply from two documents, of which the second was cut."""
    documents = question.documents or (
        Document(1, f"It is {text}. SECRET TEXT", "Atlas", "https://atlas.example/page"),
        Document(2, "It is Lyon. SECRET TEXT", "![x](http://evil.example/)", "javascript:alert(1)"),
    )
    judged = tuple(
        DocumentVerdict(
            d.rank,
            d.rank == 1,
            Reason.SUPPORTED if d.rank == 1 else Reason.CUT,
            excerpt=Excerpt("", *d.text.partition(".")[::2]),
        )
        for d in documents
    )
    answer = "" if abstention else text
    query = Query.from_text(question.text)
    event = AnswerEvent(
        query_id=query.id,
        question=question.text,
        step=0,
        snapshot_id=f"{query.id}@1",
        observed_at=question.asked_at,
        provenance=Provenance.LIVE,
        defense=question.defense or "voices",
        answer=answer,
        abstention=abstention,
        changed=None,
        verdict=Verdict(answer, judged, abstention),
        status=AnswerStatus.ABSTAINED if abstention else AnswerStatus.SINGLE_SOURCE,
        support=None if abstention else Support(sites_for=1),
    )
    return Reply(question, answer, event, documents, Orchestration(Plan()))


@dataclass
class FakeAsker:
    """Answers at once with what `answer` makes of a question, and remembers the questions."""

    answer: Callable[[UserQuestion], Reply | RadarstreamError] = reply_to
    asked: list[UserQuestion] = field(default_factory=list)

    def __call__(self, questions: Sequence[UserQuestion]) -> list[Reply | RadarstreamError]:
        self.asked += questions
        return [self.answer(question) for question in questions]


@dataclass
class HeldAsker(FakeAsker):
    """Answers once it is released; `begun` says that it was asked."""

    begun: Event = field(default_factory=Event)
    released: Event = field(default_factory=Event)

    def __call__(self, questions: Sequence[UserQuestion]) -> list[Reply | RadarstreamError]:
        self.begun.set()
        assert self.released.wait(20)
        return FakeAsker.__call__(self, questions)


def bearer(token: str) -> dict[str, str]:
    """The header of a token."""
    return {"Authorization": f"Bearer {token}"}


def a_question(text: str = "Where?") -> UserQuestion:
    """A question of nobody's."""
    return UserQuestion(text, "", datetime.now(UTC), Origin.CORPUS, 10)


@contextmanager
def running(app: FastAPI, stop: Stop | None = None) -> Iterator[int]:
    """Serve on a loopback port in a thread; yields the port."""
    stop = stop or Stop()
    listening = bound("127.0.0.1:0")
    port: int = listening.getsockname()[1]
    thread = Thread(target=lambda: asyncio.run(serving(app, stop, listening)), daemon=True)
    thread.start()
    try:
        yield port
    finally:
        stop.event.set()
        thread.join(20)
        assert not thread.is_alive()


def fake_service(folder: Path, asker: FakeAsker | None = None, **serving: object) -> FastAPI:
    """A service whose models and users are fakes; its database is real."""
    settings = service_settings(folder, **serving)
    return create_app(settings, asker or FakeAsker(), people=PeopleInMemory())
