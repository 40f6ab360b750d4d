"""Compares answers as texts: normalisation, containment, and a key that groups equal answers."""

import re
import string
from unicodedata import normalize

_MARKS = re.escape(string.punctuation) + "\u2018\u2019\u201a\u201c\u201d\u201e"
_CURRENCY = "$\u00a2-\u00a5\u20a0-\u20cf"
_SIGN = rf"(?<![\w.)%\]-])-(?=[{_CURRENCY}]?\.?\d)"  # not a range, a date or "COVID-19"
_PUNCTUATION = re.compile(rf"(?!{_SIGN})[{_MARKS}]")
_HYPHEN = re.compile(r"(?<=\S)-")  # of which a mark was deleted that stood before it
_MINUS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2212\u02d7\u06d4\u2043\u2796\u2cba", "-"))
_DASH_SIGN = re.compile(rf"(?<![^\s({_CURRENCY}])[\u2013-\u2015](?=[{_CURRENCY}]?\.?\d)")
_CURRENCY_FIRST = re.compile(rf"([{_CURRENCY}])\s?-(?=\.?\d)")
_TOKEN = re.compile(
    rf"(?:{_SIGN})?[{_CURRENCY}]?(?:(?<!\w)\.(?=\d))?\w+(?:[.,:/]\d+)*(?:\s?[%\u2030\u00b0])?"
    r"|[<>\u2264\u2265+]|(?<=\b[a-z])-(?!\w)"
)


def with_plain_minus(text: str) -> str:
    """Apply NFKC, and write every minus and hyphen as "-".

    A dash counts as a minus if a number follows and none comes before it; "$-5" becomes "-$5".

    >>> with_plain_minus("\u22120.3 %"), with_plain_minus("\u20130.3 %"), with_plain_minus("$-5")
    ('-0.3 %', '-0.3 %', '-$5')
    """
    plain = _DASH_SIGN.sub("-", normalize("NFKC", text).translate(_MINUS))
    return _CURRENCY_FIRST.sub(r"-\1", plain)


def normalised(text: str) -> str:
    """Apply NFKC, fold case, delete punctuation and collapse white space, as ProGRank does.

    Unlike ProGRank, keep the minus of a number.

    >>> normalised("The  answer is “15%”."), normalised("-0.3 %")
    ('the answer is 15', '-03')
    """
    bare = _PUNCTUATION.sub("", with_plain_minus(text).casefold())
    return " ".join(_HYPHEN.sub("", bare).split())


def contains(text: str, answer: str, *, strict: bool = False) -> bool:
    """Whether the normalised `answer` occurs in the normalised `text`; `strict`: as whole words.

    An answer that normalisation leaves empty occurs nowhere. 5 does not occur in -5.
    """
    haystack, needle = normalised(text), normalised(answer)
    if strict:
        haystack, needle = f" {haystack} ", f" {needle} "
    negative = f"-{needle}"
    return bool(needle.strip()) and needle in haystack.replace(negative, "")


def spelling(text: str) -> str:
    """Return a key that is equal for spellings of one answer.

    It leaves out case, white space, quotes and marks between words, and keeps signs, bounds,
    currencies, units, decimal points and times.

    >>> spelling("Rome.") == spelling("“rome”"), spelling("-0.3 %") == spelling("0.3 %")
    (True, False)
    """
    tokens = _TOKEN.findall(with_plain_minus(text).casefold())
    return " ".join("".join(token.split()) for token in tokens)
