"""An answer to a question as it is compared: values, words, lists, denials, yes or no."""

import re
from dataclasses import dataclass
from functools import cached_property

from radarstream.connectors.models.answer_agreement import parsing, spelling
from radarstream.connectors.models.answer_agreement.meanings import expansions, stem_of
from radarstream.connectors.models.answer_agreement.question import Question, read_polarity
from radarstream.connectors.models.answer_agreement.tables import pattern, words
from radarstream.connectors.models.answer_agreement.values import Quantity, Value, of_kind
from radarstream.connectors.models.answer_agreement.words import Word, plain_text, read_words

MOST_CHARACTERS = 300  # that are read: comparing takes the square of it, and answers are untrusted
SENTENCE_WORDS = 6  # from here on, lower-case words are taken for the sentence round the answer
_LEAST_REPEATED = 3  # words
_FEWEST_ITEMS = 2
_LONGEST_ACRONYM = 8  # letters


@dataclass(frozen=True, eq=False)
class Reading:
    """An answer to one question, parsed once and compared many times; equal only to itself.

    `claim` is the text in English without words of the question in front and the like, `marked`
    that in one spelling, `affirmed` the part that is no denial, `rest` that part without values;
    `words` are the content words it affirms, `denied` the keys of those it denies; `values` its
    numbers, dates and times; `says_yes` its polarity where it has one; `items` the members of a
    list; `is_open` tells that it leaves open what holds: "Ann or Bob", "yes and no", "Lima?".
    """

    plain: str
    claim: str
    marked: str
    affirmed: str
    rest: str
    abstained: bool
    says_yes: bool | None
    words: tuple[Word, ...]
    denied: frozenset[str]
    values: tuple[Value, ...]
    is_open: bool
    is_sentence: bool
    question: Question

    @cached_property
    def wording(self) -> "Wording":
        """The answer word by word."""
        return word_by_word(self)

    @cached_property
    def items(self) -> tuple[frozenset[str], ...]:
        """Keys of the members of a list."""
        items = pattern("JOINED").split(self.rest)
        return tuple(frozenset(w.key for w in read_words(i)) for i in items if read_words(i))

    @cached_property
    def is_list(self) -> bool:
        """Whether it has several members."""
        return bool(pattern("CONJUNCTION").search(self.rest)) or self.rest.count(",") > 1

    @cached_property
    def telling(self) -> frozenset[str]:
        """Keys of the words that are neither titles nor repeated from the question."""
        asked = self.question.words
        return frozenset(w.key for w in self.words if w.key not in asked and not w.is_title)

    @cached_property
    def all_keys(self) -> frozenset[str]:
        """Keys of all content words."""
        return frozenset(w.key for w in self.words)

    @cached_property
    def letters(self) -> str:
        """Its text; the letters alone where it has few other marks: "Du Bois", "DuBois"."""
        said = self.plain.strip('". ')
        spelt = pattern("LETTERS").fullmatch(said)
        return re.sub(r"\W", "", said.casefold()) if spelt else self.plain

    @cached_property
    def in_order(self) -> str:
        """The whole text with who does it first."""
        return spelling.in_one_order(self.marked)

    @property
    def acronym(self) -> str | None:
        """The answer as an acronym ("NATO"), if it is one."""
        said = self.claim.strip(" .").removeprefix("the ").replace(".", "")
        known = len(said) <= _LONGEST_ACRONYM and said.isalpha() and expansions(said.casefold())
        return said.casefold() if known or re.fullmatch("[A-Z0-9]{2,6}", said) else None

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
    said = spelling.in_english(_without_numbers(said), places="PERSON" not in question.traits)
    claim = pattern("SOURCE_BEHIND").sub("", pattern("WRAPPER").sub("", said)) or said
    marked = spelling.one_spelling(spelling.spell_marks(claim))
    says_yes, is_open = read_polarity(marked, question)
    body = pattern("LEADING").sub("", marked)
    affirmed, denied = (body, "") if "NEGATIVE" in question.traits else _split_denials(body)
    values, rest = take_values(affirmed, question)
    values = _asked_for(values, rest, question)
    content = read_words(rest)
    if not content and not values and not denied:
        content = read_words(rest, keep_stopwords=True)  # "The Who", "S"
    denied_values, denied_rest = take_values(denied, question)
    doubted = bool(pattern("DOUBTED").search(said)) and not pattern("IS_A_QUESTION").match(said)
    chooses = "CHOICE" not in question.traits and pattern("ALTERNATIVE").search(rest)
    return Reading(
        plain=plain,
        claim=claim,
        marked=marked,
        affirmed=affirmed,
        rest=rest,
        abstained=not re.search(r"\w", plain) or bool(pattern("ABSTENTION").search(said)),
        says_yes=says_yes,
        words=tuple(content),
        denied=frozenset([w.key for w in read_words(denied_rest)] + list(map(repr, denied_values))),
        values=tuple(values),
        is_open=is_open or doubted or bool(chooses),
        is_sentence=len((said or plain).split()) >= SENTENCE_WORDS,
        question=question,
    )


