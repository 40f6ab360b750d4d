"""How two read answers to one question relate: one finding.

First what they share decides. But each could hide its real claim in a word that nobody shares
("anyone but Lima"), in a number's place, or in an order of words. So agreement counts only where
every word and value of each is found in the other, in the question, or in a list of words that add
nothing; else the pair is UNEXPLAINED.
"""

import itertools
import re
from collections.abc import Sequence
from enum import Enum

from rapidfuzz.distance import Indel

from radarstream.connectors.models.answer_agreement.accounting import Account, account
from radarstream.connectors.models.answer_agreement.additions import (
    are_places,
    is_known_addition,
)
from radarstream.connectors.models.answer_agreement.known_names import bare, expansions
from radarstream.connectors.models.answer_agreement.question import Asked
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.spelling import NEGATIONS
from radarstream.connectors.models.answer_agreement.tables import pattern
from radarstream.connectors.models.answer_agreement.values import (
    Match,
    Pair,
    Quantity,
    Value,
    compare_value,
    compare_values,
    is_share,
)
from radarstream.connectors.models.answer_agreement.words import HONORIFICS, TITLES, Word


class Likeness(Enum):
    """What the words and values of a premise and a hypothesis show; exactly one holds."""

    UNCOMMITTED = "uncommitted"  # one of them makes no claim that could agree or disagree
    SAME = "same"
    PREMISE_ADDS = "premise_adds"  # the premise says all of the hypothesis, and more
    HYPOTHESIS_ADDS = "hypothesis_adds"
    HYPOTHESIS_LISTS_MORE = "hypothesis_lists_more"  # the premise is part of the list
    VALUES_DIFFER = "values_differ"  # numbers, dates, given names, or yes against no
    WORDS_DIFFER = "words_differ"  # no content word in common
    KINDS_DIFFER = "kinds_differ"  # a number against a name
    PHRASES_DIFFER = "phrases_differ"  # short phrases with a word in common, others on both sides
    PARTLY_SHARED = "partly_shared"  # the same, but at least one is a sentence
    UNEXPLAINED = "unexplained"  # alike, but for words that nobody knows to be harmless


VARIANT_SPELLING = 0.7  # from here on, two given names may be one (Mohammed, Muhammad)
_MOST_PARTS = 6  # of a name
_BY_VALUES = {
    Match.SAME: Likeness.SAME,
    Match.PREMISE_FINER: Likeness.PREMISE_ADDS,
    Match.HYPOTHESIS_FINER: Likeness.HYPOTHESIS_ADDS,
    Match.PREMISE_DECIDES: Likeness.PREMISE_ADDS,
    Match.HYPOTHESIS_DECIDES: Likeness.UNCOMMITTED,
    Match.DIFFERENT: Likeness.VALUES_DIFFER,
    Match.COMPATIBLE: Likeness.UNCOMMITTED,
    Match.INCOMPARABLE: Likeness.KINDS_DIFFER,
}
_OPEN = (Match.PREMISE_DECIDES, Match.HYPOTHESIS_DECIDES, Match.COMPATIBLE)
_DIFFER = (Likeness.WORDS_DIFFER, Likeness.VALUES_DIFFER, Likeness.KINDS_DIFFER)
AGREEING = (
    Likeness.SAME,
    Likeness.PREMISE_ADDS,
    Likeness.HYPOTHESIS_ADDS,
    Likeness.HYPOTHESIS_LISTS_MORE,
)
_OFFICES = (TITLES - HONORIFICS) | {"prime-minister", "vice-president"}
_ADDRESSED = (frozenset(("mr", "sir", "lord")), frozenset(("ms", "mrs", "miss", "dame", "lady")))


def compare(premise: Reading, hypothesis: Reading) -> Likeness:
    """Relate two answers to the same question; swapping them mirrors the finding."""
    if premise.abstained or hypothesis.abstained:
        return Likeness.UNCOMMITTED
    if premise.is_spelt(hypothesis):
        return Likeness.SAME
    if premise.is_too_long or hypothesis.is_too_long:
        return Likeness.UNCOMMITTED
    return _compare_polarity(premise, hypothesis) or _compare_claims(premise, hypothesis)


