"""How two read answers to one question relate: one finding, and the soft evidence beside it."""

from enum import Enum

from rapidfuzz.distance import Indel

from radarstream.connectors.models.answer_agreement.question import Asked
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.values import Match, compare_values


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
AGREEING = (
    Likeness.SAME,
    Likeness.PREMISE_ADDS,
    Likeness.HYPOTHESIS_ADDS,
    Likeness.HYPOTHESIS_LISTS_MORE,
)


def compare(premise: Reading, hypothesis: Reading) -> Likeness:
    """Relate two answers to the same question; swapping them mirrors the finding."""
    if premise.abstained or hypothesis.abstained:
        return Likeness.UNCOMMITTED
    if premise.plain == hypothesis.plain:
        return Likeness.SAME
    if premise.is_too_long or hypothesis.is_too_long:
        return Likeness.UNCOMMITTED
    return _compare_polarity(premise, hypothesis) or _compare_claims(premise, hypothesis)


def _compare_polarity(premise: Reading, hypothesis: Reading) -> Likeness | None:
    said = (premise.says_yes, hypothesis.says_yes)
    if premise.is_open != hypothesis.is_open and premise.question.asked is Asked.YES_NO:
        return Likeness.UNCOMMITTED
    if None not in said:
        return Likeness.SAME if said[0] == said[1] else Likeness.VALUES_DIFFER
    if said != (None, None) and premise.question.asked is not Asked.YES_NO:
        bare = premise if premise.says_yes is not None else hypothesis
        return None if bare.words or bare.values else Likeness.KINDS_DIFFER
    return Likeness.KINDS_DIFFER if said != (None, None) else None


def _compare_claims(premise: Reading, hypothesis: Reading) -> Likeness:
    asks_value = premise.question.asked in (Asked.NUMBER, Asked.DATE)
    value_only = (premise.is_value_only, hypothesis.is_value_only)
    if premise.values and hypothesis.values and (asks_value or any(value_only)):
        found = _BY_VALUES[compare_values(premise.values, hypothesis.values)]
        if found is Likeness.HYPOTHESIS_ADDS and hypothesis.is_list and not premise.is_list:
            found = Likeness.HYPOTHESIS_LISTS_MORE
        return _with_alternatives(premise, hypothesis, found)
    if bool(premise.values) != bool(hypothesis.values) and (asks_value or any(value_only)):
        return Likeness.KINDS_DIFFER
    if not premise.words or not hypothesis.words:
        return Likeness.SAME if premise.words == hypothesis.words else Likeness.KINDS_DIFFER
    found = _with_alternatives(premise, hypothesis, _compare_words(premise, hypothesis))
    if premise.values and hypothesis.values and found is not Likeness.WORDS_DIFFER:
        return _with_values(found, compare_values(premise.values, hypothesis.values))
    return found


def _with_values(found: Likeness, match: Match) -> Likeness:
    """What words show, less what the values beside them leave open or contradict."""
    if match is Match.DIFFERENT:
        return Likeness.VALUES_DIFFER
    return Likeness.UNCOMMITTED if match in _OPEN and found in AGREEING else found


def _with_alternatives(premise: Reading, hypothesis: Reading, found: Likeness) -> Likeness:
    """An answer that leaves a choice open commits itself to neither."""
    differ = (Likeness.WORDS_DIFFER, Likeness.VALUES_DIFFER, Likeness.KINDS_DIFFER)
    if premise.is_open != hypothesis.is_open and found not in differ:
        return Likeness.UNCOMMITTED
    return found


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
    initials = any(len(word) == 1 for word in mine ^ theirs)
    if initials or not premise.question.wants_person:
        return Likeness.PHRASES_DIFFER
    given = (" ".join(sorted(words)) for words in (mine - theirs, theirs - mine))
    variants = Indel.normalized_similarity(*given) >= VARIANT_SPELLING
    return Likeness.PHRASES_DIFFER if variants else Likeness.VALUES_DIFFER
