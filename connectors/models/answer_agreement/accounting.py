"""Words and values of two answers that have no counterpart in the other, and their order."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from radarstream.connectors.models.answer_agreement.harmless import without_harmless
from radarstream.connectors.models.answer_agreement.opposites import are_opposites
from radarstream.connectors.models.answer_agreement.phrases import NEGATIONS
from radarstream.connectors.models.answer_agreement.question import Asked
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.synonyms import alike
from radarstream.connectors.models.answer_agreement.values import (
    PartialDate,
    Quantity,
    Value,
    unit_named,
)
from radarstream.connectors.models.answer_agreement.wording import (
    Pair,
    Token,
    Wording,
    same_value,
    word_by_word,
)
from radarstream.connectors.models.answer_agreement.words import TITLES, transcribed

_UN = re.compile(r"^(?:un|in|im|il|ir|non-?|dis)(?=\w{3})")
_BRACKETS = re.compile(r"\w\s*\(([^()]*)\)")


@dataclass(frozen=True)
class Account:
    """What is left of two answers when each word and value of one took its like in the other.

    `mine` and `theirs` are the words left, `my_values` and `their_values` the values;
    `turned` tells that what both have stands in another order in which it may mean something else,
    or is counted otherwise;
    `negated` that a "not" of one was found as an "un-" of the other; `shared` counts the words and
    values that both have.
    """

    mine: tuple[Token, ...]
    theirs: tuple[Token, ...]
    my_values: tuple[Value | Pair, ...]
    their_values: tuple[Value | Pair, ...]
    turned: bool
    negated: bool
    shared: int

    @property
    def balanced(self) -> bool:
        """Whether nothing is left and the order is the same."""
        left = self.mine or self.theirs or self.my_values or self.their_values
        return self.shared > 0 and not left and not self.turned


def account(one: Reading, other: Reading) -> Account:
    """Take from both answers what the other has as well, and what is known to add nothing."""
    mine, theirs = word_by_word(one), word_by_word(other)
    matches = _matching(mine.tokens, theirs.tokens)
    left = (
        [t for i, t in enumerate(mine.tokens) if i not in matches],
        [t for j, t in enumerate(theirs.tokens) if j not in matches.values()],
    )
    for side, wording in zip(left, (mine, theirs), strict=True):
        _drop_repeated(side, wording)
    negated = _drop_negations(one, other, left)
    values, shared_values = _values_left(mine, theirs, one)
    told = bool(mine.values and theirs.values)
    question = one.question
    shared = len(matches) + shared_values + negated + (one.says_yes is not None)
    kept = (tuple(left[0]), tuple(left[1]))
    if shared:
        kept = (
            without_harmless(left[0], left[1], question, mine, told=told),
            without_harmless(left[1], left[0], question, theirs, told=told),
        )
    return Account(
        mine=kept[0],
        theirs=kept[1],
        my_values=values[0],
        their_values=values[1],
        turned=is_turned(one, other, matches) or is_miscounted(mine, theirs),
        negated=negated,
        shared=shared,
    )


def _matching(mine: Sequence[Token], theirs: Sequence[Token]) -> dict[int, int]:
    """Which word of the one is which of the other: same spelling, then meaning, then initials."""
    found: dict[int, int] = {}
    several = len(mine) > 1 and len(theirs) > 1
    for fits in (_same, _alike, _coded, *([_initial] if several else [])):
        _take(mine, theirs, found, fits)
    return found


def _take(
    mine: Sequence[Token],
    theirs: Sequence[Token],
    found: dict[int, int],
    fits: Callable[[Token, Token], bool],
) -> None:
    taken = set(found.values())
    for i, token in enumerate(mine):
        if i in found:
            continue
        for j, other in enumerate(theirs):
            if j not in taken and fits(token, other):
                found[i] = j
                taken.add(j)
                break


def _same(one: Token, other: Token) -> bool:
    if one.word == other.word or one.key == other.key:
        return True
    if one.word in NEGATIONS and other.word in NEGATIONS:
        return "without" not in (one.word, other.word)
    if one.is_name and other.is_name:
        return transcribed(one.word) == transcribed(other.word)
    return one.stem == other.stem


def _alike(one: Token, other: Token) -> bool:
    return alike(one.word, other.word)


def _coded(one: Token, other: Token) -> bool:
    """Whether one is the other with its word cut to a letter: U235, uranium-235."""
    pattern = r"([a-z]+)-?(\d+)"
    a, b = re.fullmatch(pattern, one.word), re.fullmatch(pattern, other.word)
    if not (a and b) or a[2] != b[2] or min(len(a[1]), len(b[1])) > 1:
        return False
    return a[1].startswith(b[1]) or b[1].startswith(a[1])


def _initial(one: Token, other: Token) -> bool:
    short, long = sorted((one, other), key=lambda t: len(t.word))
    named = short.surface.isupper() and long.surface[:1].isupper()
    return named and len(short.word) == 1 and long.word.startswith(short.word)


def _drop_repeated(left: list[Token], wording: Wording) -> None:
    """Take what brackets say once more: "football (soccer)", "Health Board (HB)"."""
    brackets = _BRACKETS.search(wording.text) if left else None
    if not brackets:
        return
    inside = set(re.findall(r"\w+", brackets[1].casefold()))
    found = Counter(t.word for t in wording.tokens) - Counter(t.word for t in left)
    outside = (t.word for t in wording.tokens if t.is_name and t.word not in inside)
    initials = "".join(word[0] for word in outside)

    def repeats(token: Token) -> bool:
        here = token.word in inside
        if token.word in found or (here and token.surface.isupper() and token.word == initials):
            return True
        return any(
            here != (word in inside) and (alike(token.word, word) or _is_code(token.word, word))
            for word in found
        )

    left[:] = [t for t in left if not repeats(t)]


def _is_code(code: str, word: str) -> bool:
    """Whether a code stands for a currency: JPY, yen."""
    currency = unit_named(code).dimension
    return currency.isupper() and currency == unit_named(word).dimension


def _drop_negations(one: Reading, other: Reading, left: tuple[list[Token], list[Token]]) -> bool:
    """Take "not" where it is said in another way; True if a word took it into itself."""
    if one.says_yes is not None and one.says_yes == other.says_yes:
        answered = NEGATIONS | {"yes", "true", "false"}
        said = one.question.said
        for side in left:
            side[:] = [
                t
                for t in side
                if t.word not in answered
                and not _is_in(_bare(t.word), said)
                and not any(are_opposites(t.word, w) for w in said)
            ]
    for side, others in (left, left[::-1]):
        for word in [t for t in others if t.word[:2] in ("un", "in", "im", "il", "ir", "no", "di")]:
            bare = _bare(word.word) or ""
            plain = next((t for t in side if alike(t.word, bare)), None)
            no = next((t for t in side if t.word in NEGATIONS), None)
            if len(bare) > 2 and plain and no:
                side.remove(plain)
                side.remove(no)
                others.remove(word)
                return True
    return False


def _is_in(bare: str | None, said: frozenset[str]) -> bool:
    return bare is not None and any(alike(bare, word) for word in said)


def _bare(word: str) -> str | None:
    """The word behind a prefix such as "un"."""
    bare = _UN.sub("", word)
    return bare if bare != word else None


def _values_left(
    mine: Wording, theirs: Wording, one: Reading
) -> tuple[tuple[tuple[Value | Pair, ...], tuple[Value | Pair, ...]], int]:
    """Values of each that the other lacks, less the question's own and dates nobody asked for; and
    how many both have.
    """
    left = [list(mine.values), list(theirs.values)]
    for value in mine.values:
        alike_values = (o for o in left[1] if same_value(value, o) and _in_kind(value, o, one))
        if match := next(alike_values, None):
            left[0].remove(value)
            left[1].remove(match)
    shared = len(mine.values) - len(left[0])
    dated = [any(isinstance(v, PartialDate) for v in side) for side in left]
    for side, wording, other_dated in zip(left, (mine, theirs), dated[::-1], strict=True):
        free = wording.asides > 0 and not other_dated and bool(wording.tokens)
        side[:] = [v for v in side if not _costs_nothing(v, one, aside=free)]
    return (tuple(left[0]), tuple(left[1])), shared


def _in_kind(value: Value | Pair, other: Value | Pair, one: Reading) -> bool:
    """Whether not just one is a share where the question asks how many."""
    shares = {isinstance(v, Quantity) and v.dimension == "percent" for v in (value, other)}
    return len(shares) == 1 or not one.question.counts


def _costs_nothing(value: Value | Pair, one: Reading, *, aside: bool) -> bool:
    if isinstance(value, PartialDate):
        return aside and value.aside
    numbers = one.question.numbers
    if isinstance(value, Pair):
        return {value.first, value.second} <= numbers
    return (
        isinstance(value, Quantity)
        and value.stated in numbers
        and one.question.asked is Asked.OTHER
    )


_OF = re.compile(r"\b(?:of|in|for)\b")
_NAMES = re.compile(r"(?:the )?[A-Z]\w*(?: (?:(?:of|in|for) (?:the )?)?[A-Z]\w*)+")
_MOST_FREE = 2  # tokens that may stand in any order


def is_turned(one: Reading, other: Reading, matches: dict[int, int]) -> bool:
    """Whether shared words, or the values between them, stand in another order.

    `matches` tells which word of the one is which of the other, by their places.
    """
    mine, theirs = word_by_word(one), word_by_word(other)
    kept = _in_order_that_counts(one, other, matches)
    order = [matches[i] for i in kept]
    in_order = order == sorted(order)
    values = _sequence(mine), _sequence(theirs)
    if in_order:
        return values[0] != values[1] and sorted(values[0]) == sorted(values[1]) and len(order) > 1
    listed = all(
        r.is_list or re.search(r"\bor\b", w.text) for r, w in ((one, mine), (other, theirs))
    )
    if listed or len(matches) <= _MOST_FREE or _one_swap(order, [mine.tokens[i] for i in kept]):
        return False
    named = _is_named(mine.text) and _is_named(theirs.text)  # "Nobel Prize in Physics"
    return not (named and _is_of(mine.text) != _is_of(theirs.text))


def _is_of(text: str) -> bool:
    return bool(_OF.search(text))


def _is_named(text: str) -> bool:
    """Whether a text is all names, and small words that join nouns."""
    return bool(_NAMES.fullmatch(text.strip()))


def is_miscounted(mine: Wording, theirs: Wording) -> bool:
    """Whether two things of both are counted, and not alike: "two sons and a daughter"."""
    counts = dict(mine.counted), dict(theirs.counted)
    both = counts[0].keys() & counts[1].keys()
    return len(both) > 1 and any(counts[0][thing] != counts[1][thing] for thing in both)


def _in_order_that_counts(one: Reading, other: Reading, matches: dict[int, int]) -> list[int]:
    """Matched words less titles."""
    mine, theirs = word_by_word(one), word_by_word(other)
    return [
        i
        for i, j in sorted(matches.items())
        if TITLES.isdisjoint((mine.tokens[i].word, theirs.tokens[j].word))
    ]


def _one_swap(order: Sequence[int], tokens: Sequence[Token]) -> bool:
    """Whether two neighbours changed places that are not both names: "Lisbon route"."""
    falls = [i for i, (a, b) in enumerate(zip(order, order[1:], strict=False)) if b < a]
    if len(falls) != 1:
        return False
    i = falls[0]
    swapped = [*order[:i], order[i + 1], order[i], *order[i + 2 :]]
    return swapped == sorted(order) and not (tokens[i].is_name and tokens[i + 1].is_name)


def _sequence(wording: Wording) -> list[float]:
    """Amounts in their order."""
    return [v.value for v in wording.values if isinstance(v, Quantity)]
