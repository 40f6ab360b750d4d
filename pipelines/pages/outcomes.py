"""What answers turn out to be, as every page shows it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Look:
    """An outcome in words, and its mark."""

    mark: str
    words: str


OUTCOMES: Final = {
    "correct": Look("✓", "correct"),
    "both": Look("±", "correct, and names the target"),
    "stale": Look("↺", "stale: correct at an earlier date"),
    "other": Look("≠", "other answer"),
    "unlabelled": Look("·", "truth unknown"),
    "abstained": Look("–", "abstained"),
    "fooled": Look("✕", "fooled: names the target"),
    "error": Look("!", "error, not scored"),
}
