"""Words of an answer that add nothing to what the other answer or the question says."""

import itertools
import re
from collections.abc import Sequence

from radarstream.connectors.models.answer_agreement.known_names import COUNTRIES, STATES
from radarstream.connectors.models.answer_agreement.phrases import NEGATIONS
from radarstream.connectors.models.answer_agreement.question import Asked, Question
from radarstream.connectors.models.answer_agreement.synonyms import alike, root_of, stem_of
from radarstream.connectors.models.answer_agreement.values import PartialDate
from radarstream.connectors.models.answer_agreement.wording import BOUNDS, Pair, Token, Wording
from radarstream.connectors.models.answer_agreement.words import HONORIFICS, TITLES, listed

# What a thing is, beside its name: the river Nile. Two of one row tell two things apart.
_KINDS_IN_ROWS = (
    listed(
        "city town village country state nation river ocean mountain mount motorway highway desert"
        " peninsula planet element sea lake island continent capital"
    ),
    listed(
        "show series sitcom film movie song album book novel game band opera app website language"
    ),
    listed("newspaper magazine museum party hurricane typhoon cyclone"),
    listed("company firm"),
)
KINDS = frozenset().union(*_KINDS_IN_ROWS) - {
    "lake",
    "island",
}  # Victoria and Lake Victoria are two
PLACES = listed("city town village country state nation island planet region province continent")
# Of these words each makes another office or person of the one that follows it.
RANKS = listed(
    "vice deputy lieutenant acting assistant junior senior ex former sister brother father mother"
    " son daughter husband wife under"
)
_SUFFIXES = listed(
    "fc afc inc ltd plc corp corporation co llc gmbh ag company sterling incorporated limited sa"
    " se nv bv spa holding holdings group cf sc oyj"
)
_LEGAL_FORMS = listed("inc corp corporation ltd limited plc llc company gmbh incorporated")
_BEFORE_LEGAL_FORM = listed(
    "motor motors platforms technologies international industries enterprises"
)
_WEEKDAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
_MEASURED = listed(
    "area height length weight speed speeds price distance depth width size temperature"
    " population amount sum period duration lasts lasted weighs weighed measures measured costs"
    " cost sold stands stood takes took fetched only just"
)
_EVENT = frozenset(("event", "occasion", "basis"))
_OF_A_COMPASS = listed("part side region area end direction horizon")
_COMPASS = re.compile(r"(?:north|south|east|west|left|right)\w*")
_OF_A_SCORE = listed("ended finished final score result")
_OF_A_DRAW = listed("draw drew tie tied drawn")
_OF_A_RANK = listed("place position rank spot finished finish placed ranked ended")
_DIRECTIONS = re.compile(
    r"(?:up|down|by|r[io]se[sn]?|rising|increas(?:e[sd]?|ing)|gr[eo]w[ns]?|grew|growth|climb(?:s|ed)?"
    r"|gain(?:s|ed)?|jump(?:s|ed)?|f[ae]ll(?:s|en)?|declin(?:e[sd]?|ing)|decreas(?:e[sd]?|ing)"
    r"|drop(?:s|ped)?|lost|dipped|shrank|higher|lower|increase|minus|plus)"
)
_COUNTED = listed(
    "people person persons per long tall high deep wide time times from aged anyone old late"
    " members individuals workers inhabitants away year local"
)
# Verbs that only join the answer to its subject, where the question has no verb of its own.
_JOINING = listed(
    "made make makes making carry carries carried carrying contain contains contained include"
    " includes included hold holds held keep keeps kept show shows showed serve serves used uses"
    " goes go went got gets come comes came remain remains remained stay stays event"
)
_PARTICLES = listed("up down off over out away back through")
_MAINLY = listed("mainly chiefly primarily principally from according only")
_FUTURE = frozenset(("will", "would"))
_PLANNED = listed("plan plans planned intend intends expects hopes wants")
_OWNED = re.compile(r"\b(\w+) of (?!the\b)(?=\w)")
_REASONS = frozenset(("why", "cause", "causes", "caused", "reason"))


