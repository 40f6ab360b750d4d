"""Replies that answer nothing: the question again, the prompt again, or that nothing is said."""

import re
from functools import cache
from typing import Final

from radarstream.schemas.tasks import ADDITIONS, TASKS

LEAST_WORDS: Final = 3  # of an answer that only repeats the question; fewer may be a name
LEAST_WORDS_OF_WHOM: Final = 2  # where a person is asked for: an office repeated is nobody
_RUN: Final = 5  # words in a row that a reply has in common with an instruction
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CHOICE: Final = re.compile(r"\bor\b|:", re.IGNORECASE)
_WHO: Final = re.compile(r"^\W*who\b", re.IGNORECASE)
_YES_NO: Final = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b",
    re.IGNORECASE,
)
_SMALL_WORDS: Final = (
    "a an the of in on at to for from by with as and or but is are was were be been being it its"
    " this that these those there he she they his her their has have had do does did will would"
    " can could may might should who whom whose which what when where why how"
)
_SMALL: Final = frozenset(_SMALL_WORDS.split())
_ENDING: Final = re.compile(r"(?:'s|ing|ed|es|e|s)$")
_NOT_SAID: Final = re.compile(
    r"\b(?:passages?|texts?|contexts?|documents?|articles?|sources?|snippets?)\s+(?:\w+\s+)?"
    r"(?:do(?:es)?(?:n't| not)|did(?:n't| not)|fails? to)\s+"
    r"(?:mention|say|state|specify|provide|contain|answer|give|include|name|tell)\b"
    r"|^\W*(?:the )?(?:answers? (?:is|are) )?(?:not (?:stated|mentioned|given|specified|provided)"
    r"|(?:given|stated|mentioned|found) (?:in|by) the (?:passage|text|context|document))\W*$"
    r"|^\W*(?:the )?(?:short |long(?:er)? |correct )?(?:answers?|questions?|passages?)\W*$",
    re.IGNORECASE,
)
_LABEL_BEHIND: Final = re.compile(
    r"(?<=\S)[.;,]?\s+(?:(?:short|long|longer|final|correct|next)\s+)?"
    r"(?:answer|question|passage)(?:\s+\d+|\s+from the passage)?\s*:.*$",
    re.IGNORECASE,
)


def without_prompt(answer: str) -> str:
    """The answer without a label of the prompt that the model went on with.

    >>> without_prompt("19. Longer answer: 19")
    '19'
    """
    return _LABEL_BEHIND.sub("", answer)


def says_nothing(answer: str, question: str) -> bool:
    """Whether a reply claims nothing: it repeats the question or the instruction, or says so.

    Repeating counts from LEAST_WORDS content words on, LEAST_WORDS_OF_WHOM after "who", and never
    where the question offers its own answers ("or", a list behind a colon) or takes yes or no.

    >>> says_nothing("The harbour fire", "What caused the fire in the harbour?")
    False
    >>> says_nothing("The fire in Oslo harbour", "What caused the fire in Oslo's harbour?")
    True
    """
    return (
        bool(_NOT_SAID.search(answer))
        or _repeats_question(answer, question)
        or _repeats_instruction(answer)
    )


def _repeats_question(answer: str, question: str) -> bool:
    if _CHOICE.search(question) or _YES_NO.match(question):
        return False
    said = _content(answer)
    least = LEAST_WORDS_OF_WHOM if _WHO.match(question) else LEAST_WORDS
    return len(said) >= least and said <= _content(question)


def _content(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text.casefold()) if word not in _SMALL)
    return frozenset(_ENDING.sub("", word) if len(word) > LEAST_WORDS else word for word in words)


def _repeats_instruction(answer: str) -> bool:
    return not _runs(answer).isdisjoint(_instructed())


@cache
def _instructed() -> frozenset[tuple[str, ...]]:
    sentences = [*(spec.instruction for spec in TASKS.values()), *ADDITIONS]
    return frozenset().union(*map(_runs, sentences))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))
