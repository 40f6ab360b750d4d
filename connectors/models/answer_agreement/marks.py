"""What turns a value into another, in one spelling each: bounds, eras, signs, rates in words.

Small words and punctuation carry these marks, so they are read before anything else of an answer is
dropped as mere wording.
"""

import re
from collections.abc import Callable

from radarstream.connectors.models.answer_agreement.quantities import (
    MONTH,
    NUMBER_WORD,
    ORDINAL_WORD,
)

_CURRENCY = "$\u00a2-\u00a5\u20a0-\u20cf"
_DIGITS = r"(?<![\d.,])\.?\d[\d.,]*+"  # from its first digit only, or long numbers take long
_AMOUNT = rf"[-+]?(?:(?-i:[A-Z]{{1,3}})\s?)?[{_CURRENCY}]?\s?{_DIGITS}"
_NUMBER = rf"(?:{_AMOUNT}|\b(?:{NUMBER_WORD}|half|a third|two thirds|a quarter)\b)"
_COUNT = rf"(?P<number>{_NUMBER}(?:\s?%|\s+\w+)?)"
_CLOCK = r"\d{1,2}(?::\d\d|(?::\d\d)?\s?[ap]\.?m\b|\s+o'clock)|noon\b|midnight\b"
_MOMENT = rf"(?:the\s+)?(?:\d{{4}}\b|{_CLOCK}|(?:\d{{1,2}}(?:st|nd|rd|th)?\s+)?{MONTH})"
_PERIOD = r"[\s-]+(?:century|centuries|millennium)"
_DATED = rf"(?:(?<![\d,])\d[\d,]*+(?:st|nd|rd|th)?(?:{_PERIOD})?|\b(?:{ORDINAL_WORD}){_PERIOD})"
_BC = r"(?:B\.\s?C\b\.?(?:\s?E\b\.?)?|BCE?\b|before (?:Christ|(?:the )?common era)\b)"
_AD = r"(?:A\.\s?D\b\.?|C\.\s?E\b\.?|AD\b|CE\b)"
_LOOKS_LIKE_MONEY_OR_SHARE = rf"(?=[{_CURRENCY}]|\d[\d,]*(?:\.\d|\s?%|\s*\)\s?%))"
_PLAIN = r"\d++(?:[.,]\d++)*+"
_TIME_UNIT = r"(?:second|minute|hour|day|week|fortnight|month|year|decade|century)\b"
_BEFORE_NUMBER = rf"(?=\s+(?:(?:an?\s+)?{_NUMBER}|an?\s+{_TIME_UNIT}))"
_BELOW = rf"\s+(?:below|under){_BEFORE_NUMBER}"
_ABOVE = rf"\s+(?:above|over){_BEFORE_NUMBER}"
_BEFORE_MOMENT = rf"(?=\s+{_MOMENT})"

