"""A question and an answer to it as they are compared: values, words, lists, denials, yes or no."""

import re
from dataclasses import dataclass
from functools import cached_property

from radarstream.connectors.models.answer_agreement.marks import spell_marks
from radarstream.connectors.models.answer_agreement.number_phrases import numbers_in_one_spelling
from radarstream.connectors.models.answer_agreement.phrases import in_one_order
from radarstream.connectors.models.answer_agreement.quantities import (
    read_roman,
    take_dates,
    take_quantities,
    take_times,
)
from radarstream.connectors.models.answer_agreement.question import (
    CLAUSE,
    DENIED_CLAUSE,
    DENIED_REST,
    LEADING,
    Asked,
    Question,
    is_doubted,
    read_polarity,
)
from radarstream.connectors.models.answer_agreement.values import PartialDate, Quantity, Value
from radarstream.connectors.models.answer_agreement.words import Word, plain_text, read_words

MOST_CHARACTERS = 300  # that are read: comparing takes the square of it, and answers are untrusted
SENTENCE_WORDS = 6  # from here on, lower-case words are taken for the sentence round the answer

_ABSTENTION = re.compile(
    r"\bi (?:don'?t|do not|cannot|can'?t) (?:know|tell|say|answer|determine)\b|\bno information\b"
    r"|\b(?:cannot|can'?t|could not) be (?:determined|answered)\b|\bnot enough information\b"
    r"|\b(?:not|isn't|never) (?:explicitly )?(?:mentioned|stated|specified|provided|given|known)\b"
    r"|^\W*(?:unknown|unclear|n/?a|none given|no answer|not sure|unanswerable)\W*$"
    r"|\bdoes(?:n't| not) (?:mention|say|state|specify|provide|contain|answer)\b",
    re.IGNORECASE,
)
_NO_SOURCE = "false|fake|rumou?r|hoax|myth|satir|gossip|unconfirmed|disputed"
_WRAPPER = re.compile(
    r"^\W*(?:(?:so|thus|therefore|well|indeed)\b,?\s*"
    rf"|(?:according to|based on) (?!(?:\w+ ){{0,3}}(?:{_NO_SOURCE}))[^,]{{1,80}},\s*"
    r"|(?:the )?(?:\w+ )?answer(?: to [^:]{1,120}?)?(?: is\b|:)\s*"
    r"|(?:it|that|this|they|there) (?:is|was|are|were|has been|will be)\b\s*|it's\s)+",
    re.IGNORECASE,
)
_SOURCE_BEHIND = re.compile(
    rf",?\s+(?:in (?:total|all)\b,?\s*"
    rf"|according to (?!(?:\w+ ){{0,3}}(?:{_NO_SOURCE}))[^,;]{{1,80}})+\W*$",
    re.IGNORECASE,
)
_ALL_DENIED = re.compile(r"^\W*not\s+(?!only\b)((?:(?!\bbut\b)[^;])*)$", re.IGNORECASE)
_JOINED = re.compile(r"\s+and\s+|\s*&\s*|;\s*|,\s*(?:and\s+)?", re.IGNORECASE)
_CONJUNCTION = re.compile(r"\s+and\s+|&|;", re.IGNORECASE)
_LEAST_REPEATED = 3  # words
_TOKEN = re.compile(r"[\w'.-]*\w")
_GOES_ON = re.compile(r"[^\w\s]*\s+(?:[-:]\s+)?(?!(?:and|or|nor)\b)", re.IGNORECASE)
_NAME_SUFFIXES = frozenset({"jr", "sr", "ii", "iii"})
_ALTERNATIVE = re.compile(r"\bor\b(?! so\b)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Reading:
    """An answer to one question, parsed once and compared many times; equal only to itself.

    `marked` is the whole text with its marks spelt alike (see `marks`), `affirmed` the part that
    is no denial, `rest` that part without values; `words` are the content words it affirms,
    `denied` the keys of those it denies; `values` its numbers, dates and times; `says_yes` its
    polarity where it has one; `items` the members of a list; `is_open` tells that it leaves open
    what holds: "Ann or Bob", "yes and no", "Lima?".
    """

    plain: str
    marked: str
    affirmed: str
    rest: str
    abstained: bool
    says_yes: bool | None
    words: tuple[Word, ...]
    denied: frozenset[str]
    values: tuple[Value, ...]
    items: tuple[frozenset[str], ...]
    is_list: bool
    is_open: bool
    is_sentence: bool
    question: Question

    @cached_property
    def telling(self) -> frozenset[str]:
        """Keys of the words that are neither titles nor repeated from the question."""
        asked = self.question.words
        return frozenset(w.key for w in self.words if w.key not in asked and not w.is_title)

    @cached_property
    def untitled(self) -> frozenset[str]:
        """Keys without titles; with them when there is nothing else."""
        return frozenset(w.key for w in self.words if not w.is_title) or self.all_keys

    @cached_property
    def all_keys(self) -> frozenset[str]:
        """Keys of all content words."""
        return frozenset(w.key for w in self.words)

    @cached_property
    def name_sequence(self) -> tuple[str, ...]:
        """Untitled keys in order: the last is a person's family name."""
        named = [w for w in self.words if not w.is_title and len(w.key) > 1]
        telling = [
            w for w in named if w.key in self.telling and (w.is_name or not self.is_sentence)
        ]
        return tuple(w.key for w in telling or named if w.key not in _NAME_SUFFIXES)

    @cached_property
    def in_order(self) -> str:
        """The whole text with who does it first."""
        return in_one_order(self.marked)

    @property
    def acronym(self) -> str | None:
        """The answer as an acronym ("NATO"), if it is one."""
        if len(self.words) != 1:
            return None
        surface = self.words[0].surface
        return surface.casefold() if 2 <= len(surface) <= 6 and surface.isupper() else None

    @property
    def is_too_long(self) -> bool:
        """Whether only its text is compared, as a whole: none of it was read."""
        return len(self.plain) > MOST_CHARACTERS

    @property
    def is_value_only(self) -> bool:
        """Whether its numbers and dates are all it says."""
        return bool(self.values) and not self.telling


def read_answer(text: str, question: Question) -> Reading:
    """Parse one answer to `question`. Never raises: any text is an answer of some kind."""
    plain = plain_text(text)
    said = _behind_the_question(plain, question) if len(plain) <= MOST_CHARACTERS else ""
    body = marked = spell_marks(_SOURCE_BEHIND.sub("", _WRAPPER.sub("", said)) or said)
    says_yes, is_open = read_polarity(body, question)
    body = LEADING.sub("", body)
    affirmed, denied = (body, "") if question.is_negative else _split_denials(body)
    values, rest = take_values(affirmed, question)
    words = read_words(rest)
    if not words and not values and not denied:
        words = read_words(rest, keep_stopwords=True)  # "The Who", "S"
    denied_values, denied_rest = take_values(denied, question)
    is_list = bool(_CONJUNCTION.search(rest)) or rest.count(",") > 1
    items = [frozenset(w.key for w in read_words(part)) for part in _JOINED.split(rest)]
    return Reading(
        plain=plain,
        marked=marked,
        affirmed=affirmed,
        rest=rest,
        abstained=not re.search(r"\w", plain) or bool(_ABSTENTION.search(said)),
        says_yes=says_yes,
        words=tuple(words),
        denied=frozenset(w.key for w in read_words(denied_rest))
        | frozenset(repr(value) for value in denied_values),
        values=tuple(values),
        items=tuple(item for item in items if item),
        is_list=is_list,
        is_open=is_open
        or is_doubted(said)
        or (not question.is_choice and bool(_ALTERNATIVE.search(rest))),
        is_sentence=len((said or plain).split()) >= SENTENCE_WORDS,
        question=question,
    )


def _behind_the_question(plain: str, question: Question) -> str:
    """What an answer says behind the last words of the question, three or more; all it says if none
    are in front: "Prime Minister of Peru Ann Lee", to "Who is the Prime Minister of Peru?".
    """
    if question.is_choice:
        return plain
    asked = [word[0].casefold() for word in _TOKEN.finditer(question.text)]
    told = [(word[0].casefold(), word.end()) for word in _TOKEN.finditer(plain)]
    for words in (told, told[1:] if told[:1] == [("the", 3)] else []):
        for count in range(min(len(asked), len(words) - 1), _LEAST_REPEATED - 1, -1):
            if [word for word, _ in words[:count]] == asked[-count:]:
                rest = plain[words[count - 1][1] :]
                behind = _GOES_ON.match(rest)
                return rest[behind.end() :] if behind else plain
    return plain


def _split_denials(body: str) -> tuple[str, str]:
    """What a text affirms and what it denies, clause by clause."""
    if not re.search(r"not|n't|never|no longer|neither|there (?:is|are|was|were) no", body, re.I):
        return body, ""
    if whole := _ALL_DENIED.match(body):
        return "", whole[1]
    affirmed, denied = [], []
    for clause in CLAUSE.split(body):
        if DENIED_CLAUSE.search(clause):
            denied.append(clause)
            continue
        before, *after = DENIED_REST.split(clause, maxsplit=1)
        affirmed.append(before)
        denied.extend(after)
    return ", ".join(part for part in affirmed if part.strip()), ", ".join(denied)


def take_values(text: str, question: Question) -> tuple[list[Value], str]:
    """Numbers and dates that matter, and the rest of the text.

    A date beside other words ("Elvis Presley in 1961") is dropped unless dates are asked for.
    """
    if not text.strip():
        return [], ""
    if question.asked is Asked.NUMBER and (roman := read_roman(text.strip(" ."))):
        return [Quantity(roman, roman)], ""
    asked = question.asked
    only_digits = not re.search(r"[^\W\d_]", text)
    times, rest = take_times(text, bare_times=asked is Asked.DATE or only_digits)
    dates, rest = take_dates(
        rest, bare_years=asked is not Asked.NUMBER, bare_months=asked is Asked.DATE
    )
    rest = numbers_in_one_spelling(rest)
    quantities, rest = take_quantities(rest, of_a_fall=question.of_a_fall, unit=question.unit)
    has_words = any(word.key not in question.words for word in read_words(rest))
    kept: list[PartialDate] = dates
    if asked is Asked.NUMBER and quantities:
        kept = []
    elif asked is not Asked.DATE and has_words:
        kept = [date for date in dates if not date.aside]
    return [*times, *kept, *quantities], rest
