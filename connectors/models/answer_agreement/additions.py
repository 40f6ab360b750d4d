"""What an answer may add to another and still agree with it: a country, a given name, a title."""

import itertools
import re
from collections.abc import Sequence

from radarstream.connectors.models.answer_agreement.known_names import (
    BEST_KNOWN,
    COUNTRIES,
    SEVERAL_PLACES,
    STATES,
    has_other_bearer,
    is_state,
)
from radarstream.connectors.models.answer_agreement.question import Asked, Question
from radarstream.connectors.models.answer_agreement.reading import Reading, Wording
from radarstream.connectors.models.answer_agreement.spelling import NEGATIONS
from radarstream.connectors.models.answer_agreement.synonyms import (
    alike,
    is_of_a_country,
    root_of,
    stem_of,
)
from radarstream.connectors.models.answer_agreement.tables import pattern, words
from radarstream.connectors.models.answer_agreement.values import (
    BOUND_MARKS,
    Pair,
    PartialDate,
    is_share,
)
from radarstream.connectors.models.answer_agreement.words import HONORIFICS, TITLES, Word, is_given

# What a thing is, beside its name: the river Nile. Two of one row tell two things apart.
_KINDS_IN_ROWS = tuple(words(f"kinds_{number}") for number in range(1, 5))
# Victoria and Lake Victoria are two.
_KINDS = frozenset().union(*_KINDS_IN_ROWS) - {"lake", "island"}
_MOST_OF_ITEM = 3  # words
_FUTURE = frozenset(("will", "would"))


def without_harmless(
    left: Sequence[Word],
    others: Sequence[Word],
    question: Question,
    wording: Wording,
    *,
    told: bool,
) -> tuple[Word, ...]:
    """The words of `left` that say more than the question and the other answer.

    `others` are the words left of the other answer; `told` tells that both state values.
    """
    if not left or any(token.word == "per" for token in wording.tokens):
        return tuple(left)
    titled = {t.word for t in wording.tokens[1:] if t.is_name} & words("kinds_2")
    free = _free_words(others, question, wording, told=told)

    def is_free(token: Word) -> bool:
        initial = len(token.word) == 1 and token.surface.isupper() and token.word.isalpha()
        return (
            token.word in free
            or (token.word not in titled and is_asked(token, question))
            or (told and bool(pattern("DIRECTION").fullmatch(token.word)))
            or (initial and token is not wording.tokens[-1])
        )

    counts = NEGATIONS | frozenset(BOUND_MARKS)
    return tuple(token for token in left if token.word in counts or not is_free(token))


def _free_words(
    others: Sequence[Word], question: Question, wording: Wording, *, told: bool
) -> frozenset[str]:
    """Words that add nothing beside the other words of this answer."""
    here, theirs = {token.word for token in wording.tokens}, {token.word for token in others}
    sharp = any(t.is_name or any(c.isdigit() for c in t.word) for t in wording.tokens)
    named = any(t.is_name and t.word not in TITLES for t in wording.tokens)
    pairs = [value for value in wording.values if isinstance(value, Pair)]
    apart = frozenset().union(*(r for r in _KINDS_IN_ROWS if r & (theirs | question.said)))
    owned = frozenset(pattern("OWNED").findall(wording.text.casefold()))
    titled = {t.word for t in wording.tokens[1:] if t.is_name} & words("kinds_2")
    kinds = _KINDS - apart - titled - _of_other_places(wording) - (owned - words("places"))
    joins = "WHAT_IS" in question.traits and not here & words("particles")
    dated = any(isinstance(v, PartialDate) and v.day for v in wording.values)
    behind = set[str]()
    last = wording.tokens[-1] if wording.tokens else None
    if last and last.is_name and len(wording.tokens) > 2 and "," not in wording.text:
        behind = {last.word}  # Stephen King
    free_titles = named and "OFFICE" not in question.traits and not theirs & (TITLES - HONORIFICS)
    rules = (
        (words("suffixes") - owned, True),
        (kinds, sharp),
        (words("before_legal_form"), here & words("legal_forms")),
        (words("measured"), told and not theirs & words("measured")),
        (words("events"), any(word.startswith("rate") for word in here)),
        (
            words("weekdays"),
            (dated or question.asked is Asked.YES_NO) and not theirs & words("weekdays"),
        ),
        (words("joining"), joins and not others),
        (words("mainly"), not others),
        (words("of_a_compass"), any(pattern("SIDE").fullmatch(word) for word in here)),
        (words("of_a_rank"), told or here & {"last", "final", "top"}),
        (words("counted"), told),
        (words("of_a_score"), pairs),
        (words("of_a_draw"), any(pair.first == pair.second for pair in pairs)),
        (words("of_a_version"), "VERSION" in question.traits),
        (frozenset({"because"}), words("reasons") & question.said),
        (frozenset({"ago"}), "old" in question.said),
        (
            words("of_a_share"),
            told and any(map(is_share, wording.values)),
        ),
        (TITLES - words("ranks") - owned - behind, free_titles),
    )
    return frozenset().union(*(free for free, holds in rules if holds))


