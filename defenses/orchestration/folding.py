"""Texts as a reader takes them: without what cannot be seen, one form of each letter.

Every character is folded by itself, so that a place in the folded text leads back to the text.
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
# Scripts that put no blanks between words: every character counts as a word.
_WITHOUT_BLANKS: Final = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)
_NOT_OF_WORDS: Final = regex.compile(r"[^\p{L}\p{N}]+")


@lru_cache(maxsize=65_536)
def as_letters(character: str) -> str:
    """The letters and digits of a character, small and without marks; a blank for what has none.

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
    """A character in its plain form, nothing for what is not seen.

    >>> [as_written(c) for c in "é＠１" + chr(0x200B)]
    ['é', '@', '1', '']
    """
    return str(_UNSEEN_ALONE.sub("", normalize("NFKC", character)))


def folded(text: str, fold: Callable[[str], str] = as_letters) -> str:
    """The text, character by character."""
    return text.translate({ord(character): fold(character) for character in set(text)})


def origins(text: str, fold: Callable[[str], str] = as_letters) -> list[int]:
    """For each character of the folded text the place in the text that it comes from."""
    return [place for place, character in enumerate(text) for _ in fold(character)]


@dataclass(frozen=True)
class Words:
    """A text as words without anything between them."""

    text: str

    @cached_property
    def listed(self) -> list[str]:
        """The words, in order."""
        return folded(self.text).split()

    @cached_property
    def letters(self) -> str:
        """All words in one."""
        return "".join(self.listed)

    @cached_property
    def ends(self) -> list[int]:
        """Where in `letters` each word ends."""
        return list(accumulate(map(len, self.listed)))

    @cached_property
    def places(self) -> list[int]:
        """For each of `letters` its place in the text."""
        line = folded(self.text)
        return [p for p, c in zip(origins(self.text), line, strict=True) if not c.isspace()]
