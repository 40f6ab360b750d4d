"""What answers turn out to be, as every page shows it: words, marks and colours by outcome."""

from typing import Final

ORDER: Final = ("correct", "both", "stale", "other", "unlabelled", "abstained", "fooled", "error")
WORDS: Final = {
    "correct": "correct",
    "both": "correct, and names the target",
    "stale": "stale: correct at an earlier date",
    "other": "other answer",
    "unlabelled": "truth unknown",
    "abstained": "abstained",
    "fooled": "fooled: names the target",
    "error": "error, not scored",
}
MARKS: Final = {
    "correct": "✓",
    "both": "±",
    "stale": "↺",
    "other": "≠",
    "unlabelled": "·",
    "abstained": "–",
    "fooled": "✕",
    "error": "!",
}
COLOURS: Final = {  # of a bar, and of the words on it
    "correct": ("correct", "on-dark"),
    "both": ("both", "on-light"),
    "stale": ("stale", "on-light"),
    "other": ("otherwise", "on-light"),
    "unlabelled": ("otherwise", "on-light"),
    "abstained": ("nothing", "ink"),
    "fooled": ("fooled", "on-dark"),
    "error": ("failed", "on-dark"),
}
