"""What an attack on a service is: a stream of questions, and texts planted before it begins.

An attack is a frozen dataclass of options. Its method `stream` is a pure function of a `World`,
which is all that the attacker and the evaluator know. It never sees a defence.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.schemas.snapshot import Document, Labels

ATTACKER, READER = "attacker", "reader"  # users who ask
MINUTE_S, HOUR_S = 60.0, 3_600.0


@dataclass(frozen=True, slots=True)
class MaskedDocument:
    """A document of which some words are hidden, in the order of the text.

    `text` is what the attacker knows of it, `spans` are the (start, end) characters of the hidden
    words. `member` says whether the corpus that is searched has the document.
    """

    id: str
    text: str
    spans: tuple[tuple[int, int], ...]
    member: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The hidden words."""
        return tuple(self.text[start:end] for start, end in self.spans)

    def masked(self, numbers: Sequence[int] | None = None) -> str:
        """The text with `[Mask_i]` in the place of the words with these numbers, from 1; None
        stands for all.
        """
        parts, at = [], 0
        for number, (start, end) in enumerate(self.spans, start=1):
            if numbers is None or number in numbers:
                parts += [self.text[at:start], f"[Mask_{number}]"]
                at = end
        return "".join([*parts, self.text[at:]])


@dataclass(frozen=True, slots=True)
class World:
    """The questions of readers, the corpus that is searched, and documents to probe for."""

    questions: Questions
    masked: Sequence[MaskedDocument] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of a stream.

    `about` is what it is about: the id of a reader's question, or of a document; questions about
    the same are no independent trials. `gap_s` is the time since the question before it. `masks`
    are the numbers of the words of document `about` that it asks for. `same_as` is the id of the
    question that aims at the same without the trick. A `run_up` only prepares what follows. A
    question searches the texts that are planted for its `variant`.
    """

    id: str
    text: str
    about: str
    user: str = ATTACKER
    gap_s: float = MINUTE_S
    labels: Labels = Labels()
    masks: tuple[int, ...] = ()
    same_as: str | None = None
    run_up: bool = False
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Planted:
    """A text that the attacker adds to the corpus, to mislead about the question `about`."""

    about: str
    document: Document
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """Questions in the order in which they are asked, by users who were never seen before.

    `planted` texts are in the corpus from the start. `left_out` says, by what could not be
    attacked, why.
    """

    asks: tuple[Ask, ...]
    planted: tuple[Planted, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


class ServiceAttack(ABC):
    """One attack on a service. `needs_masks` says whether it asks about `World.masked`."""

    __slots__ = ()
    needs_masks: ClassVar[bool] = False

    @abstractmethod
    def stream(self, world: World) -> Stream:
        """What is asked. Equal worlds give equal streams."""