def _compare_polarity(premise: Reading, hypothesis: Reading) -> Likeness | None:
    said, polar = (premise.says_yes, hypothesis.says_yes), premise.question.asked is Asked.YES_NO
    if premise.is_open != hypothesis.is_open and polar:
        return Likeness.UNCOMMITTED
    if None not in said:
        return Likeness.SAME if said[0] == said[1] else Likeness.VALUES_DIFFER
    only = premise if said[0] is not None else hypothesis
    if said == (None, None) or (not polar and (only.words or only.values)):
        return None
    return Likeness.KINDS_DIFFER


def _compare_claims(premise: Reading, hypothesis: Reading) -> Likeness:
    asks_value = premise.question.asked in (Asked.NUMBER, Asked.DATE)
    by_value = asks_value or premise.is_value_only or hypothesis.is_value_only
    match = compare_values(premise.values, hypothesis.values)
    both = bool(premise.values and hypothesis.values)
    if by_value and both:
        found = _BY_VALUES[match]
        if found is Likeness.HYPOTHESIS_ADDS and hypothesis.is_list and not premise.is_list:
            found = Likeness.HYPOTHESIS_LISTS_MORE
    elif by_value and (premise.values or hypothesis.values):
        return Likeness.KINDS_DIFFER
    elif not premise.words or not hypothesis.words:
        return Likeness.SAME if premise.words == hypothesis.words else Likeness.KINDS_DIFFER
    else:
        found = _compare_words(premise, hypothesis)
    if premise.is_open != hypothesis.is_open and found not in _DIFFER:
        return Likeness.UNCOMMITTED  # an answer that leaves a choice open commits itself to neither
    if by_value or not both or found is Likeness.WORDS_DIFFER:
        return found
    if match is Match.DIFFERENT:
        return Likeness.VALUES_DIFFER
    return Likeness.UNCOMMITTED if match in _OPEN and found in AGREEING else found


def _compare_words(premise: Reading, hypothesis: Reading) -> Likeness:
    """Relate two answers by the content words that they share."""
    discount = bool(premise.telling and hypothesis.telling)
    mine, theirs = (r.telling if discount else r.untitled for r in (premise, hypothesis))
    if mine == theirs:
        return Likeness.SAME
    if not any(len(key) > 1 or key.isdigit() for key in mine & theirs):
        return Likeness.WORDS_DIFFER
    if mine <= theirs:
        return Likeness.HYPOTHESIS_LISTS_MORE if hypothesis.is_list else Likeness.HYPOTHESIS_ADDS
    if theirs <= mine:
        return Likeness.PREMISE_ADDS
    if premise.is_sentence or hypothesis.is_sentence:
        return Likeness.PARTLY_SHARED
    given = (" ".join(sorted(words)) for words in (mine - theirs, theirs - mine))
    initials = any(len(word) == 1 for word in mine ^ theirs)
    named = "PERSON" in premise.question.traits and not initials
    if named and Indel.normalized_similarity(*given) < VARIANT_SPELLING:
        return Likeness.VALUES_DIFFER
    return Likeness.PHRASES_DIFFER


def is_parted(one: Reading, other: Reading) -> bool:
    """Whether no shorter text of either answer could agree with the other: one denies the other,
    says yes where it says no, names another office, or they share nothing.
    """
    polar = (one.says_yes, other.says_yes)
    return (
        any(r.abstained or r.is_open for r in (one, other))
        or (None not in polar and one.says_yes != other.says_yes)
        or bool(one.denied & other.all_keys or other.denied & one.all_keys)
        or _other_titles(one, other)
        or not _meet(one, other)
    )


def _meet(one: Reading, other: Reading) -> bool:
    """Whether two answers share a word or a value, or say which medal somebody won."""
    if (
        one.plain_words & other.plain_words
        or {"PLACE", "NUMBER", "YES_NO", "CHOICE"} & one.question.traits
    ):
        return True
    values = itertools.product(one.wording.values, other.wording.values)
    return any(compare_value(*pair) is Match.SAME for pair in values)


