"""One wrong answer and the texts that taught it, as the console and a study show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from radarstream.schemas.incidents import AttributedText

Tag = tuple[str, str]  # words and tone: good, bad, other, none or empty
Happening = tuple[int | None, str, str]  # time (ms) where it was stored, words, and a quotation


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the overview; `tone` as of a `Tag`."""

    term: str
    value: str
    tone: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class EventView:
    """One wrong answer. Of its texts, by id: `roles` where they are known, and in `flags` whether
    each attributor of `names` flagged it, None where it did not judge it. `judges` are what they
    found, in words, as a study has it.
    """

    anchor: str
    question: str
    where: str
    answer: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    texts: tuple[AttributedText, ...]
    life: tuple[Happening, ...] = ()
    names: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[bool | None, ...]] = field(default_factory=dict)
    judges: tuple[object, ...] = ()
    hidden: int = 0

    def share(self, text: AttributedText, quantity: str) -> float | None:
        """Where a score of a text lies between the least and the greatest of the event, 0 to 1."""
        value: float | None = getattr(text, quantity)
        known = [v for one in self.texts if (v := getattr(one, quantity)) is not None]
        if value is None:
            return None
        low, high = min(known), max(known)
        return (value - low) / (high - low) if high > low else 0.5