def _of_other_places(wording: Wording) -> frozenset[str]:
    """Kinds that make another place of a name: Kansas City, Michigan State University."""
    pairs = itertools.pairwise(wording.tokens)
    behind = {b.word for a, b in pairs if a.is_name and b.is_name}
    places = any(t.key in COUNTRIES | STATES for t in wording.tokens)
    return frozenset(behind & ({"state", "city"} if places else {"state"}))


def is_asked(token: Word, question: Question) -> bool:
    """Whether a word repeats one of the question, in this or another form."""
    if token.key in question.words or stem_of(token.word) in {
        stem_of(word) for word in question.said
    }:
        return True
    if token.is_name and token.word not in _KINDS:
        return False
    if token.word in words("planned") and question.said & _FUTURE:
        return True
    return any(alike(token.word, w) or root_of(token.word) == root_of(w) for w in question.said)


def is_known_addition(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether the words that only one answer has are a kind of detail that takes nothing back."""
    keys, traits = {token.key for token in extra}, reading.question.traits
    if {"currency", "money"} & reading.question.said and all(
        is_of_a_country(t.word) for t in extra
    ):
        return not any(t.word.startswith("dollar") for t in reading.wording.tokens)
    if are_places(reading, keys):
        return True
    if reading.is_list and not {"ALL", "WORK"} & traits and _are_items(reading, keys):
        return True
    if _is_maker(reading, extra):
        return True
    behind_name = [t.word for t in extra] == ["junior"] and len(reading.wording.tokens) > 2
    return _are_given_names(reading, extra) or (behind_name and reading.wording.tokens[-1] in extra)


def are_places(reading: Reading, keys: set[str]) -> bool:
    """Whether these words are the state or country in which the best known such place is."""
    countries, rest = keys & COUNTRIES, keys - COUNTRIES
    places = {t.key for t in reading.wording.tokens} - keys
    if pattern("ANY_JOINED").search(reading.affirmed) or places & COUNTRIES:
        return False  # a list of countries
    if countries:
        rest = {key for key in rest if not pattern("COMPASS").fullmatch(key)}
    if (rest and not is_state(rest)) or not (rest or countries):
        return False
    known = places & BEST_KNOWN.keys()
    several = rest and places & SEVERAL_PLACES - BEST_KNOWN.keys()
    return all(BEST_KNOWN[place] & keys for place in known) and not several


def _is_maker(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether the extra words are names in front of a model's number or code: "Airbus A380"."""
    text = " ".join(t.surface for t in extra)
    return all(t.is_name for t in extra) and bool(
        re.match(rf"\W*(?:the )?{re.escape(text)} (?=\w*\d|Model )", reading.affirmed)
    )


def _are_items(reading: Reading, extra: set[str]) -> bool:
    """Whether the extra words are whole members of a list."""
    added = [item for item in reading.items if item <= extra and len(item) <= _MOST_OF_ITEM]
    return bool(added) and extra == frozenset().union(*added)


def _are_given_names(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether people are asked for and the extra words are names before a family name."""
    if "PERSON" not in reading.question.traits:
        return False
    count, keys = len(reading.affirmed.split()), list(reading.name_sequence)
    particles = words("name_particles")
    extra = [t for t in extra if t.word not in particles]
    if not extra or not keys:
        return bool(keys) and len(reading.wording.tokens) > 1
    alone = [t for t in reading.wording.tokens if t not in extra and t.word not in particles]
    if len(alone) == 1 and reading.wording.tokens[0] is alone[0] and not is_given(alone[0].word):
        return all(t.is_name and t.word not in words("ranks") | TITLES for t in extra)
    uncapped = count == len(reading.words) <= _MOST_OF_ITEM and reading.affirmed.islower()
    named = all((t.is_name or uncapped) and t.word not in words("ranks") for t in extra)
    if not keys or not named or keys[-1] in {t.key for t in extra}:
        return False
    if {t.word for t in extra} & words("told_apart"):
        return False  # John Quincy Adams is not John Adams
    if {t.surface for t in extra} & set(re.findall(r"\b(\w+) of\b", reading.affirmed)):
        return False  # "the King of"
    behind = {a: b.word for a, b in itertools.pairwise(reading.wording.tokens)}
    if any(behind.get(token) in TITLES for token in extra):
        return False  # "Foreign Minister"
    return not has_other_bearer(keys[-1], keys)