def understood(one: Reading, other: Reading, finding: Likeness, *, opposite: bool) -> Likeness:
    """The finding, or what is left of it once every difference must be understood.

    Two answers that balance word by word are the SAME unless they are `opposite`. Two identifiers
    or initials that do not fit are a disagreement. Agreement by containment stays where the
    extra words are a country, members of a list, the rest of a person's name or a description.
    """
    if one.is_spelt(other) or one.abstained or other.abstained:
        return finding
    if _expands(one, other) or _expands(other, one):
        return Likeness.SAME
    if not any(r.wording.tokens or r.wording.values for r in (one, other)):
        return finding
    told = account(one, other)
    if _says_the_same(one, other, told, opposite=opposite):
        return Likeness.SAME
    unlike = one.values or other.values or (told.mine and told.theirs)
    if finding is Likeness.UNCOMMITTED or (finding is Likeness.VALUES_DIFFER and unlike):
        return finding
    if opposite or told.swapped or _clash(one, other):
        return Likeness.VALUES_DIFFER
    return _not_balanced(one, other, told, finding)


def _not_balanced(one: Reading, other: Reading, told: Account, finding: Likeness) -> Likeness:
    """The finding for two answers of which one says something that the other does not."""
    if _denies_only_others(one, told.mine, other) or _denies_only_others(other, told.theirs, one):
        return Likeness.UNEXPLAINED if told.mine and told.theirs else Likeness.SAME
    if finding in AGREEING and _differs_in_values_only(one, other, told):
        return finding
    if one.says_yes is not None and one.says_yes == other.says_yes:
        return _elaborated(one, other)
    unexplained = Likeness.UNEXPLAINED if finding in AGREEING else finding
    if _other_titles(one, other) or told.turned or told.my_values or told.their_values:
        return unexplained
    scored = "SCORE" in one.question.traits and one.values == other.values
    if scored and not all(r.wording.tokens for r in (one, other)):
        return Likeness.HYPOTHESIS_ADDS if told.theirs else Likeness.PREMISE_ADDS
    mine = bool(told.mine) and is_known_addition(one, told.mine)
    theirs = bool(told.theirs) and is_known_addition(other, told.theirs)
    if theirs and not told.mine:
        places = are_places(other, {word.key for word in told.theirs})
        listed = other.is_list and not (one.is_list or places)
        return Likeness.HYPOTHESIS_LISTS_MORE if listed else Likeness.HYPOTHESIS_ADDS
    if mine and not told.theirs:
        return Likeness.PREMISE_ADDS
    return unexplained


def _elaborated(one: Reading, other: Reading) -> Likeness:
    """The finding for two that say yes, or no, and may say more."""
    said = " ".join(pattern("LEADING").sub("", r.marked.casefold()) for r in (one, other))
    qualified = set(pattern("QUALIFIES").findall(said)) - NEGATIONS
    return Likeness.UNEXPLAINED if qualified else Likeness.SAME


def _says_the_same(one: Reading, other: Reading, told: Account, *, opposite: bool) -> bool:
    polar = one.says_yes is not None and other.says_yes is not None
    if "WORK" in one.question.traits and told.reworded:
        return False
    if not told.balanced or (opposite and not told.negated and not polar):
        return False
    if (polar and one.says_yes != other.says_yes) or one.is_open != other.is_open:
        return False
    return not _other_titles(one, other) and not _other_initials(one, other)


def _denies_only_others(reading: Reading, extra: Sequence[Word], other: Reading) -> bool:
    """Whether all that one adds is that it is not something else: "Oslo, not Bergen"."""
    if not reading.denied or reading.denied & other.all_keys:
        return False
    rest = [t for t in extra if t.word not in NEGATIONS]
    named = all(t.is_name and t.key in reading.denied for t in rest)
    return 0 < len(rest) < len(extra) and named


