"""Words of an answer: normal form, stems, spelling variants, titles and short given names."""

import re
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, combining, normalize

from radarstream.connectors.models.answer_agreement.tables import first_of, rewriting, words
from radarstream.schemas.answer_text import with_plain_minus

_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": " - ", "\u2014": " - "}
    | {"\u2260": " not ", "\u2044": "/"}
)
_VULGAR = re.compile(r"(?<=\d)[\u00bc-\u00be\u2150-\u215e]")
_POWER = re.compile(r"(?<=\d)[\u207a\u207b]?[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+")
_WORD = re.compile(r"[^\W_]+(?:['.:*-]+[^\W_]+)*\*?", re.UNICODE)
_DOTTED = re.compile(r"\b(?:[A-Za-z]\.){2,}")
_MARK = re.compile(r"[.:-]+")
_BRITISH = re.compile(r"(?<=[a-z]{3})is(?=(?:e|ed|es|er|ers|ing|ation|ations)$)")
_DOUBLED = re.compile(r"([^aeiou])\1+")
_Y_ENDING = re.compile(r"(?:yy|iy|yi|ij|y)$")
_PLURAL = re.compile(r"(?<=..)(ies)$|(ch|sh|x|ss|z)es$|(?<![sui])s$")
_INITIALS = frozenset("BCDEFGHJKLMNOPQRSTUVWXYZ")
_DIGITS_INSIDE = re.compile(r"\d[:.-]\d")


STOPWORDS = words("stopwords")  # "no" and "not" are read before they are dropped
TITLES = words("titles")
HONORIFICS = words("honorifics")  # titles that say nothing of who holds them
_FORMAL_NAME = first_of("given_names")
GIVEN = frozenset(_FORMAL_NAME.keys()) | frozenset(_FORMAL_NAME.values())  # common given names
# Letters of other alphabets that look like a Latin one.
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03bf",
    "aeopcyxijsABEKMHOPCTXIABEHIKMNOPTXo",
)
_RUN = re.compile(r"\w+")
_LATIN, _GREEK_OR_CYRILLIC = re.compile(r"[a-zA-Z]"), re.compile(r"[\u0370-\u04ff]")


@dataclass(frozen=True, slots=True)
class Word:
    """One word: in lower case, as written, and whether it is written as a name."""

    word: str
    surface: str
    is_name: bool

    @property
    def key(self) -> str:
        """The form by which two answers are compared: under it spellings of a name meet."""
        return key_of(self.word)

    @property
    def is_title(self) -> bool:
        """An office or form of address, which names nobody by itself."""
        return self.word.rstrip(".") in TITLES


def plain_text(text: str) -> str:
    """NFKC, straight quotes, no accents or invisible characters, single spaces, Latin letters
    for those that look like them in a word of both alphabets; case is kept.

    >>> plain_text("  \u201cBeyonc\u00e9\u201d\u200b  ")
    '"Beyonce"'
    """
    text = _VULGAR.sub(r" \g<0>", text)  # before they become digits of the number
    powers = _POWER.sub(r"^\g<0>", text)
    spread = normalize("NFKD", with_plain_minus(powers).translate(_QUOTES))
    visible = "".join(
        " " if category(char) in {"Cc", "Zs", "Zl", "Zp"} else char
        for char in spread
        if not combining(char) and category(char) not in {"Cf", "Cs", "Co"}
    )
    return " ".join(_RUN.sub(_in_one_alphabet, visible).split())


def _in_one_alphabet(word: re.Match[str]) -> str:
    """The word, in Latin letters if it mixes them with letters that look like them."""
    text = word.group()
    mixed = _LATIN.search(text) and _GREEK_OR_CYRILLIC.search(text)
    return text.translate(_LOOK_ALIKE) if mixed else text


def read_words(plain: str, *, keep_stopwords: bool = False) -> list[Word]:
    """Content words of a plain text, in order."""
    joined = _DOTTED.sub(lambda match: match.group().replace(".", ""), plain)
    content = []
    for surface in _WORD.findall(joined):
        for part in [surface] if _DIGITS_INSIDE.search(surface) else _MARK.split(surface):
            lowered = part.casefold()
            if part and (keep_stopwords or lowered not in STOPWORDS or part in _INITIALS):
                content.append(Word(lowered, part, part[:1].isupper()))
    return content


@lru_cache(maxsize=65_536)
def key_of(lowered: str) -> str:
    """The form under which spellings of one word meet: stem, formal given name, one of each letter.

    Only regular variants are joined (colour/color, Zelenskyy/Zelensky): a general edit distance
    would join Austria to Australia.

    >>> key_of("zelenskyy") == key_of("zelensky"), key_of("austria") == key_of("australia")
    (True, False)
    """
    lowered = _BRITISH.sub("iz", lowered)
    stem = lowered.removesuffix("'s").removesuffix("'").replace("'", "")
    stem = _FORMAL_NAME.get(stem, stem)
    if len(stem) > 3 and stem.isalpha():
        stem = _PLURAL.sub(lambda m: "y" if m[1] else m[2] or "", stem)
    if len(stem) > 4 and stem.isalpha():
        stem = _Y_ENDING.sub("i", stem.replace("ou", "o").replace("ph", "f"))
        stem = _DOUBLED.sub(r"\1", stem)
    return stem


_transcribe = rewriting("transcriptions", {})
_LEAST_TRANSCRIBED = 6  # letters


@lru_cache(maxsize=65_536)
def transcribed(lowered: str) -> str:
    """A name of six letters or more in one spelling of those that other alphabets are written in.

    >>> transcribed("tchaikovsky") == transcribed("tschaikowsky")
    True
    """
    spelt_out = len(lowered) >= _LEAST_TRANSCRIBED and lowered.isalpha()
    return _transcribe(lowered) if spelt_out else lowered
