"""What every study writes down: tidy rows, each with what it cost.

A row says what one *contender* made of one question (`query_id`) at one `step` under one
*condition*. Kinds of studies add fields. Beside rows a study keeps its material: evidence, pools,
passages, questions.
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Final, Protocol

from radarstream.schemas.snapshot import Document

ERROR_CHARACTERS: Final = 300
EVIDENCE_WORK: Final = "evidence"  # the author of material; every other one is a contender


@dataclass(frozen=True, slots=True)
class Cost:
    """What one row asked of the models, counted whether or not a cache knew the reply.

    Repetitions within one row count once. `calls` are prompts that were completed, `forwards`
    prompts whose continuation was scored (`continuation_tokens` in all), `pairs` answers that were
    related, `embeddings` texts embedded or measured, `passes` forward and backward passes of one
    passage through an encoder, `masked` texts of which a masked model guessed a part, `attended`
    prompts of which it was told how their passages share the attention. Tokens are None where a
    model did not count those of some prompt.

    Seconds are per stage, as in Table 8 of the RADAR paper; `service_seconds` are those of a whole
    question that a service was asked. A completion found in the cache counts with what it took when
    it was made; everything else with the time of looking it up, shared out evenly over a batch:
    compare the counts rather than the seconds. Signals that contenders share are included for every
    contender that reads them.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    forwards: int = 0
    continuation_tokens: int = 0
    pairs: int = 0
    embeddings: int = 0
    passes: int = 0
    masked: int = 0
    attended: int = 0
    atomic_seconds: float = 0.0
    relation_seconds: float = 0.0
    selection_seconds: float = 0.0
    generation_seconds: float = 0.0
    service_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """All stages together."""
        stages = (self.atomic_seconds, self.relation_seconds, self.selection_seconds)
        return sum(stages) + self.generation_seconds + self.service_seconds

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table of rows."""
        return asdict(self) | {"seconds": self.seconds}


COST: Final = (*(field.name for field in fields(Cost)), "seconds")  # columns


class Stored(Protocol):
    """One line of a study's files: a frozen dataclass, either a row or material."""

    @property
    def key(self) -> Hashable:
        """What tells a line from the others of its file; of two with one key the later counts."""

    @property
    def author(self) -> str:
        """Whose code computed the line: a name in `StudyRecord.code`, or any other."""

    @property
    def error(self) -> str | None:
        """Why there is no result; such a line is computed again in the next run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """What all rows hold. With `error` there is no result."""

    contender: str
    condition: str
    query_id: str
    step: int = 0
    error: str | None = None
    cost: Cost = field(default=Cost())

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells a row from all others."""
        return self.contender, self.condition, self.query_id, self.step

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return self.contender


class Material:
    """What rows rest on. It has no error: what fails when it is gathered ends the run."""

    __slots__ = ()
    author: ClassVar[str] = EVIDENCE_WORK
    error: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class PassageRow(Material):
    """The text of a candidate or of a document that was found, which rows name by its id."""

    author: ClassVar[str] = ""  # what it is found for has authors

    id: str
    document: Document

    @property
    def key(self) -> str:
        """What tells a text from all others."""
        return self.id


def error_words(error: Exception) -> str:
    """The kind of an error and the start of its message."""
    return f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]
