"""Number words to digits: "two hundred and five" becomes "205", "third" becomes "3rd"."""

import re

_UNIT_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINAL_WORDS += (
    " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
CARDINAL = {word: i for i, word in enumerate(_UNIT_WORDS.split())} | {
    word: 10 * (i + 2) for i, word in enumerate(_TEN_WORDS.split())
}
_SCALE = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_ORDINAL = {word: i for i, word in enumerate(_ORDINAL_WORDS.split(), start=1)}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}

_CARDINAL_WORD = "|".join(sorted(CARDINAL, key=len, reverse=True))
NUMBER_WORD = f"(?:{_CARDINAL_WORD}|{'|'.join(_SCALE)}|dozen)"
_PHRASE = re.compile(
    rf"\b(?:{_CARDINAL_WORD})\b(?:(?:[\s-]+and[\s-]+|[\s-]+)(?:{_CARDINAL_WORD}|{'|'.join(_SCALE)})\b)*",
    re.IGNORECASE,
)
ORDINAL_WORD = "|".join(_ORDINAL)
_ORDINAL_WORD = re.compile(rf"\b(?:{ORDINAL_WORD})\b", re.IGNORECASE)
_POINT = re.compile(r"\b(\d+) point (\d(?: \d)*)\b", re.IGNORECASE)
_FRACTION = re.compile(
    r"\b(?P<count>a|an|one|two|three|four)[\s-]+(?P<part>half|third|quarter|fifth|tenth)s?\b",
    re.IGNORECASE,
)
_HALF = re.compile(r"\bhalf(?:\s+(?:a|an|of)\b)?", re.IGNORECASE)
_DOZEN = re.compile(r"\b(?:a|one)\s+dozen\b|\bdozen\b", re.IGNORECASE)
_EMPTY_ONE = re.compile(
    r"\b(?:no|the|this|that|which|any|every)[\s-]one\b|\bone\s+of\b", re.IGNORECASE
)
_UNIT_AFTER_ARTICLE = re.compile(
    r"\ban?\s+(hundred|thousand|million|billion|second|minute|hour|day|week|month|year|decade"
    r"|century)\b",
    re.IGNORECASE,
)


def spell_in_digits(text: str, *, wants_number: bool) -> str:
    """Write number words as digits.

    "one" is left alone where it counts nothing ("no one", "one of"), and fractions are written as
    decimals only when a number is asked for: "the third" and "a quarter" often name things.

    >>> spell_in_digits("two hundred and five", wants_number=False)
    '205'
    >>> spell_in_digits("two thirds", wants_number=True)
    '0.666667'
    """
    if wants_number:
        text = _FRACTION.sub(_fraction, text)
        text = _HALF.sub("0.5", text)
        text = _DOZEN.sub("12", text)
        text = _UNIT_AFTER_ARTICLE.sub(r"1 \1", text)
    kept = {
        match.start() + match.group().lower().index("one") for match in _EMPTY_ONE.finditer(text)
    }
    text = _PHRASE.sub(lambda m: m.group() if m.start() in kept else _cardinal(m.group()), text)
    text = _POINT.sub(lambda m: f"{m[1]}.{m[2].replace(' ', '')}", text)
    return _ORDINAL_WORD.sub(_ordinal, text)


_ROMAN = re.compile(r"(?=[MDCLXVI])M*(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})")
_ROMAN_DIGIT = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}


def read_roman(text: str) -> float | None:
    """Value of a text that is one Roman numeral in capitals, else None.

    >>> read_roman("XIV"), read_roman("IIII"), read_roman("mix")
    (14.0, None, None)
    """
    if not _ROMAN.fullmatch(text):
        return None
    digits = [_ROMAN_DIGIT[letter] for letter in text]
    return float(sum(-d if d < max(digits[i:]) else d for i, d in enumerate(digits)))


def _fraction(match: re.Match[str]) -> str:
    count = {"a": 1, "an": 1}.get(match["count"].lower()) or CARDINAL[match["count"].lower()]
    return f"{count / _PARTS[match['part'].lower()]:.6g}"


def _ordinal(match: re.Match[str]) -> str:
    number = _ORDINAL[match.group().lower()]
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _cardinal(phrase: str) -> str:
    """Digits of one phrase; separate numbers that merely follow each other stay separate."""
    numbers: list[int] = []
    total = current = 0
    last = 0
    for word in re.split(r"[\s-]+", phrase.lower()):
        if word == "and":
            continue
        if word in _SCALE:
            scale = _SCALE[word]
            current = max(current, 1) * scale
            if scale > 100:
                total, current = total + current, 0
            last = scale
            continue
        value = CARDINAL[word]
        if last and last < 100 and not (last >= 20 and last % 10 == 0 and 0 < value < 10):
            numbers.append(total + current)
            total = current = 0
        current += value
        last = value
    return " ".join(str(number) for number in [*numbers, total + current])
