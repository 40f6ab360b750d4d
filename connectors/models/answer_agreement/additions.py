"""What an answer may add to another and still agree with it: a country, a given name, a title."""

import itertools
import re
from collections.abc import Sequence

from radarstream.connectors.models.answer_agreement import meanings, values
from radarstream.connectors.models.answer_agreement.question import Question
from radarstream.connectors.models.answer_agreement.reading import Reading, Wording
from radarstream.connectors.models.answer_agreement.spelling import NEGATIONS
from radarstream.connectors.models.answer_agreement.tables import pattern, words
from radarstream.connectors.models.answer_agreement.words import GIVEN, HONORIFICS, TITLES, Word

# What a thing is, beside its name: the river Nile. Two of one row tell two things apart.
_KINDS_IN_ROWS = tuple(words(f"kinds_{number}") for number in range(1, 5))
# Victoria and Lake Victoria are two.
_KINDS = frozenset().union(*_KINDS_IN_ROWS) - {"lake", "island"}
_COUNT = NEGATIONS | frozenset(values.BOUND_MARKS)  # words that are never harmless
_MOST_OF_ITEM = 3  # words


def without_harmless(
    left: Sequence[Word],
    others: Sequence[Word],
    question: Question,
    wording: Wording,
    *,
    valued: bool,
) -> tuple[Word, ...]:
    """The words of `left` that say more than the question and the other answer.

    `others` are the words left of the other answer; `valued` tells that both state values.
    """
    if not left or any(token.word == "per" for token in wording.tokens):
        return tuple(left)
    titled = {t.word for t in wording.tokens[1:] if t.is_name} & words("kinds_2")
    free = _free_words(others, question, wording, titled, valued=valued)
    initials = [t for t in wording.tokens[:-1] if len(t.word) == 1 and t.surface.isupper()]

    def is_free(token: Word) -> bool:
        return (
            token.word in free
            or (token.word not in titled and is_asked(token, question))
            or (valued and bool(pattern("DIRECTION").fullmatch(token.word)))
            or token in initials
        )

    return tuple(token for token in left if token.word in _COUNT or not is_free(token))


def _free_words(
    others: Sequence[Word], question: Question, wording: Wording, titled: set[str], *, valued: bool
) -> frozenset[str]:
    """Words that add nothing beside the other words of this answer."""
    here, theirs = {token.word for token in wording.tokens}, {token.word for token in others}
    sharp = any(t.is_name or any(c.isdigit() for c in t.word) for t in wording.tokens)
    named = any(t.is_name and t.word not in TITLES for t in wording.tokens)
    pairs = values.of_kind("pair", wording.values)
    apart = frozenset().union(*(r for r in _KINDS_IN_ROWS if r & (theirs | question.said)))
    owned = frozenset(pattern("OWNED").findall(wording.text.casefold()))
    kinds = _KINDS - apart - titled - _of_other_places(wording) - (owned - words("places"))
    dated = values.of_kind("date", wording.values) and not theirs & words("weekdays")
    last = {t.word for t in wording.tokens[2:][-1:] if t.is_name and "," not in wording.text}
    titles = TITLES - words("ranks") - owned - last  # Stephen King
    rules = (
        (words("suffixes") - owned, True),
        (kinds, sharp),
        (words("before_legal_form"), here & words("legal_forms")),
        (words("measured"), valued and not theirs & words("measured")),
        (words("events"), any(word.startswith("rate") for word in here)),
        (words("weekdays"), dated),
        (words("joining"), not (others or here & words("particles"))),
        (words("mainly"), not others),
        (words("of_a_compass"), any(pattern("SIDE").fullmatch(word) for word in here)),
        (words("of_a_rank"), valued or here & {"last", "final", "top"}),
        (words("counted"), valued),
        (words("of_a_score"), pairs),
        (words("of_a_draw"), any(pair.parts[0] == pair.parts[1] for pair in pairs)),
        (words("of_a_version"), "VERSION" in question.traits),
        ({"because"}, words("reasons") & question.said),
        ({"ago"}, "old" in question.said),
        (words("of_a_share"), valued and any(map(values.is_share, wording.values))),
        (titles, named and "OFFICE" not in question.traits and not theirs & (TITLES - HONORIFICS)),
    )
    return frozenset().union(*(free for free, holds in rules if holds))


