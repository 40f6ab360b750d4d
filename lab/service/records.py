"""What a study of a service writes down.

A `ProbeRow` is a document with hidden words, an `AskRow` one question of a stream, a `StreamRow`
what else belongs to the stream, a `PassageRow` a text that was found, and a `ReplyRow` the reply of
the service to one question under one policy. All results are computed from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Literal

from radarstream.lab.attacks.service.protocol import Ask, MaskedDocument
from radarstream.lab.study.rows import PassageRow, StudyRow
from radarstream.schemas.orchestration import HookRecord


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """A document that membership probes ask about."""

    error: ClassVar[None] = None

    document: MaskedDocument

    key = property(attrgetter("document.id"))


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream beside its questions: ids of planted texts, and why some cannot be attacked."""

    error: ClassVar[None] = None

    stream: str
    planted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    key = property(attrgetter("stream"))


@dataclass(frozen=True, slots=True)
class AskRow:
    """The question at a place of a stream, from 0."""

    error: ClassVar[None] = None

    stream: str
    place: int
    ask: Ask

    key = property(attrgetter("stream", "ask.id"))


@dataclass(frozen=True, slots=True)
class Planned:
    """What was decided about a question, in numbers; epsilon is what it spent."""

    modules: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    trust: float = 0.5
    trust_after: float = 0.5
    epsilon: float = 0.0
    hooks: tuple[HookRecord, ...] = ()
    audit: Literal["pass", "mask", "regenerate", "refuse"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRow(StudyRow):
    """What the service did with one question of a stream, which is the condition.

    `query_id` is empty where it was no reader's question; `ask_id` is the question's own. `text` is
    what the user is told; `abstained` says that it is no answer. `found` are the ids of the
    documents of the reply, `shown` those that the defence saw, `kept` those that the answer rests
    on. Where the user's `budget_spent` forbids the question, nothing is found and nothing told.
    """

    ask_id: str
    text: str = ""
    abstained: bool = False
    budget_spent: bool = False
    found: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    planned: Planned = Planned()

    key = property(attrgetter("contender", "condition", "ask_id"))
    asked = property(attrgetter("condition", "ask_id"))  # the key of the question


FILES: Mapping[type[Any], str] = {
    ReplyRow: "rows.jsonl",
    AskRow: "questions.jsonl",
    StreamRow: "streams.jsonl",
    ProbeRow: "probes.jsonl",
    PassageRow: "passages.jsonl",
}
