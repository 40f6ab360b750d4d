"""Words and values of two answers that have no counterpart in the other, and their order."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from radarstream.connectors.models.answer_agreement import meanings, values
from radarstream.connectors.models.answer_agreement.additions import without_harmless
from radarstream.connectors.models.answer_agreement.question import Question, bare, is_said
from radarstream.connectors.models.answer_agreement.reading import Reading, Wording
from radarstream.connectors.models.answer_agreement.spelling import NEGATIONS
from radarstream.connectors.models.answer_agreement.tables import pattern, words
from radarstream.connectors.models.answer_agreement.values import Value
from radarstream.connectors.models.answer_agreement.words import TITLES, Word, transcribed

_MOST_FREE = 2  # tokens that may stand in any order


@dataclass(frozen=True)
class Account:
    """What is left of two answers when each word and value of one took its like in the other.

    `words` and `values` are those left of either; `shared` counts what both have; `turned` tells
    that this stands in another order in which it may mean something else, or is counted otherwise,
    `swapped` that two names changed places; `negated` that a "not" of one was found as an "un-" of
    the other; `reworded` that a name is spelt otherwise.
    """

    words: tuple[tuple[Word, ...], tuple[Word, ...]]
    values: tuple[tuple[Value, ...], tuple[Value, ...]]
    shared: int
    turned: bool
    swapped: bool
    negated: bool
    reworded: bool

    @property
    def balanced(self) -> bool:
        """Whether nothing is left and the order is the same."""
        return self.shared > 0 and not any((*self.words, *self.values, self.turned))


def account(one: Reading, other: Reading) -> Account:
    """Take from both answers what the other has as well, and what is known to add nothing."""
    mine, theirs = one.wording, other.wording
    matches = _matching(mine.tokens, theirs.tokens)
    left = (
        [t for i, t in enumerate(mine.tokens) if i not in matches],
        [t for j, t in enumerate(theirs.tokens) if j not in matches.values()],
    )
    named = _drop_synonyms(left, (mine, theirs))
    negated = _drop_negations(one, other, left)
    asked = (
        any(t.surface[:1].isupper() and t.key in one.question.words for t in side) for side in left
    )
    swapped = _is_swapped(mine, theirs, matches) and not any(left)
    turned = swapped or all(asked) or is_turned(one, other, matches) or is_miscounted(mine, theirs)
    rest = _values_left(mine, theirs, one.question)
    shared = len(matches) + len(mine.values) - len(rest[0]) + negated + named
    both_values = bool(mine.values and theirs.values)
    shared += one.says_yes is not None
    kept = [
        without_harmless(left[i], left[1 - i], one.question, wording, valued=both_values)
        if shared
        else tuple(left[i])
        for i, wording in enumerate((mine, theirs))
    ]
    spelt = [(mine.tokens[i], theirs.tokens[j]) for i, j in matches.items()]
    return Account(
        words=(kept[0], kept[1]),
        values=(_that_cost(rest, 0, one), _that_cost(rest, 1, other)),
        shared=shared,
        turned=turned,
        swapped=swapped,
        negated=negated,
        reworded=any(a.is_name and a.word != b.word for a, b in spelt),
    )


def _matching(mine: Sequence[Word], theirs: Sequence[Word]) -> dict[int, int]:
    """Which word of the one is which of the other: same spelling, then meaning, then initials."""
    matches: dict[int, int] = {}
    several = len(mine) > 1 and len(theirs) > 1
    fitting: tuple[Callable[[Word, Word], bool], ...] = (_same, _alike, _coded)
    for fits in (*fitting, *([_initial] if several else [])):
        for i, token in enumerate(mine):
            free = (j for j in range(len(theirs)) if j not in matches.values())
            if i not in matches:
                fit = next((j for j in free if fits(token, theirs[j])), None)
                matches |= {} if fit is None else {i: fit}
    return matches


def _same(one: Word, other: Word) -> bool:
    if one.word == other.word or one.key == other.key:
        return True
    if one.word in NEGATIONS and other.word in NEGATIONS:
        return "without" not in (one.word, other.word)
    if one.is_name and other.is_name:
        return transcribed(one.word) == transcribed(other.word)
    return meanings.stem_of(one.word) == meanings.stem_of(other.word)


def _alike(one: Word, other: Word) -> bool:
    stems = not (one.is_name and other.is_name) or one.word[:6] == other.word[:6]
    return meanings.alike(one.word, other.word, stems=stems)


def _coded(one: Word, other: Word) -> bool:
    """Whether one is the other with its word cut to a letter: U235, uranium-235."""
    a, b = pattern("CODE").fullmatch(one.word), pattern("CODE").fullmatch(other.word)
    if not (a and b) or a[2] != b[2]:
        return False
    return a[1][0] == b[1][0] and 1 in (len(a[1]), len(b[1]))


def _initial(one: Word, other: Word) -> bool:
    short, long = sorted((one, other), key=lambda t: len(t.word))
    named = short.surface.isupper() and long.surface[:1].isupper()
    return named and len(short.word) == 1 and long.word.startswith(short.word)


def _drop_synonyms(left: tuple[list[Word], list[Word]], wordings: tuple[Wording, Wording]) -> bool:
    """Take what is left where both are one thing by WordNet; True if they were."""
    known = [
        {sense for phrase in _phrases(side, wording) for sense in meanings.senses(phrase)}
        for side, wording in zip(left, wordings, strict=True)
    ]
    if known[0].isdisjoint(known[1]):
        return False
    left[0].clear()
    left[1].clear()
    return True


def _phrases(side: list[Word], wording: Wording) -> set[str]:
    """The words that are left as one phrase; where that is all, with its small words too."""
    phrases = {" ".join(word.word for word in side)} if side else set()
    if (side or not wording.tokens) and not re.search(r"\d", wording.text):
        for mark in " ", "":
            text = " ".join(re.sub(r"[^a-z ]", mark, wording.text.casefold()).split())
            phrases.add(re.sub("^(?:the|an?) ", "", text))
    return phrases | {phrase.removesuffix("s") for phrase in phrases}


def _drop_negations(one: Reading, other: Reading, left: tuple[list[Word], list[Word]]) -> bool:
    """Take "not" where it is said in another way; True if a word took it into itself."""
    if one.says_yes is not None and one.says_yes == other.says_yes:
        for side in left:
            side[:] = [t for t in side if not _only_answers(t.word, one.question)]
    for side, others in (left, left[::-1]):
        for word in others:
            plain = next((t for t in side if meanings.alike(t.word, bare(word.word))), None)
            no = next((t for t in side if t.word in NEGATIONS), None)
            if bare(word.word) != word.word and plain and no:
                side.remove(plain)
                side.remove(no)
                others.remove(word)
                return True
    return False


def _only_answers(word: str, question: Question) -> bool:
    """Whether a word only repeats the yes or no of an answer."""
    turned = bare(word) != word and is_said(bare(word), question.said)
    only = word in NEGATIONS or word in words("only_answers")
    return only or turned or any(meanings.are_opposites(word, w) for w in question.said)


def _values_left(mine: Wording, theirs: Wording, question: Question) -> tuple[list[Value], ...]:
    """Values of each that the other lacks."""
    left = (list(mine.values), list(theirs.values))
    counts = "COUNT" in question.traits  # where a share is no number
    for value in mine.values:
        for other in left[1]:
            in_kind = not counts or values.is_share(value) == values.is_share(other)
            if in_kind and values.compare_value(value, other) is values.Likeness.SAME:
                left[0].remove(value)
                left[1].remove(other)
                break
    return left


def _that_cost(left: tuple[list[Value], ...], side: int, reading: Reading) -> tuple[Value, ...]:
    """Values left of one answer, less the question's own, what another value of it says in another
    unit ("330 m (1,083 ft)") and dates that nobody asked for.
    """
    wording, question = reading.wording, reading.question
    dated = values.of_kind("date", left[1 - side])
    polar = question.asked == "YES_NO"
    aside = question.asked != "DATE" and not dated and (polar or bool(wording.tokens))
    numbers = [v for v in wording.values if isinstance(v, values.Quantity)]

    def is_free(value: Value) -> bool:
        if isinstance(value, values.Parts):
            asked = value.kind == "pair" and set(value.parts[:2]) <= question.numbers
            return asked or (aside and value.aside)
        asked = value.stated in question.numbers and question.asked == "OTHER"
        return asked or any(
            v.stated != value.stated and v.compare(value) is values.Likeness.SAME for v in numbers
        )

    return tuple(value for value in left[side] if not is_free(value))


def is_turned(one: Reading, other: Reading, matches: dict[int, int]) -> bool:
    """Whether shared words, or the values between them, stand in another order.

    `matches` tells which word of the one is which of the other, by their places.
    """
    mine, theirs = one.wording, other.wording
    kept = [
        i
        for i, j in sorted(matches.items())
        if TITLES.isdisjoint((mine.tokens[i].word, theirs.tokens[j].word))
    ]
    order, ordered = [matches[i] for i in kept], "ORDER" in one.question.traits
    a, b = ([v.value for v in w.values if isinstance(v, values.Quantity)] for w in (mine, theirs))
    moved = mine.values != theirs.values and set(mine.values) == set(theirs.values)
    if moved and any(token.word in NEGATIONS for token in mine.tokens):
        return True  # "1969, not 1968"
    if order == sorted(order):
        pairs = [values.of_kind("pair", w.values) for w in (mine, theirs)]
        moved = pairs[0] != pairs[1] and set(pairs[0]) == set(pairs[1])
        moved = moved and (ordered or "SCORE" in one.question.traits)
        return moved or (a != b and sorted(a) == sorted(b) and len(order) > 1)
    if a == b and len(a) > 1:
        return True  # Ann first, Bob second
    listed = all(r.is_list or re.search(r"\bor\b", r.wording.text) for r in (one, other))
    if listed and not ordered:
        return _is_regrouped(one, other)
    named = all(pattern("ALL_NAMES").fullmatch(w.text.strip()) for w in (mine, theirs))
    of = [bool(re.search(r"\b(?:of|in|for)\b", w.text)) for w in (mine, theirs)]
    turned = named and of[0] != of[1]  # "Nobel Prize in Physics"
    if turned and any(mine.tokens[i].word != theirs.tokens[matches[i]].word for i in kept):
        return True  # the Council of Europe, the European Council
    few = len(matches) <= _MOST_FREE and not ordered
    return not (few or turned)


def _is_regrouped(one: Reading, other: Reading) -> bool:
    """Whether two lists have the same words in other members: "Ann Ray, Bob Lee"."""
    mine, theirs = set(one.items), set(other.items)
    whole = frozenset().union(*mine) == frozenset().union(*theirs)
    return whole and len(mine) == len(theirs) and mine != theirs


def _is_swapped(mine: Wording, theirs: Wording, matches: dict[int, int]) -> bool:
    """Whether two names with one verb between them changed places."""
    does = all(pattern("NAME_DOES_NAME").fullmatch(w.text.strip()) for w in (mine, theirs))
    return does and [matches[i] for i in sorted(matches)] != sorted(matches.values())


def is_miscounted(mine: Wording, theirs: Wording) -> bool:
    """Whether two things of both are counted, and not alike: "two sons and a daughter"."""
    both = mine.counted.keys() & theirs.counted.keys()
    return len(both) > 1 and any(mine.counted[thing] != theirs.counted[thing] for thing in both)
