"""A question as the answers to it are read, and whether an answer to it says yes or no."""

from dataclasses import dataclass

from radarstream.connectors.models.answer_agreement import parsing
from radarstream.connectors.models.answer_agreement.meanings import alike, are_opposites, root_of
from radarstream.connectors.models.answer_agreement.spelling import (
    in_digits,
    in_english,
    one_spelling,
)
from radarstream.connectors.models.answer_agreement.tables import mapping, pattern, pattern_names
from radarstream.connectors.models.answer_agreement.values import NO_UNIT, unit_named
from radarstream.connectors.models.answer_agreement.words import plain_text, read_words

_NO_TRAITS = frozenset(("DATE", "NUMBER", "YES_NO", "UNIT", "AGE", "PER"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the answers to it are read.

    `asked` is the kind of answer that it wants: DATE, NUMBER, YES_NO or OTHER. `traits` are this
    and the names of the patterns ASKS_… that it matches: PERSON, CHOICE (it has an "or"),
    NEGATIVE (a "not" that answers may repeat), ALL (it asks in the plural, so that one more or less
    is another answer), WHERE, ORDER (that of a list counts), COUNT (how many).

    `words` are the keys of its content words: repeated in an answer they say nothing, unless the
    question offers them as alternatives ("France or Spain?"). `said` are its content words in lower
    case, also as phrases are spelt alike; `numbers` those it names itself.
    """

    text: str
    asked: str
    traits: frozenset[str]
    words: frozenset[str]
    said: frozenset[str]
    numbers: frozenset[float]
    sought: parsing.Sought


def read_question(text: str) -> Question:
    """Classify a question and collect the words that its answers may repeat for free.

    >>> read_question("How many moons has Mars?").asked
    'NUMBER'
    """
    plain = plain_text(text)
    names = (name.removeprefix("ASKS_") for name in pattern_names("ASKS_"))
    traits = {name for name in names if pattern(f"ASKS_{name}").search(plain)} - _NO_TRAITS
    choice = pattern("ASKS_CHOICE").search(plain)
    kinds = ("NUMBER", "DATE") if choice else ("NUMBER", "YES_NO", "DATE")
    asked = next((kind for kind in kinds if pattern(f"ASKS_{kind}").search(plain)), "OTHER")
    words = read_words(plain)
    if choice:  # the two words on either side of "or" may be the answer
        before, after = plain[: choice.start()], plain[choice.end() :]
        words = read_words(before)[:-2] + read_words(after)[2:]
    spelt = [] if choice else read_words(one_spelling(in_english(plain)))
    said = {word.surface.casefold().removesuffix("'s") for word in [*words, *spelt]}
    return Question(
        text=plain,
        asked=asked,
        traits=frozenset(traits | {asked}),
        words=frozenset(word.key for word in words),
        said=frozenset(said) | frozenset(pattern("MODAL").findall(plain.casefold())),
        numbers=frozenset(n.stated for n in parsing.take_quantities(in_digits(plain))[0]),
        sought=_sought(plain, counts="COUNT" in traits),
    )


def _sought(plain: str, *, counts: bool) -> parsing.Sought:
    counted, per = pattern("ASKS_UNIT").search(plain), pattern("ASKS_PER").search(plain)
    unit = "year" if pattern("ASKS_AGE").search(plain) else counted and counted["unit"]
    return parsing.Sought(
        of_a_fall=bool(pattern("FALLS").search(plain) and not pattern("RISES").search(plain)),
        unit=unit_named(unit) if unit else None,
        per=unit_named(mapping("adverbs").get(per[0].lower()) or per[1]) if per else NO_UNIT,
        counts=counts,
    )


def read_polarity(text: str, question: Question) -> tuple[bool | None, bool]:
    """Whether a text with its marks spelt alike says yes (None: neither), and whether it leaves
    that open: "Yes and no", "Yes, it is unsafe".
    """
    text = pattern("NON").sub("not ", text)
    if pattern("YES_AND_NO").match(text):
        return None, True
    leading = pattern("LEADING").match(text)
    said: set[bool] = {bool(leading["yes"])} if leading else set()
    if question.asked == "YES_NO":
        clauses = pattern("CLAUSE").split(pattern("LEADING").sub("", text))
        answers = (_of_clause(clause, question) for clause in clauses if clause)
        said |= {each for each in answers if each is not None}
        if leading and leading["no"] and not _repeats(text, question):
            said = {False}  # "No, it is a dwarf planet"
    return (said.pop(), False) if len(said) == 1 else (None, len(said) > 1)


def _repeats(text: str, question: Question) -> bool:
    """Whether a clause behind "no" has no words but those of the question: "No, it is open"."""
    clauses = pattern("CLAUSE").split(pattern("LEADING").sub("", text))
    yes = (read_words(clause) for clause in clauses if _of_clause(clause, question))
    return any(all(is_said(word.word, question.said) for word in said) for said in yes)


def _of_clause(clause: str, question: Question) -> bool | None:
    """Whether one clause answers the question with yes: denials and opposites turn it round."""
    words = [word.surface.casefold() for word in read_words(clause)]
    if len(pattern("NEGATION").findall(clause)) > 1 or pattern("NO_MORE").search(clause):
        return None  # "There is none that it does not have"
    if pattern("SO").match(clause):
        return True
    opposite = any(_turns_round(word, question.said) for word in words)
    nothing = pattern("NO_THING").search(clause)
    denied = nothing and is_said(nothing[1].casefold(), question.said)
    if denied or pattern("DENIES").search(clause):
        return opposite
    said = not opposite and any(is_said(word, question.said) for word in words)
    return said if said or opposite else None


def is_said(word: str, said: frozenset[str]) -> bool:
    """Whether a word or one of its meaning is among those said."""
    return any(alike(word, other) for other in said)


def bare(word: str) -> str:
    """A word without a prefix that turns it round, such as "un"."""
    return pattern("UN").sub("", word)


def _turns_round(word: str, said: frozenset[str]) -> bool:
    """Whether a word is the opposite of one of the question: "undamaged", "closed"."""
    if word in said:
        return False
    roots = {root_of(other) for other in said} if bare(word) != word else set()
    turned = bare(word) != word and (is_said(bare(word), said) or root_of(bare(word)) in roots)
    return turned or any(are_opposites(word, other) for other in said)
