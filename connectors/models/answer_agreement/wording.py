"""An answer as words and values in one spelling each, so that two can be compared one by one.

Unlike `reading`, which looks for what an answer claims, this keeps every word: whatever is not
known to add nothing must be found in the other answer too.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from radarstream.connectors.models.answer_agreement import phrases
from radarstream.connectors.models.answer_agreement.number_phrases import numbers_in_one_spelling
from radarstream.connectors.models.answer_agreement.phrases import in_one_order
from radarstream.connectors.models.answer_agreement.quantities import (
    UNIT,
    read_roman,
    take_dates,
    take_quantities,
    take_times,
)
from radarstream.connectors.models.answer_agreement.question import Asked
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.synonyms import stem_of
from radarstream.connectors.models.answer_agreement.values import Match, Value, unit_named
from radarstream.connectors.models.answer_agreement.words import key_of, listed

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_PAIR = re.compile(
    rf"(?:\bbetween\s+(?={_NUMBER}[^.;]*\band\b)|\bfrom\s+(?={_NUMBER}))?"
    rf"(?<![\w.,:/$\u00a3\u20ac-])(?P<a>-?{_NUMBER})\s?(?P<au>%|\u00b0C?|{UNIT})?"
    rf"\s*(?:-|:|/|\bto\b|(?P<and>\band\b))\s*(?P<b>-?{_NUMBER})(?![:/\d]|-\d|[.,]\d)"
    rf"(?:\s?(?P<bu>%|\u00b0C?|{UNIT}))?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\s*(?:[ap]\.?m\b|o'clock|in the|at night|tonight|hours\b|uhr)", re.IGNORECASE)
_ONLY_CLOCK = re.compile(r"^\W*\d?\d:\d\d\W*$")
_NONE = re.compile(
    r"^(?:there (?:are|is|were|was) )?(?:none\b|nil$|not any$|no"
    r" (?=[a-z]))",
    re.IGNORECASE,
)
_SLASHED = re.compile(r"(?<![\d/.])(\d\d?)[/.](\d\d?)[/.]((?:19|20)\d\d)\b")
_METRES = re.compile(r"(?<=\d)\s?m\b")
_LENGTHS = frozenset(
    ("tall", "long", "high", "far", "deep", "wide", "height", "length", "distance")
)
_COUNTED = re.compile(r"(?<![\w.,:/-])(\d+|an?|one) ([a-z]+)\b", re.IGNORECASE)
_ONE = re.compile(r"an?|one", re.IGNORECASE)
_VERSION = re.compile(
    r"(?<![\w.,$\u00a3\u20ac-])\d+(?:\.\d+)+(?![\w%,]|\.\d|\s*(?:%|\u00b0|percent|per cent"
    r"|\w+illion"
    rf"|[ap]\.?m\b|{UNIT}))"
)
_TOKEN = re.compile(r"[^\W\d_]+-\d+\b|[^\W_]+(?:['.&*][^\W_]+)*[+*#]*|[<>\u2264\u2265/]")
_APPOSED = re.compile(
    r"^((?:[A-Z][\w.'-]*)(?: [A-Z][\w.'-]*)*), (?:the|an?|its|their) ([a-z][a-z -]*)$"
)
_SURNAME_FIRST = re.compile(r"^([A-Z][\w'-]+), ((?:[A-Z][a-z.][\w.'-]*)(?: [A-Z][\w.'-]*)*)$")
FREE = listed(
    "a an the of in at on to into onto upon by as for with and is are was were be been being am"
    " it its itself this that these those there here he she they his her their hers him them"
    " himself herself themselves we our us i my you your which who whom whose where what has have"
    " had having do does did done also currently current now presently today's officially actually"
    " called named known termed really indeed namely exactly precisely total altogether overall so"
    " then being during located situated based lies found happened s t answer correct respectively"
    " commit committed commits perform performed conducted approximately about around roughly circa"
    " estimated"
)
BOUNDS = frozenset("<>\u2264\u2265")


@dataclass(frozen=True, slots=True)
class Token:
    """One word: in lower case, as written, and whether it is written as a name."""

    word: str
    surface: str
    is_name: bool

    @property
    def key(self) -> str:
        """The form under which spellings of a name meet."""
        return key_of(self.word)

    @property
    def stem(self) -> str:
        """The form under which inflections meet."""
        return stem_of(self.word)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two numbers that belong together: a score, a range, a ratio, odds."""

    first: float
    second: float
    dimension: str

    def compare(self, other: "Pair") -> Match:
        """SAME or DIFFERENT; a unit that one leaves out is that of the other."""
        units = self.dimension == other.dimension or not (self.dimension and other.dimension)
        if units and (self.first, self.second) == (other.first, other.second):
            return Match.SAME
        return Match.DIFFERENT


