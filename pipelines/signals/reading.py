"""Selects the text that models read: short documents whole, of long ones the best windows.

1. The text is split after sentences and lines, and sentences are packed into windows of a maximum
   length. A longer sentence is cut at white space.
2. The score of a window is the sum, over the question's words in it, of their inverse document
   frequency among the page's windows (as in BM25, Robertson and Zaragoza, 2009), times 1.5 for
   numbers and names. Repetitions do not count. Words are compared by their English stem; in scripts
   without spaces, characters are words.
3. The windows with the highest scores are kept, of equal ones the earlier. A window that repeats
   another is left out.
4. The kept windows are read in the order of the page.

The selection depends on the page and the question only, so that no other page can change it. Time
and memory are linear in the length of the page.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from math import log
from typing import Final

import snowballstemmer

from radarstream.defenses.keywords import FUNCTION_WORDS
from radarstream.pipelines.settings import ReadingSettings
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot

ELLIPSIS: Final = " … "
NAMES_COUNT: Final = 1.5  # weight of numbers and names
LONGEST_WORD: Final = 40  # characters; longer strings do not count
PREFIX: Final = 3  # characters that words of one stem share
MOST_STEMMED: Final = 2_000  # distinct words of a page; further ones are not stemmed
_SENTENCE_END: Final = re.compile(
    r"(?<!\b\w)(?<!\b[A-Z]\w)[.!?…][\"'”’)\]]*\s+|\n\s*|[。！？]+"  # not after "Dr." or "U.S."
)
_WORD: Final = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+"
)
_ASKING: Final = frozenset(
    ["how", "what", "when", "where", "which", "who", "whom", "whose", "why", "many", "much"]
)


@dataclass(frozen=True, slots=True)
class Window:
    """A part `text[start:end]` of a text.

    `score` is the share, in [0, 1], of the weight of all question's words on the page.
    """

    start: int
    end: int
    score: float


def best_windows(question: str, text: str, characters: int, count: int) -> list[Window]:
    """Return the `count` best windows, of at most `characters`, the best first.

    Of a page without a word of the question, these are the first windows.
    """
    places = list(_packed(text, characters))
    worth = _worth(question)
    stems = _Stems({word[:PREFIX] for word in (*worth, *_WORD.findall(question.casefold()))})
    held = [stems.of(text[start:end]) & worth.keys() for start, end in places]
    having = Counter(word for words in held for word in words)
    rarity = {word: log(1.0 + (len(places) - n + 0.5) / (n + 0.5)) for word, n in having.items()}
    values = {word: worth[word] * rare for word, rare in rarity.items()}
    most = sum(values[word] for word in sorted(values))
    windows = [
        Window(start, end, sum(values[word] for word in sorted(words)) / most if most else 0.0)
        for (start, end), words in zip(places, held, strict=True)
    ]
    return _distinct(sorted(windows, key=lambda w: (-w.score, w.start)), text, count)


def says_more_than(text: str, characters: int) -> bool:
    """Whether the distinct sentences of a text have more than `characters` together.

    >>> says_more_than("Rome won. Oslo lost. " * 100, 20)
    False
    """
    written: set[str] = set()  # to skip repetitions fast
    seen: set[str] = set()
    total = 0
    for start, end in _sentences(text):
        part = text[start:end]
        if part in written:
            continue
        written.add(part)
        sentence = " ".join(part.casefold().split())
        if sentence not in seen:
            seen.add(sentence)
            total += len(sentence)
            if total > characters:
                return True
    return False


def joined(text: str, windows: Sequence[Window]) -> str:
    """Join windows in the order of the text, with an ellipsis for each omission.

    >>> joined("One. Two. Three.", [Window(10, 16, 0.1), Window(0, 5, 0.9)])
    'One. … Three.'
    """
    parts: list[list[int]] = []
    for window in sorted(windows, key=lambda w: w.start):
        if parts and parts[-1][1] == window.start:
            parts[-1][1] = window.end
        else:
            parts.append([window.start, window.end])
    return ELLIPSIS.join(text[start:end].strip() for start, end in parts)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _SENTENCE_END.finditer(text):
        if found.end() > start:
            yield start, found.end()
            start = found.end()
    if start < len(text):
        yield start, len(text)


def _packed(text: str, characters: int) -> Iterator[tuple[int, int]]:
    """Yield windows that cover the text, each of whole sentences or cut from a longer one."""
    start = end = 0
    for _, stop in _sentences(text):
        if stop - start > characters and end > start:
            yield start, end
            start = end
        while stop - start > characters:
            space = text.rfind(" ", start + characters // 2, start + characters)
            end = start + characters if space < 0 else space + 1
            yield start, end
            start = end
        end = stop
    if end > start:
        yield start, end


def _worth(question: str) -> dict[str, float]:
    """Return the weight of each word of the question, by stem, without its rarity."""
    stem = _stemming()
    worth: dict[str, float] = {}
    for found in _WORD.finditer(question):
        word = found[0].casefold()
        if word in FUNCTION_WORDS or word in _ASKING or len(word) > LONGEST_WORD:
            continue
        named = found[0][0].isdigit() or (found[0][0].isupper() and found.start() > 0)
        worth[stem(word)] = NAMES_COUNT if named else worth.get(stem(word), 1.0)
    return worth


class _Stems:
    """Stems of the words of a page that begin with one of `starts`, each computed once."""

    def __init__(self, starts: Set[str]) -> None:
        self.starts = starts
        self.stem = _stemming()
        self.known: dict[str, str] = {}

    def of(self, text: str) -> set[str]:
        """Return the stems of a text."""
        words = (word for word in _WORD.findall(text.casefold()) if word[:PREFIX] in self.starts)
        return {self.known.get(word) or self.learn(word) for word in words}

    def learn(self, word: str) -> str:
        """Compute the stem of a new word."""
        if len(self.known) >= MOST_STEMMED or len(word) > LONGEST_WORD:
            return word
        return self.known.setdefault(word, self.stem(word))


def _stemming() -> Callable[[str], str]:
    """Return a new stemmer; it has state, so threads must not share it."""
    stemmer: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord
    return stemmer


def _distinct(windows: Sequence[Window], text: str, count: int) -> list[Window]:
    """Return the first `count` windows that have words and do not repeat an earlier one."""
    written: set[str] = set()  # to skip repetitions fast
    seen: set[tuple[str, ...]] = set()
    chosen: list[Window] = []
    for window in windows:
        if len(chosen) == count:
            break
        part = text[window.start : window.end]
        if part in written:
            continue
        written.add(part)
        words = tuple(_WORD.findall(part.casefold()))
        if words and words not in seen:
            seen.add(words)
            chosen.append(window)
    return chosen


def as_read(snapshots: Sequence[SearchSnapshot], reading: ReadingSettings) -> list[SearchSnapshot]:
    """Return the snapshots with their documents as models read them."""
    read = [read_documents(s.query, s.documents, reading) for s in snapshots]
    return [
        snapshot if documents == snapshot.documents else replace(snapshot, documents=documents)
        for snapshot, documents in zip(snapshots, read, strict=True)
    ]


def read_documents(
    query: Query, documents: Sequence[Document], reading: ReadingSettings
) -> tuple[Document, ...]:
    """Return the documents of a query with the text that models read; the rest stays.

    A document stays whole if it is short or repeats itself, or if the query asks for a long answer.
    """
    size, count = reading.window_characters, reading.windows
    return tuple(
        replace(d, text=joined(d.text, best_windows(query.text, d.text, size, count)))
        if is_long(query, d, reading)
        else d
        for d in documents
    )


def is_long(query: Query, document: Document, reading: ReadingSettings) -> bool:
    """Whether only some windows of a document are read; not if it is long by repetition only."""
    return (
        reading.windows > 0
        and not query.long_form
        and len(document.passage) > reading.whole_characters
        and says_more_than(document.text, reading.windows * reading.window_characters)
    )
