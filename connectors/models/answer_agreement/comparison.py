"""How two read answers to one question relate: one finding.

First what they share decides. But each could hide its real claim in a word that nobody shares
("anyone but Lima"), in a number's place, or in an order of words. So agreement counts only where
every word and value of each is found in the other, in the question, or in a list of words that add
nothing; else the pair is UNEXPLAINED.
"""

import re
from collections.abc import Sequence

from rapidfuzz.distance import Indel

from radarstream.connectors.models.answer_agreement import values
from radarstream.connectors.models.answer_agreement.accounting import Account, account
from radarstream.connectors.models.answer_agreement.additions import are_places, is_known_addition
from radarstream.connectors.models.answer_agreement.meanings import bare, expansions, opposed
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.spelling import NEGATIONS
from radarstream.connectors.models.answer_agreement.tables import pattern
from radarstream.connectors.models.answer_agreement.values import AGREEING, Likeness
from radarstream.connectors.models.answer_agreement.words import HONORIFICS, TITLES, Word

_DIFFER = (Likeness.WORDS_DIFFER, Likeness.VALUES_DIFFER)
_VARIANT_SPELLING = 0.7  # from here on, two given names may be one (Mohammed, Muhammad)
_MOST_PARTS = 6  # of a name
_OFFICES = (TITLES - HONORIFICS) | {"prime-minister", "vice-president"}
_ADDRESSED = (frozenset(("mr", "sir", "lord")), frozenset(("ms", "mrs", "miss", "dame", "lady")))


def relate(one: Reading, other: Reading) -> Likeness:
    """The finding for a premise and a hypothesis: what both share, less what is not understood.

    Two answers that balance word by word are the SAME unless they say opposite things. Two
    identifiers or initials that do not fit are a disagreement. Agreement by containment stays where
    the extra words are a country, members of a list, the rest of a person's name or a description.
    """
    if one.abstained or other.abstained:
        return Likeness.UNCOMMITTED
    if one.letters == other.letters:
        return Likeness.SAME
    if one.is_too_long or other.is_too_long:
        return Likeness.UNCOMMITTED
    if _expands(one, other) or _expands(other, one):
        return Likeness.SAME
    finding = _by_claims(one, other)
    if not any(r.wording.tokens or r.wording.values for r in (one, other)):
        return finding
    left = account(one, other)
    opposite = opposed(one.in_order, other.in_order)
    if _says_the_same(one, other, left, opposite=opposite):
        return Likeness.SAME
    if opposite or left.swapped or _clash(one, other):
        return Likeness.VALUES_DIFFER
    return _by_what_is_left(one, other, left, finding)


def _by_claims(premise: Reading, hypothesis: Reading) -> Likeness:
    """The finding by yes and no, by the values of both, or by the content words that they share."""
    said = (premise.says_yes, hypothesis.says_yes)
    if None not in said:
        return Likeness.SAME if said[0] == said[1] else Likeness.VALUES_DIFFER
    asks_value = premise.question.asked in ("NUMBER", "DATE")
    by_value = asks_value or premise.is_value_only or hypothesis.is_value_only
    match = values.compare_values(premise.values, hypothesis.values)
    both = bool(premise.values and hypothesis.values)
    if by_value and both:
        finding = match
    elif by_value and (premise.values or hypothesis.values):
        return Likeness.WORDS_DIFFER
    else:
        finding = _by_words(premise, hypothesis)
    if premise.is_open != hypothesis.is_open and finding not in _DIFFER:
        return Likeness.UNCOMMITTED  # an answer that leaves a choice open commits itself to neither
    if match is Likeness.VALUES_DIFFER and finding is not Likeness.WORDS_DIFFER:
        return Likeness.VALUES_DIFFER
    return Likeness.UNCOMMITTED if match is Likeness.UNCOMMITTED else finding


def _by_words(premise: Reading, hypothesis: Reading) -> Likeness:
    mine, theirs = premise.telling, hypothesis.telling
    if not (mine and theirs):
        mine, theirs = (
            frozenset(w.key for w in r.words if not w.is_title) or r.all_keys
            for r in (premise, hypothesis)
        )
    if mine != theirs and not any(len(key) > 1 for key in mine & theirs):
        return Likeness.WORDS_DIFFER
    if mine <= theirs or theirs <= mine:
        return Likeness.SAME
    if premise.is_sentence or hypothesis.is_sentence:
        return Likeness.PARTLY_SHARED
    given = (" ".join(sorted(words)) for words in (mine - theirs, theirs - mine))
    initials = any(len(word) == 1 for word in mine ^ theirs)
    named = "PERSON" in premise.question.traits and not initials
    if named and Indel.normalized_similarity(*given) < _VARIANT_SPELLING:
        return Likeness.VALUES_DIFFER
    return Likeness.PHRASES_DIFFER


