"""Parses replies of models into answers."""

import re
from functools import cache
from typing import Final
from unicodedata import category

from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import NO, YES, Task, conclusion
from radarstream.schemas.tasks import ADDITIONS, TASKS, Reply

LEAST_WORDS: Final = 3  # content words at which repeating the question is no answer
LEAST_WORDS_OF_WHOM: Final = 2  # the same for questions with "who", where an office is no answer
_RUN: Final = 5  # successive words in common with an instruction at which it is repeated
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
    """Remove a label of the prompt, with which the model continued, from an answer.

    >>> without_prompt("19. Longer answer: 19")
    '19'
    """
    return _LABEL_BEHIND.sub("", answer)


def says_nothing(answer: str, question: str) -> bool:
    """Whether a reply claims nothing: it repeats the question or the instruction, or says so.

    Repeating needs LEAST_WORDS content words, LEAST_WORDS_OF_WHOM after "who". It does not count if
    the question offers answers ("or", a list after a colon) or has the answer yes or no.

    >>> says_nothing("The harbour fire", "What caused the fire in the harbour?")
    False
    >>> says_nothing("The fire in Oslo harbour", "What caused the fire in Oslo's harbour?")
    True
    """
    return (
        bool(_NOT_SAID.search(answer))
        or _repeats_question(answer, question)
        or not _runs(answer).isdisjoint(_instructed())
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


@cache
def _instructed() -> frozenset[tuple[str, ...]]:
    sentences = [*(spec.instruction for spec in TASKS.values()), *ADDITIONS]
    return frozenset().union(*map(_runs, sentences))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))


MAX_ANSWER_CHARACTERS: Final = 1_000
MAX_REASONING_CHARACTERS: Final = 4_000
_REFUSALS: Final = (
    "i don't know",
    "i do not know",
    "i dont know",
    "no information found",
    "cannot be determined",
    "not mentioned in the context",
)
_ECHO: Final = re.compile(
    r"^(?:(?:final|short|most frequent)\s+)?answer\s*(?::|-(?![.\d$£€¥])|(?=-))\s*", re.IGNORECASE
)
_ABBREVIATION: Final = re.compile(  # keeps its period: U.S., a.m., Inc.
    r"\b(?:(?:[a-z]\.){2,}|(?:jr|sr|inc|co|corp|ltd|st)\.)$", re.IGNORECASE
)
_LABEL: Final = re.compile(rf"\[\s*({YES}|{NO})\s*\]", re.IGNORECASE)
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'"})
_TAGGED: Final = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.IGNORECASE | re.DOTALL)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_QUOTES: Final = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`", "*": "*"}


def parse_answer(text: str, question: str = "") -> AtomicAnswer:
    r"""Parse the answer in a completion: its first line, without echo, quotes and final period.

    A text without an answer, or one that repeats its question or its prompt, is an abstention.
    Never raises.

    >>> parse_answer('Answer: "Canberra."\nQuestion: ...').text
    'Canberra'
    >>> parse_answer("I don\u2019t know.").abstained
    True
    """
    first = next((line for line in map(_visible, text.splitlines()) if line), "")
    answer = _unwrap(without_prompt(_unwrap(first)))[:MAX_ANSWER_CHARACTERS].rstrip()
    return AtomicAnswer(answer, is_uninformative(answer) or says_nothing(answer, question))


def parse_reply(task: Task, text: str, question: str = "") -> AtomicAnswer:
    r"""Parse a completion by the `Reply` of its task. Never raises.

    - AT_LENGTH: the whole text on one line; an abstention if it is nothing else, or if "The answer
      is ..." ends in one.
    - TAGGED: the text in the last <ANSWER> tag, else as AT_LENGTH.
    - LABELLED: the last [YES] or [NO], without brackets; an abstention without one.
    - RAW: the text on one line; an abstention if it is empty.
    - SHORT: `parse_answer`.

    >>> parse_reply(Task.CONSOLIDATE_PASSAGES, "1 and 2 agree.\n<ANSWER>Rome.</ANSWER>").text
    'Rome'
    """
    form = TASKS[task].reply
    if form is Reply.RAW:
        raw = _one_line(text)[:MAX_REASONING_CHARACTERS]
        return AtomicAnswer(raw, abstained=not raw)
    if form is Reply.SHORT:
        return parse_answer(text, question)
    if form is Reply.LABELLED:
        labels = _LABEL.findall(text)
        return AtomicAnswer(labels[-1].upper() if labels else "", abstained=not labels)
    if form is Reply.TAGGED and (tagged := _TAGGED.findall(text)):
        return parse_answer(" ".join(tagged[-1].split()), question)
    reasoning = _one_line(text)[:MAX_REASONING_CHARACTERS].rstrip()
    return AtomicAnswer(text=reasoning, abstained=_concludes_nothing(reasoning))


def is_uninformative(answer: str) -> bool:
    """Whether `answer` has no letter or digit, or says that the model does not know."""
    folded = " ".join(answer.translate(_APOSTROPHES).casefold().split())
    return not any(c.isalnum() for c in folded) or any(r in folded for r in _REFUSALS)


def _concludes_nothing(reasoning: str) -> bool:
    """Whether a reasoning ends in not knowing, or is nothing else."""
    ending = conclusion(reasoning)
    sentences = _SENTENCE_END.split(reasoning)
    return all(map(is_uninformative, sentences if ending is None else [ending]))


def _one_line(text: str) -> str:
    return " ".join(filter(None, map(_visible, text.splitlines())))


def _visible(line: str) -> str:
    """Remove invisible characters from a line, and collapse its white space."""
    kept = "".join(" " if c.isspace() else c for c in line if c == "\t" or category(c)[0] != "C")
    return " ".join(kept.split())


def _unwrap(line: str) -> str:
    """Strip echoes, matching quotes and one trailing period until nothing changes."""
    while True:
        bare = _ECHO.sub("", line).strip()
        if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
            bare = bare[1:-1].strip()
        if bare.endswith(".") and not bare.endswith("...") and not _ABBREVIATION.search(bare):
            bare = bare[:-1].rstrip()
        if bare == line:
            return bare
        line = bare
