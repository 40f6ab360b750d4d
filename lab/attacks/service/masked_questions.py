"""MBA: questions that ask to fill gaps in a document, to learn whether the corpus has it.

"Mask-Based Membership Inference Attacks for Retrieval-Augmented Generation" (WWW 2025), as
"Adaptive Defense Orchestration for RAG" uses it (section 5.3). The rank of a word is the rank of
its first token under a proxy model, given the text before it: the attacker hides what hardly anyone
can fill in who does not have the document.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, Literal, Protocol, runtime_checkable

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.lab.attacks.service.protocol import (
    Ask,
    MaskedDocument,
    ServiceAttack,
    Stream,
    World,
)
from radarstream.lab.attacks.texts import WORDINGS
from radarstream.pipelines.signals.ports import Model
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery, Task
from radarstream.schemas.snapshot import STRICT

MASKS: Final = 5  # hidden words, M in the paper
MOST_WORDS: Final = 500  # of a document that are probed
MOST_CHARACTERS: Final = 400  # with the request, what a model is shown of a question
LEAST_APART: Final = 20  # characters between the beginnings of two hidden words
_WORD: Final = re.compile(r"(?<!\S)[^\W\d_]{3,}(?![\w'\u2019-])")
_COMMON: Final = frozenset(WORDINGS["service"]["common_words"].split())
MEMBER_FROM: Final = 0.5  # share of masks that must be exceeded to call a document a member
_FILL: Final = re.compile(r"\[\s*mask_(\d{1,4})\s*\]\s*:\s*([^\[\n]*)", re.IGNORECASE)
_LABEL: Final = re.compile(r"\[\s*mask_", re.IGNORECASE)
_EDGES: Final = " \t\r\n.,;:!?\"'`*\u201c\u201d\u2018\u2019()"
_WORDINGS: Final[dict[str, str]] = WORDINGS["service"]["masks"]


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class MaskedQuestions(ServiceAttack):
    """Asks for the hidden words of each document, members and others in turn, all of a
    document at once, as published, or one a question with `each`. The wording
    "masks" has `[Mask_i]` in the text; "next" shows the text before a hidden word and asks which
    word comes next. "one" attacker asks all questions, or "many" accounts ask one each.
    """

    each: bool = False
    wording: Literal["masks", "next"] = "masks"
    users: Literal["one", "many"] = "one"

    needs_masks: ClassVar[bool] = True

    def stream(self, world: World) -> Stream:
        """The probes in the order of the documents."""
        ask_for = continuations if self.wording == "next" else partial(probes, each=self.each)
        asks = [ask for document in world.masked for ask in ask_for(document)]
        if self.users == "many":
            asks = [replace(ask, user=ask.id) for ask in asks]
        return Stream(tuple(asks))


def probes(document: MaskedDocument, *, each: bool) -> list[Ask]:
    """The questions about one document, with ids of their own."""
    numbers = tuple(range(1, len(document.spans) + 1))
    groups = [(number,) for number in numbers] if each else [numbers]
    return [
        Ask(
            f"probe/{document.id}/{'all' if not each else group[0]}",
            _WORDINGS["one" if each else "all"].format(
                first=f"[Mask_{group[0]}]", last=f"[Mask_{group[-1]}]", text=document.masked(group)
            ),
            document.id,
            masks=group,
        )
        for group in groups
        if group
    ]


def continuations(document: MaskedDocument) -> list[Ask]:
    """One question for each hidden word: the text before it, and which word comes next."""
    return [
        Ask(
            f"next/{document.id}/{number}",
            _WORDINGS["next"].format(text=document.text[:start].rstrip()),
            document.id,
            masks=(number,),
        )
        for number, (start, _) in enumerate(document.spans, start=1)
        if document.text[:start].strip()
    ]


def filled(reply: str | None, masks: Sequence[int]) -> dict[int, str]:
    """The words that a reply gives, by the number of the mask. Never raises. A reply is a list of
    `[Mask_i]: word`; to a question for one word it may be the word alone. One that gives two words
    for a mask, or a word for a mask that was not asked for, cannot be read: it gives none.

    >>> filled("[Mask_1]: Rome, [Mask_2]: old", (1, 2))
    {1: 'rome', 2: 'old'}
    >>> filled("Rome.", (3,))
    {3: 'rome'}
    """
    if not reply:
        return {}
    if len(masks) == 1 and not _LABEL.search(reply):
        return {masks[0]: plain(reply)}
    found: dict[int, str] = {}
    for number, word in _FILL.findall(reply):
        given = plain(word)
        if int(number) not in masks or found.setdefault(int(number), given) != given:
            return {}
    return found


def plain(word: str) -> str:
    """A word for an exact comparison: without case, and without marks around it."""
    return word.casefold().strip(_EDGES)


@dataclass(frozen=True, slots=True)
class Fill:
    """What was given for one hidden word: exactly it, or a text that contains it or is in it."""

    exact: bool
    contained: bool


def fills(document: MaskedDocument, given: Mapping[int, str]) -> list[Fill]:
    """One per hidden word of the document; a word that was not given is wrong."""
    found = []
    for number, word in enumerate(map(plain, document.words), start=1):
        said = given.get(number, "")
        found.append(Fill(said == word, bool(said) and (said in word or word in said)))
    return found


def is_called_member(document_fills: Sequence[Fill]) -> bool:
    """Whether the attacker concludes that the corpus has the document.

    >>> is_called_member([Fill(True, True)] * 4 + [Fill(False, False)])
    True
    """
    share = sum(fill.exact for fill in document_fills) / max(1, len(document_fills))
    return share > MEMBER_FROM


@runtime_checkable
class Proxy(Model, Protocol):
    """A language model that tells how many tokens it holds for more probable than another."""

    def ranks(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r,) ranks, from 1, of the continuation's first token after each prompt."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A word that may be hidden: (start, end) characters and its rank; higher is harder."""

    start: int
    end: int
    rank: float


