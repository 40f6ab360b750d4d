"""Words of an answer: normal form, stems, spelling variants, titles and short given names."""

import re
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, combining, normalize

from radarstream.schemas.answer_text import with_plain_minus

_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": " - ", "\u2014": " - "}
    | {"\u2260": " not "}
)
_POWER = re.compile(r"(?<=\d)[\u207a\u207b]?[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+")
_WORD = re.compile(r"[^\W_]+(?:['.:*-]+[^\W_]+)*\*?", re.UNICODE)
_DOTTED = re.compile(r"\b(?:[A-Za-z]\.){2,}")
_DOUBLED = re.compile(r"(.)\1+")
_Y_ENDING = re.compile(r"(?:yy|iy|yi|ij|y)$")
_DIGITS_INSIDE = re.compile(r"\d[:.-]\d")


def listed(words: str) -> frozenset[str]:
    """The words of a list with spaces between them."""
    return frozenset(words.split())


# Words that carry no claim of their own. "no" and "not" are read before this list applies.
STOPWORDS = listed(
    "a an the of in on at to for from by with as into and or but is are was were be been being am"
    " it its this that these those they them he she his her their there here i we you who whom"
    " which what when where why how whose do does did done has have had will would can could may"
    " might should shall also just only so than then very about approximately around roughly"
    " nearly almost over under above below exactly least most more less some any each all both"
    " answer answers correct called named known according based context passage document text"
    " question stated mentioned said says yes if per via during since after before between your my"
    " our me him us one's s t re ve ll d not no never"
)
TITLES = listed(
    "president presidents vice prime minister chancellor senator sen representative rep congressman"
    " congresswoman governor gov mayor secretary ambassador judge justice chief majority minority"
    " leader whip speaker mr mrs ms miss mx dr doctor prof professor sir dame lord lady king queen"
    " prince princess emperor pope saint st father sister brother reverend rev general gen colonel"
    " captain capt lieutenant sergeant admiral ceo chairman chair former ex current incumbent"
    " republican democrat democratic actor actress singer author writer director rapper golfer"
    " archbishop bishop cardinal marshal entrepreneur billionaire footballer"
)
# Titles that say nothing of who holds them: anybody may also have another.
HONORIFICS = listed(
    "mr mrs ms miss mx dr doctor prof professor sir dame lord lady former ex current incumbent"
    " republican democrat democratic st"
)
_SHORT_NAMES = (
    "joseph joe joey|william bill billy will|robert bob bobby rob|james jim jimmy|john jon jack"
    "|richard dick rick|michael mike|thomas tom tommy|edward ed eddie ted|charles charlie chuck"
    "|elizabeth liz beth|katherine catherine kate kathy|margaret maggie peggy|daniel dan danny"
    "|samuel sam|benjamin ben|alexander alex|anthony tony|christopher chris|donald don|andrew andy"
    "|matthew matt|nicholas nick|patrick pat|stephen steve steven|kenneth ken|ronald ron|david dave"
    "|gregory greg|lawrence larry|timothy tim|vladimir volodymyr|jeffrey jeff|susan sue"
)
_FORMAL_NAME = {
    short: group.split()[0] for group in _SHORT_NAMES.split("|") for short in group.split()[1:]
}
# Letters of other alphabets that look like a Latin one.
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03bf",
    "aeopcyxijsABEKMHOPCTXIABEHIKMNOPTXo",
)
_RUN = re.compile(r"\w+")
_LATIN, _GREEK_OR_CYRILLIC = re.compile(r"[a-zA-Z]"), re.compile(r"[\u0370-\u04ff]")


@dataclass(frozen=True, slots=True)
class Word:
    """One content word. `key` is what two answers are compared by; `at` its offset in the text."""

    key: str
    surface: str
    at: int

    @property
    def is_name(self) -> bool:
        """Written with a capital."""
        return self.surface[:1].isupper()

    @property
    def is_title(self) -> bool:
        """An office or form of address, which names nobody by itself."""
        return self.surface.casefold().rstrip(".") in TITLES


def plain_text(text: str) -> str:
    """NFKC, straight quotes, no accents or invisible characters, single spaces, Latin letters
    for those that look like them in a word of both alphabets; case is kept.

    >>> plain_text("  \u201cBeyonc\u00e9\u201d\u200b  ")
    '"Beyonce"'
    """
    powers = _POWER.sub(r"^\g<0>", text)  # before they become digits of the number
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
    words = []
    for match in _WORD.finditer(joined):
        surface = match.group()
        parts = [surface] if _DIGITS_INSIDE.search(surface) else re.split(r"[.:-]+", surface)
        at = match.start()
        for part in parts:
            lowered = part.casefold()
            if part and (keep_stopwords or lowered not in STOPWORDS or _is_initial(part)):
                words.append(Word(key_of(lowered), part, at))
            at += len(part) + 1
    return words


@lru_cache(maxsize=65_536)
def key_of(lowered: str) -> str:
    """The form under which spellings of one word meet: stem, formal given name, one of each letter.

    Only regular variants are joined (colour/color, Zelenskyy/Zelensky): a general edit distance
    would join Austria to Australia.

    >>> key_of("zelenskyy") == key_of("zelensky"), key_of("austria") == key_of("australia")
    (True, False)
    """
    stem = lowered.removesuffix("'s").removesuffix("'").replace("'", "")
    stem = _FORMAL_NAME.get(stem, stem)
    if len(stem) > 3 and stem.isalpha():
        stem = _strip_ending(stem)
    if len(stem) > 4 and stem.isalpha():
        stem = _Y_ENDING.sub("i", stem.replace("ou", "o").replace("ph", "f"))
        stem = _DOUBLED.sub(r"\1", stem)
    return stem


_TRANSCRIBED = (
    (re.compile(r"tsch|tch"), "ch"),
    (re.compile(r"sch"), "sh"),
    (re.compile(r"kh"), "h"),
    (re.compile(r"ck"), "k"),
    (re.compile(r"^q"), "g"),
    (re.compile(r"w"), "v"),
    (re.compile(r"[yj](?=e)"), ""),
    (re.compile(r"[yj]"), "i"),
    (re.compile(r"(.)\1+"), r"\1"),
)
_LEAST_TRANSCRIBED = 6  # letters


@lru_cache(maxsize=65_536)
def transcribed(lowered: str) -> str:
    """A name of six letters or more in one spelling of those that other alphabets are written in.

    >>> transcribed("tchaikovsky") == transcribed("tschaikowsky")
    True
    """
    if len(lowered) < _LEAST_TRANSCRIBED or not lowered.isalpha():
        return lowered
    for pattern, spelt in _TRANSCRIBED:
        lowered = pattern.sub(spelt, lowered)
    return lowered


def _strip_ending(stem: str) -> str:
    if stem.endswith("ies") and len(stem) > 4:
        return stem[:-3] + "y"
    if stem.endswith(("ches", "shes", "xes", "sses", "zes")):
        return stem[:-2]
    if stem.endswith("s") and not stem.endswith(("ss", "us", "is")):
        return stem[:-1]
    return stem


def _is_initial(part: str) -> bool:
    return len(part) == 1 and part.isupper() and part not in {"A", "I"}