def _behind_the_question(plain: str, question: Question) -> str:
    """What an answer says behind the last words of the question, three or more; all it says if none
    are in front: "Prime Minister of Peru Ann Lee", to "Who is the Prime Minister of Peru?".
    """
    if "CHOICE" in question.traits:
        return plain
    asked, said = (
        [(word[0].casefold(), word.end()) for word in pattern("SPOKEN").finditer(text)]
        for text in (question.text, plain)
    )
    for each in (said, said[1:] if said[:1] == [("the", 3)] else []):
        for count in range(min(len(asked), len(each) - 1), _LEAST_REPEATED - 1, -1):
            if [word for word, _ in each[:count]] == [word for word, _ in asked[-count:]]:
                rest = plain[each[count - 1][1] :]
                behind = pattern("GOES_ON_WITH").match(rest)
                return rest[behind.end() :] if behind else plain
    return plain


def _without_numbers(text: str) -> str:
    """A text without the bullets or numbers of a list: "1. France 2. Spain"."""
    if pattern("SLASHES").fullmatch(text):
        return text.replace("/", ", ")
    items = [item.strip(" ,;") for item in pattern("BULLET").split(text)]
    return ", ".join(filter(None, items)) if len(items) > _FEWEST_ITEMS else text


def _split_denials(body: str) -> tuple[str, str]:
    """What a text affirms and what it denies, clause by clause."""
    if not pattern("MAY_DENY").search(body):
        return body, ""
    if whole := pattern("ALL_DENIED").match(body):
        return "", whole[1]
    affirmed, denied = [], []
    for clause in pattern("CLAUSE").split(body):
        if pattern("DENIED_CLAUSE").search(clause):
            denied.append(clause)
            continue
        before, *after = pattern("DENIED_REST").split(clause, maxsplit=1)
        affirmed.append(before)
        denied.extend(after)
    return ", ".join(part for part in affirmed if part.strip()), ", ".join(denied)


def take_values(text: str, question: Question, *, pairs: bool = False) -> tuple[list[Value], str]:
    """Numbers, dates, times and, if wanted, `pairs` of a text, and the rest of the text."""
    asked = question.asked
    if asked == "NUMBER" and (roman := spelling.read_roman(text.strip(" ."))):
        return [Quantity(roman, roman)], ""
    text = spelling.numbers_in_one_spelling(text)
    clock = asked == "DATE" or bool(pattern("ONLY_CLOCK").match(text))
    times, text = parsing.take_times(text, bare_times=clock)
    short, text = parsing.take_dates(text, "SHORT_DATE_") if asked == "DATE" else ([], text)
    spans, text = parsing.take_pairs(text) if pairs else ([], text)
    years = () if asked == "NUMBER" else ("BARE_YEAR",)
    dates, text = parsing.take_dates(text, "DATE_", *years, "BARE_MONTH")
    quantities, text = parsing.take_quantities(text, question.sought)
    return [*times, *spans, *quantities, *short, *dates], text


def _asked_for(values: list[Value], rest: str, question: Question) -> list[Value]:
    """Values without the dates that nobody asked for: "Elvis Presley in 1961"."""
    dates = of_kind("date", values)
    if question.asked == "NUMBER" and any(isinstance(value, Quantity) for value in values):
        return [value for value in values if value not in dates]
    if question.asked == "DATE" or question.words.issuperset(w.key for w in read_words(rest)):
        return values
    return [value for value in values if value not in dates or not value.aside]


@dataclass(frozen=True)
class Wording:
    """What an answer says, word by word: whatever is not known to add nothing must be found in the
    other answer too. `counted` has the stem behind each number, with the number.
    """

    text: str
    tokens: tuple[Word, ...]
    values: tuple[Value, ...]
    counted: dict[str, str]


def word_by_word(reading: Reading) -> Wording:
    """All words and values of an answer, in one order."""
    asked, traits = reading.question.asked, reading.question.traits
    text = reading.marked.strip(" .!")
    text = pattern("LEADING").sub(lambda m: "yes" if m["yes"] else "no", text)
    if "PERSON" in traits:
        text = pattern("SURNAME_FIRST").sub(r"\2 \1", text)
    text = spelling.in_one_order(pattern("APPOSED").sub(r"\2 \1", text))
    text = spelling.numbers_in_one_spelling(text)
    if asked == "NUMBER":
        text = pattern("NONE").sub("0 ", text)
    if reading.question.said & words("lengths"):
        text = pattern("METRES").sub(" metres", text)
    versioned = asked == "OTHER" and (text.count(".") > 1 or "VERSION" in traits)
    versions = pattern("VERSION").findall(text) if versioned else []
    text = pattern("VERSION").sub(" ", text) if versions else text
    counted = pattern("COUNTED").findall(text)
    values, text = take_values(text, reading.question, pairs=True)
    tokens = [_token(m, text) for m in pattern("TOKEN").finditer(text)]
    letter = "A" if text[:1] != "A" or len(text) == 1 else ""  # else an A is an article
    kept = (t for t in tokens if t.word not in words("free") or t.surface == letter)
    return Wording(
        text=text,
        tokens=(*kept, *(Word(f"v{version}", version, False) for version in versions)),
        values=tuple(values),
        counted={stem_of(w.casefold()): n if n.isdigit() else "1" for n, w in counted},
    )


def _token(match: re.Match[str], text: str) -> Word:
    surface = match.group().removesuffix("'s")
    first = not re.search(r"\w", text[: match.start()])
    lower_beside = bool(re.search(r"\b[a-z]{4,}", text))
    lower_beside = lower_beside and not re.match(r"\s[A-Z]", text[match.end() :])
    is_name = surface[:1].isupper() and not (first and lower_beside)
    return Word(surface.casefold(), surface, is_name)