def cut(text: str) -> str:
    """The beginning of a document that is probed, up to whole words.

    >>> cut("one  two")
    'one two'
    """
    words = text.split()[:MOST_WORDS]
    while words and sum(map(len, words)) + len(words) - 1 > MOST_CHARACTERS:
        words.pop()
    return " ".join(words)


def candidates(text: str) -> Iterator[tuple[int, int]]:
    """The (start, end) of every word that may be hidden: letters only, at least three of them, not
    common, and behind a space or nothing, as a proxy reads it.
    """
    for match in _WORD.finditer(text):
        if match[0].casefold() not in _COMMON:
            yield match.span()


def ranked(text: str, proxy: Proxy) -> list[Hidden]:
    """The candidates of a text with their ranks, from 1, under the proxy. Raises ModelError."""
    found = []
    for start, end in candidates(text):
        prompt = build_prompt(Task.CONTINUE_TEXT, "", (text[:start].rstrip(),))
        (ranks,) = proxy.ranks([ContinuationQuery((prompt,), text[start:end])])
        found.append(Hidden(start, end, float(ranks[0])))
    return found


def chosen(text: str, words: Sequence[Hidden], masks: int = MASKS) -> tuple[tuple[int, int], ...]:
    """The (start, end) of the words that are hidden, in the order of the text.

    The text is divided into as many sections of equal length as there are masks. Each gives its
    word of the highest rank that is far enough from those chosen before; what is missing then is
    filled up with the highest ranks left. Of equal ranks the first word counts. A text with few
    words has fewer masks.
    """
    hardest = sorted(words, key=lambda word: (-word.rank, word.start))
    found: list[Hidden] = []

    def take(allowed: Sequence[Hidden]) -> bool:
        for word in allowed:
            if all(abs(word.start - other.start) >= LEAST_APART for other in found):
                found.append(word)
                return True
        return False

    for section in range(masks):
        low, high = (len(text) * edge / masks for edge in (section, section + 1))
        take([word for word in hardest if low <= word.start < high])
    while len(found) < masks and take(hardest):
        pass
    return tuple(sorted((word.start, word.end) for word in found))
