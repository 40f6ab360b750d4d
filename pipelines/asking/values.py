"""A user's question and the reply to it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.orchestration import Orchestration
from radarstream.schemas.snapshot import Document


class Origin(StrEnum):
    """Where the documents of a question come from."""

    DOCUMENTS = "documents"  # the user's own, given with the question
    CORPUS = "corpus"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """One question of one user at one time.

    `user` is the name of an account, "" for nobody's. `defense` is a name of `DEFENSES`, None for
    the configured defence with its options. `wanted` is how many documents the answer may rest on,
    k in the papers.
    """

    text: str
    user: str
    asked_at: datetime
    origin: Origin
    wanted: int
    documents: tuple[Document, ...] = ()
    defense: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a user is told.

    `text` is the answer after the audit, which may have masked or refused what `event` says.
    `documents` are those that were found, at the ranks of the event; `event.verdict` says of each
    whether the answer rests on it and why not.
    """

    question: UserQuestion
    text: str
    event: AnswerEvent
    documents: tuple[Document, ...]
    orchestration: Orchestration