def _differs_in_values_only(one: Reading, other: Reading, told: Account) -> bool:
    """Whether no word is left, and the values left are members of a list or more or less exact."""
    if told.mine or told.theirs or told.turned:
        return False
    left = (told.my_values, told.their_values)
    pairs = [any(isinstance(v, Pair) for v in side) for side in left]
    shares = [any(map(is_share, r.values)) for r in (one, other)]
    if pairs[0] != pairs[1] or ("COUNT" in one.question.traits and shares[0] != shares[1]):
        return False  # another score, another set, or a number and a range
    if all(left):
        mine, theirs = map(_dimensions, left)
        return (not (mine and theirs) or bool(mine & theirs)) and len(left[0]) == len(left[1])
    return (one.is_list or other.is_list) and "ALL" not in one.question.traits


def _dimensions(values: Sequence[Value]) -> set[str]:
    return {v.dimension for v in values if isinstance(v, Quantity) and v.dimension}


def _clash(one: Reading, other: Reading) -> bool:
    """Whether both have identifiers or scores of which none is the same, or one denies the other's
    words.
    """
    ids = [_identifiers(reading) for reading in (one, other)]
    if all(ids) and not ids[0] & ids[1]:
        return True
    pairs = [[v for v in r.wording.values if isinstance(v, Pair)] for r in (one, other)]
    if all(pairs) and len(pairs[0]) == len(pairs[1]) and pairs[0] != pairs[1]:
        return True
    claimed = [(r.telling or r.all_keys) - r.denied for r in (one, other)]
    denies = [r.denied - r.question.words for r in (one, other)]
    if all(claimed) and (denies[0] & claimed[1] or denies[1] & claimed[0]):
        return True
    return _other_initials(one, other)


def _identifiers(reading: Reading) -> frozenset[str]:
    """Words of letters and digits ("BA117", "uranium-235"), without marks between them."""
    found = (re.sub(r"\W", "", token).casefold() for token in pattern("ID").findall(reading.rest))
    return frozenset(found) - reading.question.words


def _other_initials(one: Reading, other: Reading) -> bool:
    """Whether a name of both has initials, or an initial and a name, that do not fit."""
    mine, theirs = _name_parts(one), _name_parts(other)
    if not (mine and theirs) or mine[-1] != theirs[-1] or len(mine[-1]) == 1:
        return False
    given = (mine[:-1], theirs[:-1])
    if not all(given) or not any(len(part) == 1 for parts in given for part in parts):
        return False
    if len(given[0]) == len(given[1]):
        return any(not _fits(a, b) for a, b in zip(*given, strict=True))
    if not any(a[0] == b[0] for a in given[0] for b in given[1]):
        return True
    if min(map(len, given)) == 1 and given[0][0][0] == given[1][0][0]:
        return False
    initials = [[part for part in parts if len(part) == 1] for parts in given]
    return all(initials) and initials[0] != initials[1]


def _name_parts(reading: Reading) -> list[str]:
    """The parts of an answer that is one name, initials included; empty for anything else."""
    parts = pattern("NAME_PART").findall(reading.affirmed)
    if " ".join(parts) != " ".join(reading.affirmed.split()) or len(parts) > _MOST_PARTS:
        return []
    names = (part.rstrip(".").casefold() for part in parts)
    return [name for name in names if name not in TITLES]


def _fits(one: str, other: str) -> bool:
    return (len(one) > 1 and len(other) > 1) or one[0] == other[0]


def _other_titles(one: Reading, other: Reading) -> bool:
    """Whether both have an office and not the same one (pope and saint), or "Mr" and "Ms"."""
    said = [{t.word for t in r.wording.tokens} for r in (one, other)]
    if any(a & said[0] and b & said[1] for a, b in (_ADDRESSED, _ADDRESSED[::-1])):
        return True
    mine, theirs = (words & _OFFICES for words in said)
    return bool(mine and theirs) and mine != theirs


def _expands(short: Reading, long: Reading) -> bool:
    if short.acronym is None or short.values or long.values:
        return False  # "ABC One" is no ABC
    known = expansions(short.acronym)
    capitals = "".join(re.findall(r"\b[A-Z](?=[a-z'-]+)", long.told.removeprefix("The ")))
    if not known and len(capitals) > 2 and short.acronym == capitals.casefold():
        return True
    return bare(long.told) in known or bool(known and known == expansions(long.acronym or ""))
