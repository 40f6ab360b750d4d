"""What a study of a service writes down.

A `ProbeRow` is a document with hidden words, an `AskRow` one question of a stream, a `StreamRow`
what else belongs to the stream, a `PassageRow` a text that was found, and a `ReplyRow` what the
service did with one question under one policy. All results are computed from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from radarstream.pipelines.evaluation.attacks.service.protocol import Ask, MaskedDocument
from radarstream.pipelines.evaluation.study.rows import Cost, PassageRow
from radarstream.schemas.orchestration import HookRecord

PROBING = "hidden words"  # the author of probes
AskKey = tuple[str, str]  # stream, id of the question in it
ReplyKey = tuple[str, str, str]  # policy, stream, id of the question


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """A document that membership probes ask about."""

    document: MaskedDocument

    @property
    def key(self) -> str:
        """What tells a document from all others."""
        return self.document.id

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return PROBING

    @property
    def error(self) -> None:
        """No probe has one: a proxy that fails ends the run."""
        return


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream beside its questions: ids of planted texts, and why some cannot be attacked."""

    stream: str
    planted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What tells a stream from all others."""
        return self.stream

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return stream_author(self.stream)

    @property
    def error(self) -> None:
        """No stream has one."""
        return


@dataclass(frozen=True, slots=True)
class AskRow:
    """The question at a place of a stream, from 0."""

    stream: str
    place: int
    ask: Ask

    @property
    def key(self) -> AskKey:
        """What tells a question from all others."""
        return self.stream, self.ask.id

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return stream_author(self.stream)

    @property
    def error(self) -> None:
        """No question has one."""
        return


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


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """What the service did with one question.

    `query_id` is empty where it was no reader's question. `text` is what the user is told;
    `abstained` says that it is no answer. `found` are the ids of the documents of the reply,
    `shown` those that the defence saw, `kept` those that the answer rests on. Where the user's
    `budget_spent` forbids the question, nothing is found and nothing told. With `error` there is
    nothing else.
    """

    contender: str
    stream: str
    ask_id: str
    query_id: str = ""
    text: str = ""
    abstained: bool = False
    budget_spent: bool = False
    found: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    planned: Planned = Planned()
    cost: Cost = Cost()
    error: str | None = None

    @property
    def key(self) -> ReplyKey:
        """What tells a row from all others."""
        return self.contender, self.stream, self.ask_id

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return self.contender


def stream_author(stream: str) -> str:
    """The author of the questions of a stream, beside the names of policies."""
    return f"questions of {stream}"


FILES: Mapping[type[Any], str] = {
    ReplyRow: "rows.jsonl",
    AskRow: "questions.jsonl",
    StreamRow: "streams.jsonl",
    ProbeRow: "probes.jsonl",
    PassageRow: "passages.jsonl",
}