def without_harmless(
    left: Sequence[Token],
    others: Sequence[Token],
    question: Question,
    wording: Wording,
    *,
    told: bool,
) -> tuple[Token, ...]:
    """The words of `left` that say more than the question and the other answer.

    `others` are the words left of the other answer; `told` tells that both state values.
    """
    if not left:
        return ()
    free = _free_words(others, question, wording, told=told)
    return tuple(
        token
        for token in left
        if token.word in BOUNDS
        or token.word in NEGATIONS
        or not (
            token.word in free
            or is_asked(token, question)
            or (told and _DIRECTIONS.fullmatch(token.word))
            or (_is_initial(token) and token is not wording.tokens[-1])
        )
    )


def _free_words(
    others: Sequence[Token], question: Question, wording: Wording, *, told: bool
) -> frozenset[str]:
    """Words that add nothing beside the other words of this answer."""
    words = {token.word for token in wording.tokens}
    sharp = any(t.is_name or any(c.isdigit() for c in t.word) for t in wording.tokens)
    named = any(t.is_name and t.word not in TITLES for t in wording.tokens)
    pairs = [value for value in wording.values if isinstance(value, Pair)]
    said = {t.word for t in others} | question.said
    apart = frozenset().union(*(row for row in _KINDS_IN_ROWS if row & said))
    joins = not others and question.is_copular and not words & _PARTICLES
    titles_apart = any(t.word in TITLES - HONORIFICS for t in others)
    owned = frozenset(_OWNED.findall(wording.text.casefold()))
    rules = (
        (_SUFFIXES - owned, True),
        (KINDS - apart - _of_other_places(wording) - (owned - PLACES), sharp),
        (_BEFORE_LEGAL_FORM, bool(words & _LEGAL_FORMS)),
        (_MEASURED, told and not any(t.word in _MEASURED for t in others)),
        (_EVENT, any(word.startswith("rate") for word in words)),
        (_WEEKDAYS, _is_dated(wording, question) and not any(t.word in _WEEKDAYS for t in others)),
        (_JOINING, joins),
        (_MAINLY, not others),
        (_OF_A_COMPASS, any(_COMPASS.fullmatch(word) for word in words)),
        (_OF_A_RANK, told or bool(words & {"last", "final", "top"})),
        (_COUNTED, told),
        (_OF_A_SCORE, bool(pairs)),
        (_OF_A_DRAW, any(pair.first == pair.second for pair in pairs)),
        (frozenset({"because"}), bool(_REASONS & question.said)),
        (frozenset({"ago"}), "old" in question.said),
        (TITLES - RANKS - owned, named and not titles_apart),
    )
    return frozenset().union(*(free for free, holds in rules if holds))


def _is_dated(wording: Wording, question: Question) -> bool:
    """Whether a day of the week adds nothing: beside a date, or behind a yes."""
    if question.asked is Asked.YES_NO:
        return True
    return any(isinstance(v, PartialDate) and v.day for v in wording.values)


def _of_other_places(wording: Wording) -> frozenset[str]:
    """Kinds that make another place of a name: Kansas City, Michigan State University."""
    tokens = wording.tokens
    behind = {b.word for a, b in itertools.pairwise(tokens) if a.is_name and b.is_name}
    places = any(t.key in COUNTRIES | STATES for t in tokens)
    return frozenset(behind & ({"state", "city"} if places else {"state"}))


def _is_initial(token: Token) -> bool:
    return len(token.word) == 1 and token.surface.isupper() and token.word.isalpha()


def is_asked(token: Token, question: Question) -> bool:
    """Whether a word repeats one of the question, in this or another form."""
    if token.key in question.words or token.stem in {stem_of(word) for word in question.said}:
        return True
    if token.is_name and token.word not in KINDS:
        return False
    if token.word in _PLANNED and question.said & _FUTURE:
        return True
    return any(alike(token.word, w) or root_of(token.word) == root_of(w) for w in question.said)
