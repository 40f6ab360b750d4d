"""Folds texts: removes invisible characters and gives each letter one form.

It folds every character by itself, so that each place in the folded text has a place in the text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final
from unicodedata import normalize

import regex

from radarstream.schemas.shown import LATIN_LOOKS

_UNSEEN: Final = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{M}\u2800]")
_UNSEEN_ALONE: Final = regex.compile(r"[\p{Default_Ignorable_Code_Point}\u2800]")
# Scripts without blanks between words: every character is a word.
_WITHOUT_BLANKS: Final = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)
_NOT_OF_WORDS: Final = regex.compile(r"[^\p{L}\p{N}]+")


@lru_cache(maxsize=65_536)
def as_letters(character: str) -> str:
    """Return the letters and digits of a character, small and without marks, or a blank.

    >>> [as_letters(c) for c in "ÉﬁＡ—" + chr(0x200B)]
    ['e', 'fi', 'a', ' ', '']
    """
    if _UNSEEN.fullmatch(character):
        return ""
    bare = _UNSEEN.sub("", normalize("NFKD", character)).translate(LATIN_LOOKS).casefold()
    bare = _UNSEEN.sub("", normalize("NFKD", bare))
    letters: str = _NOT_OF_WORDS.sub(" ", bare)
    return f" {letters} " if _WITHOUT_BLANKS.search(letters) else letters


@lru_cache(maxsize=65_536)
def as_written(character: str) -> str:
    """Return the NFKC form of a character; "" if it is invisible.

    >>> [as_written(c) for c in "é＠１" + chr(0x200B)]
    ['é', '@', '1', '']
    """
    return str(_UNSEEN_ALONE.sub("", normalize("NFKC", character)))


def folded(text: str, fold: Callable[[str], str] = as_letters) -> str:
    """Fold a text character by character."""
    return text.translate({ord(character): fold(character) for character in set(text)})


def origins(text: str, fold: Callable[[str], str] = as_letters) -> list[int]:
    """Return the place in the text of each character of the folded text."""
    return [place for place, character in enumerate(text) for _ in fold(character)]


@dataclass(frozen=True)
class Words:
    """The folded words of a text."""

    text: str

    @cached_property
    def listed(self) -> list[str]:
        """The words, in order."""
        return folded(self.text).split()

    @cached_property
    def letters(self) -> str:
        """All words, without anything between them."""
        return "".join(self.listed)

    @cached_property
    def ends(self) -> list[int]:
        """The end of each word in `letters`."""
        return list(accumulate(map(len, self.listed)))

    @cached_property
    def places(self) -> list[int]:
        """The place in the text of each of `letters`."""
        line = folded(self.text)
        return [p for p, c in zip(origins(self.text), line, strict=True) if not c.isspace()]