def _by_what_is_left(one: Reading, other: Reading, left: Account, finding: Likeness) -> Likeness:
    """The finding for two answers of which one says something that the other does not."""
    mine, theirs = left.words
    if _denies_only_others(one, mine) or _denies_only_others(other, theirs):
        return Likeness.UNEXPLAINED if mine and theirs else Likeness.SAME
    if finding in AGREEING and _differs_in_values_only(one, other, left):
        return finding
    if one.says_yes is not None and one.says_yes == other.says_yes:
        return _elaborated(one, other)
    unexplained = Likeness.UNEXPLAINED if finding in AGREEING else finding
    if _other_titles(one, other) or left.turned or any(left.values):
        return unexplained
    if theirs and not mine and is_known_addition(other, theirs):
        places = are_places(other, {word.key for word in theirs})
        listed = other.is_list and not (one.is_list or places)
        return Likeness.HYPOTHESIS_LISTS_MORE if listed else Likeness.HYPOTHESIS_ADDS
    if mine and not theirs and is_known_addition(one, mine):
        return Likeness.PREMISE_ADDS
    return unexplained


def _elaborated(one: Reading, other: Reading) -> Likeness:
    """The finding for two that say yes, or no, and may say more."""
    said = " ".join(pattern("LEADING").sub("", r.marked.casefold()) for r in (one, other))
    name = "QUALIFIES" if one.says_yes else "QUALIFIES_NO"
    qualified = set(pattern(name).findall(said)) - NEGATIONS
    return Likeness.UNEXPLAINED if qualified else Likeness.SAME


def _says_the_same(one: Reading, other: Reading, left: Account, *, opposite: bool) -> bool:
    polar = None not in (one.says_yes, other.says_yes)
    return (
        left.balanced
        and not (left.reworded and "WORK" in one.question.traits)
        and (not opposite or left.negated or polar)
        and one.is_open == other.is_open
        and not (_other_titles(one, other) or _other_initials(one, other))
    )


def _denies_only_others(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether all that one adds is that it is not something else: "Oslo, not Bergen"."""
    rest = [t for t in extra if t.word not in NEGATIONS]
    named = all(t.is_name and t.key in reading.denied for t in rest)
    return 0 < len(rest) < len(extra) and named


def _differs_in_values_only(one: Reading, other: Reading, left: Account) -> bool:
    """Whether no word is left, and the values left are members of a list or more or less exact."""
    if any(left.words) or left.turned:
        return False
    pairs = [bool(values.of_kind("pair", side)) for side in left.values]
    shares = [any(map(values.is_share, r.values)) for r in (one, other)]
    if pairs[0] != pairs[1] or ("COUNT" in one.question.traits and shares[0] != shares[1]):
        return False  # another score, another set, or a number and a range
    if all(left.values):
        return len(left.values[0]) == len(left.values[1])
    return (one.is_list or other.is_list) and "ALL" not in one.question.traits


def _clash(one: Reading, other: Reading) -> bool:
    """Whether both have identifiers or scores of which none is the same, or one denies the other's
    words.
    """
    ids = [_identifiers(reading) for reading in (one, other)]
    if all(ids) and not ids[0] & ids[1]:
        return True
    pairs = [values.of_kind("pair", r.wording.values) for r in (one, other)]
    if all(pairs) and len(pairs[0]) == len(pairs[1]) and pairs[0] != pairs[1]:
        return True
    claimed = [(r.telling or r.all_keys) - r.denied for r in (one, other)]
    denies = [r.denied - r.question.words for r in (one, other)]
    denied = all(claimed) and bool(denies[0] & claimed[1] or denies[1] & claimed[0])
    return denied or _other_initials(one, other)


def _identifiers(reading: Reading) -> frozenset[str]:
    """Words of letters and digits ("BA117", "uranium-235"), without marks between them."""
    finding = (re.sub(r"\W", "", token).casefold() for token in pattern("ID").findall(reading.rest))
    return frozenset(finding) - reading.question.words


def _other_initials(one: Reading, other: Reading) -> bool:
    """Whether a name of both has initials, or an initial and a name, that do not fit."""
    (*mine, family), (*theirs, also) = (_name_parts(reading) or [""] for reading in (one, other))
    initials = [[part for part in given if len(part) == 1] for given in (mine, theirs)]
    if not (mine and theirs and any(initials)) or family != also or len(family) == 1:
        return False
    fits = any(a[0] == b[0] for a in mine for b in theirs)
    return not fits or (all(initials) and initials[0] != initials[1])


def _name_parts(reading: Reading) -> list[str]:
    """The parts of an answer that is one name, initials included; empty for anything else."""
    parts = pattern("NAME_PART").findall(reading.affirmed)
    if " ".join(parts) != " ".join(reading.affirmed.split()) or len(parts) > _MOST_PARTS:
        return []
    names = (part.rstrip(".").casefold() for part in parts)
    return [name for name in names if name not in TITLES]


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
    capitals = "".join(re.findall(r"\b[A-Z](?=[a-z'-]+)", long.claim.removeprefix("The ")))
    if not known and len(capitals) > 2 and short.acronym == capitals.casefold():
        return True
    return bare(long.claim) in known or bool(known and known == expansions(long.acronym or ""))


def is_parted(one: Reading, other: Reading) -> bool:
    """Whether no shorter text of either answer could agree with the other: one denies the other,
    says yes where it says no, or names another office.
    """
    polar = (one.says_yes, other.says_yes)
    return (
        any(r.abstained or r.is_open for r in (one, other))
        or (None not in polar and one.says_yes != other.says_yes)
        or bool(one.denied & other.all_keys or other.denied & one.all_keys)
        or _other_titles(one, other)
    )
