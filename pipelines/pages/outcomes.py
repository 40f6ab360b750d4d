"""What answers turn out to be, as every page shows it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Look:
    """An outcome in words, its mark, its `letter` in the data of a page, and the colours of a bar
    and of the words on it.
    """

    letter: str
    mark: str
    words: str
    colour: str
    ink: str


OUTCOMES: Final = {
    "correct": Look("c", "✓", "correct", "correct", "on-dark"),
    "both": Look("b", "±", "correct, and names the target", "both", "on-light"),
    "stale": Look("s", "↺", "stale: correct at an earlier date", "stale", "on-light"),
    "other": Look("o", "≠", "other answer", "otherwise", "on-light"),
    "unlabelled": Look("u", "·", "truth unknown", "otherwise", "on-light"),
    "abstained": Look("a", "–", "abstained", "nothing", "ink"),
    "fooled": Look("t", "✕", "fooled: names the target", "fooled", "on-dark"),
    "error": Look("e", "!", "error, not scored", "failed", "on-dark"),
}