_SIGNS = (
    (r"(?<![\d.,])(\d{1,3}),(\d\d?)(?![\d,]|\.\d)", r"\1.\2"),  # a decimal comma
    (rf"\b(?<!or )(?:minus|negative|neg\.)\s+(?={_NUMBER})", "-"),
    (rf"(?<!\w)({_DIGITS}\s?%)-(?![\w-])", r"-\1"),
    (
        rf"[-+]?(?P<number>{_NUMBER}(?:\s?\u00b0[CF]?|\s+\w+){{0,2}}?)"
        r"\s+below\s+(?:zero|0|sea level)\b",
        r"-\g<number>",
    ),
    (r"\s+above\s+(?:zero|0|sea level)\b", ""),
    (rf"^-\s+{_LOOKS_LIKE_MONEY_OR_SHARE}", "-"),
    # "(0.3)%" and "($5 million)", as accountants write a loss
    (rf"^([{_CURRENCY}]?)\(\s*{_LOOKS_LIKE_MONEY_OR_SHARE}([^()]{{1,20}})\)", r"-\1\2"),
    (rf"([{_CURRENCY}])\(\s*(?=\.?\d)([^()]{{1,20}})\)", r"-\1\2"),
    # behind one or two letters: blood types, marks, ions
    (r"\b(?-i:([A-Z][A-Za-z]?))\+(?![\w+])", r"\1 positive"),
    (r"\b(?-i:([A-Z][A-Za-z]?))-(?![\w-])", r"\1 negative"),
)
_ERAS = (  # years before Christ are negative
    (rf"(?<![\w.,:/-])({_PLAIN})-({_PLAIN})(?![\d:/-])", r"\1 - \2"),  # a range or a score
    (rf"\b(\d++)(?:\s?-\s?|\s+(?:to|and|or)\s+)({_DATED})\s*{_BC}", r"-\1 to -\2"),
    (rf"(?<![\w-])({_DATED})\s*{_BC}", r"-\1"),
    (rf"\b{_BC}\s*(?=\d)", "-"),
    (rf"(?<!\w)({_DATED})\s*{_AD}", r"\1"),
    (rf"\b{_AD}\s*(?=\d)", ""),
)
_AT_LEAST, _AT_MOST = "\u2265 \\g<number>", "\u2264 \\g<number>"
_BOUNDS = (
    (r">=|=>|[\u2267\u2a7e]", "\u2265"),
    (r"<=|=<|[\u2266\u2a7d]", "\u2264"),
    (rf"{_COUNT},?\s+at (?:the )?(?:very )?least(?=\W*$|[,;.)])", _AT_LEAST),
    (rf"{_COUNT},?\s+at (?:the )?(?:very )?most(?=\W*$|[,;.)])", _AT_MOST),
    (r"\bat least\b|\b(?:no|not) (?:less|fewer|lower|smaller|earlier|sooner) than\b", "\u2265"),
    (r"\bat most\b|\b(?:no|not) (?:more|greater|higher|larger|later) than\b", "\u2264"),
    (rf"\b(?:not (?:under|below)|(?:a )?(?:minimum|min\b\.?)(?: of)?){_BEFORE_NUMBER}", "\u2265"),
    (
        rf"\b(?:not (?:over|above|exceeding)|up to|(?:a )?(?:maximum|max\b\.?)(?: of)?)"
        rf"{_BEFORE_NUMBER}",
        "\u2264",
    ),
    (r"\b(?:more|greater|higher|larger|bigger|longer|older) than\b|\bin excess of\b", ">"),
    (r"\b(?:less|fewer|lower|smaller|shorter|younger) than\b", "<"),
    # to where something moved is a level, not by how much
    (rf"\b(?:f[ae]ll(?:en|s)?|dropp?(?:ed|s)?|dipp?(?:ed|s)?|sank|slipped){_BELOW}", "<"),
    (rf"\b(?:r[io]se[ns]?|climb(?:ed|s)?|jump(?:ed|s)?|gr[eo]wn?){_ABOVE}", ">"),
    (rf"\b(?:over|above|exceeding|upwards of){_BEFORE_NUMBER}", ">"),
    (rf"\b(?:under|below){_BEFORE_NUMBER}", "<"),
    (rf"\b(?:after|later than){_BEFORE_MOMENT}", ">"),
    (rf"\b(?:before|prior to|earlier than){_BEFORE_MOMENT}", "<"),
    (rf"{_COUNT},?\s+(?:or|and)\s+(?:more|greater|higher|above|over|older|longer|up)\b", _AT_LEAST),
    (rf"{_COUNT},?\s+(?:or|and)\s+(?:less|fewer|lower|below|under|younger|shorter)\b", _AT_MOST),
    (r"(?<![\w.])(?P<number>\d[\d.,]*+)\+(?![\w+])", _AT_LEAST),
)
_UNITS = (  # what a name or letter stands for behind a number
    (r"(?<=\d)\s?\u00b0\s?(?-i:N)\b", "\u00b0 north"),
    (r"(?<=\d)\s?\u00b0\s?(?-i:S)\b", "\u00b0 south"),
    (r"(?<=\d)\s?\u00b0\s?(?-i:E)\b", "\u00b0 east"),
    (r"(?<=\d)\s?\u00b0\s?(?-i:W)\b", "\u00b0 west"),
    (r"(?<=\d)\s+(?-i:G)(?![\w.])", " g"),
    (r"(?<=\d)\s+s(?![\w.'])", " seconds"),
    (r"(?<=\d)\s?in\.?$", " inches"),
    (r"(?<=\d)\s*I\.\s?U\.", " IU"),
)
_DECADES = ("twe", "thi", "for", "fif", "six", "sev", "eig", "nin")
_NAMES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"\b(north|south)-(?=east|west)", r"\1"),
    (r"\b(?-i:Q)([1-4])\b", r"quarter\1"),
    (r"\b(?:the )?(?:first|1st) quarter(?: of)?\b", "quarter1"),
    (r"\b(?:the )?(?:second|2nd) quarter(?: of)?\b", "quarter2"),
    (r"\b(?:the )?(?:third|3rd) quarter(?: of)?\b", "quarter3"),
    (r"\b(?:the )?(?:fourth|4th|last) quarter(?: of)?\b", "quarter4"),
    (r"\b(?:the )?first world war\b", "World War I"),
    (r"\b(?:the )?second world war\b", "World War II"),
    (r"\bH([12])\b(?=\s*(?:of\s*)?(?:19|20)\d\d)", r"half\1"),
    (r"\b(?:the )?(?:first|1st) half(?: of)?(?=\s*(?:19|20)\d\d)", "half1"),
    (r"\b(?:the )?(?:second|2nd) half(?: of)?(?=\s*(?:19|20)\d\d)", "half2"),
    (r"\bfall(?= (?:of )?(?:19|20)\d\d)", "autumn"),
    (r"\b(?:at |in |around )?the (?:very )?(?:beginning|start) of(?: the)?\b", "early"),
    (r"\b(?:at |in |towards? )?the (?:very )?end of(?: the)?\b", "late"),
    (r"\b(?:in |around )?the middle of(?: the)?\b", "mid"),
    (r"\bmid-", "mid "),
    (r"\bversion\s(?=\d)|\bv\.?\s?(?=\d+\.\d)", ""),
    (r"\b(?:except for|apart from|other than|excluding|with the exception of)\b", "except"),
    (
        r"\b(all|every\w*|any\w*|the whole|the entire)((?: \w+){0,3}?),? but(?: not|"
        r" no)?\b",
        r"\1\2 except",
    ),
    (r"\bclose to\b", "near"),
    (r"\b(?:found )?not guilty\b", "acquitted"),
    (r"\bcosts? nothing\b", "is free"),
    (r"\b(?:the )?(1[0-9]|20)00'?s\b", lambda m: f"the {int(m[1]) + 1}th century"),
    (
        r"\bthe (twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b(?! of)",
        lambda m: f"the 19{_DECADES.index(m[1].lower()[:3]) + 2}0s",
    ),
    (r"\beither\s+(?=.* or )", ""),
    (r"\btwo times\b", "twice"),
)
_RATE = rf"({_NUMBER}(?:\s?[^\s\d]+)?)\s+an?\s+(?=(?:second|minute|hour|day|week|month|year)\b)"
_RULES = tuple(
    (re.compile(pattern, re.IGNORECASE), spelt)
    for pattern, spelt in (*_SIGNS, *_ERAS, *_BOUNDS, *_UNITS, *_NAMES, (_RATE, r"\1 per "))
)


def spell_marks(text: str) -> str:
    """A plain text with each mark in one spelling: one of < ≤ ≥ > for a bound, "-" for a sign,
    "per" for "an hour".

    >>> spell_marks("no more than 5"), spell_marks("5 or more"), spell_marks("44 BC")
    ('≤ 5', '≥ 5', '-44')
    """
    for pattern, spelt in _RULES:
        text = pattern.sub(spelt, text)
    return text
