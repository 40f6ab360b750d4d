"""Words and values of two answers that have no counterpart in the other, and their order."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from radarstream.connectors.models.answer_agreement.additions import without_harmless
from radarstream.connectors.models.answer_agreement.opposites import are_opposites
from radarstream.connectors.models.answer_agreement.question import Asked, Question, bare, is_said
from radarstream.connectors.models.answer_agreement.reading import Reading, Wording
from radarstream.connectors.models.answer_agreement.spelling import NEGATIONS
from radarstream.connectors.models.answer_agreement.synonyms import alike, senses, stem_of
from radarstream.connectors.models.answer_agreement.tables import pattern
from radarstream.connectors.models.answer_agreement.values import (
    Match,
    Pair,
    PartialDate,
    Quantity,
    Value,
    compare_value,
    is_share,
    unit_named,
)
from radarstream.connectors.models.answer_agreement.words import TITLES, Word, transcribed

_MOST_FREE = 2  # tokens that may stand in any order
_ANSWERED = NEGATIONS | {"yes", "true", "false", "since", "since_", "from", "from_"}
_ARTICLE = re.compile(r"^(?:the|an?) ")
_CODE = re.compile(r"([a-z]+)-?(\d+)")


@dataclass(frozen=True)
class Account:
    """What is left of two answers when each word and value of one took its like in the other.

    `mine` and `theirs` are the words left, `my_values` and `their_values` the values;
    `turned` tells that what both have stands in another order in which it may mean something else,
    or is counted otherwise; `negated` that a "not" of one was found as an "un-" of the other;
    `shared` counts the words and values that both have.
    """

    mine: tuple[Word, ...]
    theirs: tuple[Word, ...]
    my_values: tuple[Value, ...]
    their_values: tuple[Value, ...]
    turned: bool
    negated: bool
    shared: int
    reworded: bool
    swapped: bool

    @property
    def balanced(self) -> bool:
        """Whether nothing is left and the order is the same."""
        left = self.mine or self.theirs or self.my_values or self.their_values
        return self.shared > 0 and not left and not self.turned


def account(one: Reading, other: Reading) -> Account:
    """Take from both answers what the other has as well, and what is known to add nothing."""
    mine, theirs = one.wording, other.wording
    matches = _matching(mine.tokens, theirs.tokens)
    left = (
        [t for i, t in enumerate(mine.tokens) if i not in matches],
        [t for j, t in enumerate(theirs.tokens) if j not in matches.values()],
    )
    for side, wording in zip(left, (mine, theirs), strict=True):
        _drop_repeated(side, wording)
    named = _drop_synonyms(left, (mine, theirs))
    negated = _drop_negations(one, other, left)
    asked = [
        {t.key for t in side if t.surface[:1].isupper() and t.key in one.question.words}
        for side in left
    ]
    my_values, their_values, shared_values = _values_left(mine, theirs, one)
    shared = len(matches) + shared_values + negated + named + (one.says_yes is not None)
    kept = (
        left
        if not shared
        else [
            without_harmless(
                left[i],
                left[1 - i],
                one.question,
                wording,
                told=bool(mine.values and theirs.values),
            )
            for i, wording in enumerate((mine, theirs))
        ]
    )
    return Account(
        mine=tuple(kept[0]),
        theirs=tuple(kept[1]),
        my_values=my_values,
        their_values=their_values,
        swapped=(swapped := _is_swapped(mine, theirs, matches) and not any(left)),
        turned=swapped
        or all(asked)
        or is_turned(one, other, matches)
        or is_miscounted(mine, theirs),
        negated=negated,
        shared=shared,
        reworded=any(
            mine.tokens[i].is_name and mine.tokens[i].word != theirs.tokens[j].word
            for i, j in matches.items()
        ),
    )


def _matching(mine: Sequence[Word], theirs: Sequence[Word]) -> dict[int, int]:
    """Which word of the one is which of the other: same spelling, then meaning, then initials."""
    found: dict[int, int] = {}
    several = len(mine) > 1 and len(theirs) > 1
    fitting: tuple[Callable[[Word, Word], bool], ...] = (_same, _alike, _coded)
    for fits in (*fitting, *([_initial] if several else [])):
        for i, token in enumerate(mine):
            free = (j for j in range(len(theirs)) if j not in found.values())
            if i not in found:
                fit = next((j for j in free if fits(token, theirs[j])), None)
                found |= {} if fit is None else {i: fit}
    return found


def _same(one: Word, other: Word) -> bool:
    if one.word == other.word or one.key == other.key:
        return True
    if one.word in NEGATIONS and other.word in NEGATIONS:
        return "without" not in (one.word, other.word)
    if one.is_name and other.is_name:
        return transcribed(one.word) == transcribed(other.word)
    return stem_of(one.word) == stem_of(other.word)


def _alike(one: Word, other: Word) -> bool:
    stems = not (one.is_name and other.is_name) or one.word[:6] == other.word[:6]
    return alike(one.word, other.word, stems=stems)


def _coded(one: Word, other: Word) -> bool:
    """Whether one is the other with its word cut to a letter: U235, uranium-235."""
    a, b = _CODE.fullmatch(one.word), _CODE.fullmatch(other.word)
    if not (a and b) or a[2] != b[2] or min(len(a[1]), len(b[1])) > 1:
        return False
    return a[1].startswith(b[1]) or b[1].startswith(a[1])


def _initial(one: Word, other: Word) -> bool:
    short, long = sorted((one, other), key=lambda t: len(t.word))
    named = short.surface.isupper() and long.surface[:1].isupper()
    return named and len(short.word) == 1 and long.word.startswith(short.word)


def _drop_repeated(left: list[Word], wording: Wording) -> None:
    """Take what brackets say once more: "football (soccer)", "Health Board (HB)"."""
    brackets = pattern("BRACKETS").search(wording.text) if left else None
    if not brackets:
        return
    inside = set(re.findall(r"\w+", brackets[1].casefold()))
    found = Counter(t.word for t in wording.tokens) - Counter(t.word for t in left)
    names = (t.word for t in wording.tokens if t.is_name and t.word not in inside)
    initials = "".join(word[0] for word in names)

    def repeats(token: Word) -> bool:
        here = token.word in inside
        if token.word in found or (here and token.surface.isupper() and token.word == initials):
            return True
        others = (word for word in found if here != (word in inside))
        return any(alike(token.word, word) or _is_code(token.word, word) for word in others)

    left[:] = [t for t in left if not repeats(t)]


def _drop_synonyms(left: tuple[list[Word], list[Word]], wordings: tuple[Wording, Wording]) -> bool:
    """Take what is left where both are one thing by WordNet; True if they were."""
    known = [
        {sense for phrase in _phrases(side, wording) for sense in senses(phrase)}
        for side, wording in zip(left, wordings, strict=True)
    ]
    if not known[0] & known[1]:
        return False
    for side in left:
        side.clear()
    return True


def _phrases(side: list[Word], wording: Wording) -> set[str]:
    """The words that are left as one phrase; where that is all, with its small words too."""
    found = {" ".join(word.word for word in side)} if side else set()
    if (side or not wording.tokens) and not re.search(r"\d", wording.text):
        for mark in " ", "":
            text = " ".join(re.sub(r"[^a-z ]", mark, wording.text.casefold()).split())
            found.add(_ARTICLE.sub("", text))
    return found | {phrase.removesuffix("s") for phrase in found}


def _is_code(code: str, word: str) -> bool:
    """Whether a code stands for a currency: JPY, yen."""
    currency = unit_named(code.upper()).dimension
    return currency.isupper() and currency == unit_named(word).dimension


def _drop_negations(one: Reading, other: Reading, left: tuple[list[Word], list[Word]]) -> bool:
    """Take "not" where it is said in another way; True if a word took it into itself."""
    if one.says_yes is not None and one.says_yes == other.says_yes:
        for side in left:
            side[:] = [t for t in side if not _only_answers(t.word, one.question)]
    for side, others in (left, left[::-1]):
        for word in others:
            plain = next((t for t in side if alike(t.word, bare(word.word))), None)
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
    return word in _ANSWERED or turned or any(are_opposites(word, w) for w in question.said)


def _values_left(
    mine: Wording, theirs: Wording, one: Reading
) -> tuple[tuple[Value, ...], tuple[Value, ...], int]:
    """Values of each that the other lacks, less the question's own and dates nobody asked for; and
    how many both have.
    """
    left = [list(mine.values), list(theirs.values)]
    for value in mine.values:
        same = (o for o in left[1] if compare_value(value, o) is Match.SAME)
        if match := next((o for o in same if _in_kind(value, o, one)), None):
            left[0].remove(value)
            left[1].remove(match)
    shared = len(mine.values) - len(left[0])
    dated = [any(isinstance(v, PartialDate) for v in side) for side in left]
    polar = one.question.asked is Asked.YES_NO
    for side, wording, other_dated in zip(left, (mine, theirs), dated[::-1], strict=True):
        side[:] = [v for v in side if not _is_converted(v, wording.values)]
        free = wording.asides > 0 and not other_dated and (polar or bool(wording.tokens))
        side[:] = [v for v in side if not _costs_nothing(v, one.question, aside=free)]
    return tuple(left[0]), tuple(left[1]), shared


def _is_converted(value: Value, values: Sequence[Value]) -> bool:
    """Whether a value only says in another unit what another one says: "330 m (1,083 ft)"."""
    others = (v for v in values if isinstance(v, Quantity) and v != value)
    return isinstance(value, Quantity) and any(
        v.stated != value.stated and v.compare(value) is Match.SAME for v in others
    )


def _in_kind(value: Value, other: Value, one: Reading) -> bool:
    """Whether not just one is a share where the question asks how many."""
    return is_share(value) == is_share(other) or "COUNT" not in one.question.traits


def _costs_nothing(value: Value, question: Question, *, aside: bool) -> bool:
    if isinstance(value, PartialDate):
        return aside and value.aside
    if isinstance(value, Pair):
        return {value.first, value.second} <= question.numbers
    stated = isinstance(value, Quantity) and value.stated in question.numbers
    return stated and question.asked is Asked.OTHER


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
    a, b = ([v.value for v in w.values if isinstance(v, Quantity)] for w in (mine, theirs))
    moved = mine.values != theirs.values and set(mine.values) == set(theirs.values)
    if moved and any(token.word in NEGATIONS for token in mine.tokens):
        return True  # "1969, not 1968"
    if order == sorted(order):
        pairs = [[v for v in w.values if isinstance(v, Pair)] for w in (mine, theirs)]
        moved = pairs[0] != pairs[1] and set(pairs[0]) == set(pairs[1])
        moved = moved and (ordered or "SCORE" in one.question.traits)
        return moved or (a != b and sorted(a) == sorted(b) and len(order) > 1)
    if a == b and len(a) > 1:
        return True  # Ann first, Bob second
    listed = all(
        r.is_list or re.search(r"\bor\b", w.text) for r, w in ((one, mine), (other, theirs))
    )
    if listed and not ordered:
        return _is_regrouped(one, other)
    named = all(pattern("ALL_NAMES").fullmatch(w.text.strip()) for w in (mine, theirs))
    turned = named and _is_of(mine.text) != _is_of(theirs.text)  # "Nobel Prize in Physics"
    if turned and any(mine.tokens[i].word != theirs.tokens[matches[i]].word for i in kept):
        return True  # the Council of Europe, the European Council
    few = len(matches) <= _MOST_FREE and not ordered
    if few or _one_swap(order, [mine.tokens[i] for i in kept]):
        return False
    return not turned


def _is_regrouped(one: Reading, other: Reading) -> bool:
    """Whether two lists have the same words in other members: "Ann Ray, Bob Lee"."""
    mine, theirs = set(one.items), set(other.items)
    whole = frozenset().union(*mine) == frozenset().union(*theirs)
    return whole and len(mine) == len(theirs) and mine != theirs


def _is_of(text: str) -> bool:
    return bool(re.search(r"\b(?:of|in|for)\b", text))


def _is_swapped(mine: Wording, theirs: Wording, matches: dict[int, int]) -> bool:
    """Whether two names with one verb between them changed places."""
    does = all(pattern("NAME_DOES_NAME").fullmatch(w.text.strip()) for w in (mine, theirs))
    return does and [matches[i] for i in sorted(matches)] != sorted(matches.values())


def is_miscounted(mine: Wording, theirs: Wording) -> bool:
    """Whether two things of both are counted, and not alike: "two sons and a daughter"."""
    counts = dict(mine.counted), dict(theirs.counted)
    both = counts[0].keys() & counts[1].keys()
    return len(both) > 1 and any(counts[0][thing] != counts[1][thing] for thing in both)


def _one_swap(order: Sequence[int], tokens: Sequence[Word]) -> bool:
    """Whether two neighbours changed places that are not both names: "Lisbon route"."""
    falls = [i for i, (a, b) in enumerate(zip(order, order[1:], strict=False)) if b < a]
    if len(falls) != 1:
        return False
    i = falls[0]
    swapped = [*order[:i], order[i + 1], order[i], *order[i + 2 :]]
    return swapped == sorted(order) and not all(
        token.surface[:1].isupper() for token in tokens[i : i + 2]
    )
