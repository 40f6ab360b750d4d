"""Whether the words that two answers share stand in one order, and are counted alike."""

import re
from collections.abc import Sequence

from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.values import Quantity
from radarstream.connectors.models.answer_agreement.wording import Token, Wording, word_by_word
from radarstream.connectors.models.answer_agreement.words import TITLES

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
