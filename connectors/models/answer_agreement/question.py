"""A question as the answers to it are read, and whether an answer to it says yes or no."""

import re
from dataclasses import dataclass
from enum import Enum

from radarstream.connectors.models.answer_agreement.opposites import are_opposites
from radarstream.connectors.models.answer_agreement.phrases import one_spelling
from radarstream.connectors.models.answer_agreement.quantities import (
    UNIT,
    asks_for_a_fall,
    spell_in_digits,
    take_quantities,
)
from radarstream.connectors.models.answer_agreement.synonyms import alike
from radarstream.connectors.models.answer_agreement.values import Unit, unit_named
from radarstream.connectors.models.answer_agreement.words import Word, plain_text, read_words

_DATE = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|decade|century)\b|\bin what year\b", re.I
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|tall|often|big|high|fast|large|deep|wide|heavy)\b"
    r"|\b(?:what|which) (?:percent|percentage|proportion|fraction|number|amount|share)\b"
    r"|\bwhat (?:is|was|are|were) the (?:\w+ ){0,3}(?:number|amount|percentage|population|price)\b",
    re.I,
)
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b", re.I
)
_WHO = re.compile(
    r"\b(?:who|whom|whose)\b|\bwhich (?:\w+ ){0,3}(?:person|player|actor|singer"
    r"|politician|president|candidate|leader|author|golfer|lawmaker)\b",
    re.I,
)
_HOW_MANY = re.compile(rf"\bhow many (?P<unit>{UNIT})", re.I)
_CHOICE = re.compile(r"\bor\b", re.I)
_NEGATIVE = re.compile(r"n't\b|\bnot\b|\bnever\b|\bcannot\b", re.I)
_ALL = re.compile(
    r"^\W*(?:which|what|name(?: the)?) (?!causes|makes|happens|does|is|was|has)(?:\w+ ){0,2}?"
    r"(?:[a-z]{2,}[^\Wsui_]s|people|men|women|children)\b|^\W*(?:who|what|which) (?:are|were)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"\b(?:where|city|town|country|state|place|region|village|located)\b", re.I)
_COUNTS = re.compile(r"\bhow many\b", re.I)
_HOW_OLD = re.compile(r"\bhow old (?:is|was|are|were) (?:he|she|they|[A-Z])", re.I)
_COPULAR = re.compile(r"\b(?:is|are|was|were)\b", re.IGNORECASE)
_MODAL = re.compile(r"\b(?:will|would|can|could|may|might|must|should|why)\b")


class Asked(Enum):
    """The kind of answer a question wants."""

    DATE = "date"
    NUMBER = "number"
    YES_NO = "yes_no"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the answers to it are read.

    `words` are the keys of its content words: repeated in an answer they say nothing, unless the
    question offers them as alternatives ("France or Spain?"). `is_choice` tells that it has an
    "or", `is_negative` that it has a "not" which its answers may repeat, `of_a_fall` that it asks
    by how much something fell. `unit` is what it asks to count ("How many milligrams"),
    `numbers` are those it names itself, `said` its content words in lower case, also as phrases are
    spelt alike. `wants_all` tells that it asks in the plural ("Which cities"), so that an answer
    with one more or less is another; `is_copular` that it asks what something is or was,
    `asks_where` that it asks for a place, `counts` that it asks how many. `text` is all of it.
    """

    text: str

    asked: Asked
    wants_person: bool
    words: frozenset[str]
    is_choice: bool
    is_negative: bool
    of_a_fall: bool
    unit: Unit | None
    numbers: frozenset[float]
    said: frozenset[str]
    wants_all: bool
    is_copular: bool
    asks_where: bool
    counts: bool


def read_question(text: str) -> Question:
    """Classify a question and collect the words that its answers may repeat for free.

    >>> read_question("How many moons has Mars?").asked
    <Asked.NUMBER: 'number'>
    """
    plain = plain_text(text)
    quantities, _ = take_quantities(spell_in_digits(plain))
    choice = _CHOICE.search(plain)
    words = read_words(plain) if choice is None else _beside_the_choice(plain, choice)
    spelt = [] if choice else read_words(one_spelling(plain))
    return Question(
        text=plain,
        asked=_asked(plain, is_choice=choice is not None),
        wants_person=bool(_WHO.search(plain)),
        words=frozenset(word.key for word in words),
        is_choice=choice is not None,
        is_negative=bool(_NEGATIVE.search(plain)),
        of_a_fall=asks_for_a_fall(plain),
        unit=_unit(plain),
        said=frozenset(word.surface.casefold().removesuffix("'s") for word in [*words, *spelt])
        | frozenset(_MODAL.findall(plain.casefold())),
        numbers=frozenset(quantity.stated for quantity in quantities),
        wants_all=bool(_ALL.search(plain)),
        counts=bool(_COUNTS.search(plain)),
        asks_where=bool(_WHERE.search(plain)),
        is_copular=bool(_COPULAR.search(plain)),
    )


def _unit(plain: str) -> Unit | None:
    if _HOW_OLD.search(plain):
        return unit_named("year")
    counted = _HOW_MANY.search(plain)
    return unit_named(counted["unit"]) if counted else None


def _beside_the_choice(plain: str, choice: re.Match[str]) -> list[Word]:
    """Content words less the two on either side of "or": those may be the answer."""
    before, after = read_words(plain[: choice.start()]), read_words(plain[choice.end() :])
    return before[:-2] + after[2:]


def _asked(plain: str, *, is_choice: bool) -> Asked:
    if _NUMBER.search(plain):
        return Asked.NUMBER
    if _YES_NO.search(plain) and not is_choice:
        return Asked.YES_NO
    return Asked.DATE if _DATE.search(plain) else Asked.OTHER


CLAUSE = re.compile(r"(?<=\w\w)[;.!?](?=\s|$)|,\s|\bbut\b", re.IGNORECASE)
DENIED_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\s+"
    r"(?:not|never)\b(?!\s+only)|n't\b(?!\s+only)"
    r"|\bno longer\b|\bnever\b|\bneither\b|\bthere (?:is|are|was|were) no\b|\bcannot\b",
    re.IGNORECASE,
)
DENIED_REST = re.compile(r"\bnot\s+(?!only\b)", re.IGNORECASE)
# "No" before a noun is no answer: "no doubt it is safe".
_GOES_ON = (
    r"(?=\W*$|\s*[,.;:!?()-]|\s+(?:it|its|they|he|she|there|this|that|these|those|you|we|i|the|not"
    r"|both)\b)"
)
LEADING = re.compile(
    rf"^\W*(?:(?P<yes>yes|yeah|yep|true|correct)|no|nope|false)\b(?!\.\s*\d){_GOES_ON}",
    re.IGNORECASE,
)
_YES_AND_NO = re.compile(r"^\W*(?:yes\W+(?:and|or|but)\W+no|no\W+(?:and|or|but)\W+yes)\b", re.I)
_NOBODY = re.compile(r"\b(?:no[ -]one|nobody|none|nothing)\b", re.IGNORECASE)
_NO = re.compile(r"\bno (\w+)", re.IGNORECASE)
_NON = re.compile(r"\bnon-(?=[a-z]{4})", re.IGNORECASE)
_SO = re.compile(
    r"^\W*(?:it|they|he|she|we|i|you|that|this|there) (?:is|are|am|was|were|do|does|did|has|have"
    r"|had|can"
    r"|could|will|would|should|may|must)\W*$",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:used to|formerly|previously|once was|was once)\b", re.IGNORECASE)
_FAILS = re.compile(
    r"\b(?:unable|fail(?:s|ed)?|refus(?:es?|ed)|declin(?:es?|ed))"
    r" to\b",
    re.IGNORECASE,
)
_UN = re.compile(r"^(?:un|in|im|il|ir|non-?|dis)(?=\w{3})")
_DOUBTED = re.compile(r"\?\W*$")
_IS_A_QUESTION = re.compile(
    r"^\W*(?:who|whom|whose|what|where|when|why|how|which|is|are|was|do|does|did|can|could|will"
    r"|would|shall|should|quo)\b",
    re.IGNORECASE,
)


def read_polarity(text: str, question: Question) -> tuple[bool | None, bool]:
    """Whether a text with its marks spelt alike says yes (None: neither), and whether it leaves
    that open: "Yes and no", "Yes, it is unsafe".
    """
    text = _NON.sub("not ", text)
    if _YES_AND_NO.match(text):
        return None, True
    leading = LEADING.match(text)
    said: set[bool] = {bool(leading["yes"])} if leading else set()
    if question.asked is Asked.YES_NO:
        rest = LEADING.sub("", text)
        told = [_of_clause(clause, question) for clause in CLAUSE.split(rest) if clause]
        said |= {told_so for told_so in told if told_so is not None}
    if len(said) == 1:
        return said.pop(), False
    return None, len(said) > 1


def is_doubted(plain: str) -> bool:
    """Whether an answer asks back: "Lima?"; titles such as "Who Framed Roger Rabbit?" do not."""
    return bool(_DOUBTED.search(plain)) and not _IS_A_QUESTION.match(plain)


def _of_clause(clause: str, question: Question) -> bool | None:
    """Whether one clause answers the question with yes: denials and opposites turn it round."""
    words = [word.surface.casefold() for word in read_words(clause)]
    opposite = any(_turns_round(word, question) for word in words)
    if _PAST.search(clause):
        return None
    if _SO.match(clause):
        return True
    denying = (DENIED_CLAUSE, DENIED_REST, _NOBODY, _FAILS)
    denies = any(pattern.search(clause) for pattern in denying)
    nothing = _NO.search(clause)
    if denies or (nothing and _is_said(nothing[1].casefold(), question)):
        return opposite
    if opposite:
        return False
    return True if any(_is_said(word, question) for word in words) else None


def _is_said(word: str, question: Question) -> bool:
    return any(alike(word, said) for said in question.said)


def _turns_round(word: str, question: Question) -> bool:
    """Whether a word is the opposite of one of the question: "undamaged", "closed"."""
    said = question.said
    if word in said:
        return False
    bare = _UN.sub("", word)
    if bare != word and any(alike(bare, other) for other in said):
        return True
    return any(are_opposites(word, other) for other in said)