@dataclass(frozen=True)
class Wording:
    """What an answer says, word by word. `negations` counts its "not", "no" and "never"."""

    text: str
    tokens: tuple[Token, ...]
    values: tuple[Value | Pair, ...]
    negations: int
    asides: int  # dates at the end of `values` that nobody asked for
    counted: frozenset[tuple[str, str]]  # the stem behind each number, with the number


@lru_cache(maxsize=65_536)
def word_by_word(reading: Reading) -> Wording:
    """The wording of an answer that was read before."""
    question = reading.question
    text = phrases.one_spelling(reading.marked)
    text = text.strip(" .!")
    if question.wants_person:
        text = _SURNAME_FIRST.sub(r"\2 \1", text)
    text = _APPOSED.sub(r"\2 \1", text)
    text = in_one_order(text)
    text = numbers_in_one_spelling(text)
    if question.asked is Asked.NUMBER:
        text = _NONE.sub("0 ", text)
    if question.said & _LENGTHS:
        text = _METRES.sub(" metres", text)
    text = _SLASHED.sub(_iso_date, text)
    kept: list[str] = []
    if question.asked is Asked.NUMBER and (roman := read_roman(text)):
        text = f"{roman:.0f}"
    clock = question.asked is Asked.DATE or bool(_ONLY_CLOCK.match(text))
    times, text = take_times(text, bare_times=clock)
    pairs, text = _take_pairs(text)
    if question.asked is Asked.OTHER:
        kept = _VERSION.findall(text)
        text = _VERSION.sub(" ", text)
    dates, text = take_dates(text, bare_years=question.asked is not Asked.NUMBER, bare_months=True)
    counted = {(stem_of(m[2].casefold()), _ONE.sub("1", m[1])) for m in _COUNTED.finditer(text)}
    quantities, text = take_quantities(text, of_a_fall=question.of_a_fall, unit=question.unit)
    tokens = [_token(m, text) for m in _TOKEN.finditer(text)]
    tokens += [Token(f"v{version}", version, False) for version in kept]
    values: list[Value | Pair] = [*times, *pairs, *quantities, *dates]
    return Wording(
        text=text,
        tokens=tuple(t for t in tokens if t.word not in FREE or t.surface == "A" != text[:1]),
        values=tuple(values),
        negations=sum(token.word in phrases.NEGATIONS for token in tokens),
        asides=0 if question.asked is Asked.DATE else len(dates),
        counted=frozenset(counted),
    )


def _token(match: re.Match[str], text: str) -> Token:
    surface = match.group().removesuffix("'s")
    first = not re.search(r"\w", text[: match.start()])
    lower_beside = bool(re.search(r"\b[a-z]{4,}", text))
    lower_beside = lower_beside and not re.match(r"\s[A-Z]", text[match.end() :])
    return Token(
        surface.casefold(), surface, surface[:1].isupper() and not (first and lower_beside)
    )


def _iso_date(match: re.Match[str]) -> str:
    """A date of which only one number can be the month; others stay as they are."""
    one, two = int(match[1]), int(match[2])
    if one == two <= 12 or 12 < one <= 31 and two <= 12:
        return f"{match[3]}-{two:02d}-{one:02d}"
    return f"{match[3]}-{one:02d}-{two:02d}" if one <= 12 < two <= 31 else match.group()


def _take_pairs(text: str) -> tuple[list[Pair], str]:
    found: list[Pair] = []

    def take(match: re.Match[str]) -> str:
        spanned = match.group().lower().startswith(("between", "from"))
        if (match["and"] and not spanned) or _CLOCK.match(text, match.end()):
            return match.group()
        units = [unit_named(match[name] or "") for name in ("au", "bu")]
        used = [u if u.dimension else units[1 - i] for i, u in enumerate(units)]
        numbers = [float(match[name].replace(",", "")) for name in ("a", "b")]
        if 1000 <= numbers[0] < 2100 and 10 <= numbers[1] < 100 and not used[0].dimension:
            numbers[1] += numbers[0] // 100 * 100  # 1914-18
        stated = [round(n * u.factor, 9) for n, u in zip(numbers, used, strict=True)]
        found.append(Pair(stated[0], stated[1], used[0].dimension))
        return " "

    return found, _PAIR.sub(take, text)


def same_value(one: Value | Pair, other: Value | Pair) -> bool:
    """Whether two values are one."""
    if type(one) is not type(other):
        return False
    return one.compare(other) is Match.SAME  # type: ignore[arg-type]