def _of_other_places(wording: Wording) -> frozenset[str]:
    """Kinds that make another place of a name: Kansas City, Michigan State University."""
    pairs = itertools.pairwise(wording.tokens)
    behind = {b.word for a, b in pairs if a.is_name and b.is_name}
    places = any(t.key in meanings.COUNTRIES | meanings.STATES for t in wording.tokens)
    return frozenset(behind & ({"state", "city"} if places else {"state"}))


def is_asked(token: Word, question: Question) -> bool:
    """Whether a word repeats one of the question, in this or another form."""
    stems = {meanings.stem_of(word) for word in question.said}
    if token.key in question.words or meanings.stem_of(token.word) in stems:
        return True
    if token.is_name and token.word not in _KINDS:
        return False
    if token.word in words("planned") and question.said & {"will", "would"}:
        return True
    root = meanings.root_of(token.word)
    return any(meanings.alike(token.word, w) or root == meanings.root_of(w) for w in question.said)


def is_known_addition(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether the words that only one answer has are a kind of detail that takes nothing back."""
    keys, traits, tokens = {t.key for t in extra}, reading.question.traits, reading.wording.tokens
    money = reading.question.said & {"currency", "money"}
    if money and all(meanings.is_of_a_country(t.word) for t in extra):
        return not any(t.word.startswith("dollar") for t in tokens)
    if are_places(reading, keys) or _is_maker(reading, extra):
        return True
    if reading.is_list and not {"ALL", "WORK"} & traits and _are_items(reading, keys):
        return True
    junior = [t.word for t in extra] == ["junior"] and tokens[-1] in extra and len(tokens) > 2
    return junior or ("PERSON" in traits and _are_given_names(reading, extra))


def are_places(reading: Reading, keys: set[str]) -> bool:
    """Whether these words are the state or country in which the best known such place is."""
    countries, rest = keys & meanings.COUNTRIES, keys - meanings.COUNTRIES
    places = {t.key for t in reading.wording.tokens} - keys
    if pattern("ANY_JOINED").search(reading.affirmed) or places & meanings.COUNTRIES:
        return False  # a list of countries
    if countries:
        rest = {key for key in rest if not pattern("COMPASS").fullmatch(key)}
    if (rest and not meanings.is_state(rest)) or not (rest or countries):
        return False
    known = places & meanings.BEST_KNOWN.keys()
    several = rest and places & meanings.SEVERAL_PLACES - meanings.BEST_KNOWN.keys()
    return all(meanings.BEST_KNOWN[place] & keys for place in known) and not several


def _is_maker(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether the extra words are names in front of a model's number or code: "Airbus A380"."""
    text = " ".join(t.surface for t in extra)
    before = re.match(rf"\W*(?:the )?{re.escape(text)} (?=\w*\d|Model )", reading.affirmed)
    return bool(before) and all(t.is_name for t in extra)


def _are_items(reading: Reading, extra: set[str]) -> bool:
    """Whether the extra words are whole members of a list."""
    added = [item for item in reading.items if item <= extra and len(item) <= _MOST_OF_ITEM]
    return bool(added) and extra == frozenset().union(*added)


def _are_given_names(reading: Reading, extra: Sequence[Word]) -> bool:
    """Whether the extra words are names before a person's family name."""
    particles, tokens = words("name_particles"), reading.wording.tokens
    keys = [word.key for word in reading.words if not word.is_title]
    extra = [t for t in extra if t.word not in particles]
    if not extra or not keys:
        return bool(keys) and len(tokens) > 1
    alone = [t for t in tokens if t not in extra and t.word not in particles]
    if alone == [tokens[0]] and tokens[0].word not in GIVEN | TITLES:
        return all(t.is_name and t.word not in words("ranks") | TITLES for t in extra)
    uncapped = len(reading.affirmed.split()) == len(reading.words) <= _MOST_OF_ITEM
    uncapped = uncapped and reading.affirmed.islower()
    named = all((t.is_name or uncapped) and t.word not in words("ranks") for t in extra)
    if not named or keys[-1] in {t.key for t in extra}:
        return False
    of = {a for a, b in itertools.pairwise(reading.affirmed.split()) if b == "of"}
    behind = {a: b.word for a, b in itertools.pairwise(tokens)}
    apart = any(
        t.word in words("told_apart")  # John Quincy Adams is not John Adams
        or t.surface in of  # "the King of"
        or behind.get(t) in TITLES  # "Foreign Minister"
        for t in extra
    )
    return not apart and not meanings.has_other_bearer(keys[-1], keys)
