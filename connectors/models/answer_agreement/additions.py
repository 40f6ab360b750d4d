"""What an answer may add to another and still agree with it: a country, a given name, a title.

Each kind is read from where the words stand, and takes nothing back of what both say.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from radarstream.connectors.models.answer_agreement.accounting import Account
from radarstream.connectors.models.answer_agreement.harmless import KINDS, PLACES, RANKS
from radarstream.connectors.models.answer_agreement.known_names import (
    BEST_KNOWN,
    COUNTRIES,
    SEVERAL_PLACES,
    has_other_bearer,
    is_state,
)
from radarstream.connectors.models.answer_agreement.phrases import one_spelling
from radarstream.connectors.models.answer_agreement.question import Asked
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.synonyms import is_of_a_country
from radarstream.connectors.models.answer_agreement.wording import Token, word_by_word
from radarstream.connectors.models.answer_agreement.words import TITLES, key_of

_MOST_OF_ITEM = 3  # words
_MOST_BEFORE_NAME = 8  # words
_BEHIND = re.compile(r"^(?P<named>[^,]+), (?P<told>[^,]*)$")  # an apposition
_JOINED = re.compile(r"\b(?:and|or)\b|&|/")
_OWNED = re.compile(r"\b(\w+) of\b")
_COMPASS = re.compile(r"(?:north|south|east|west|central)\w*")
_SAINTS = frozenset(("saint", "st"))  # of a place's name rather than an office
_LOCATED = re.compile(
    r"^(?P<named>[^,]*[A-Z][^,]*) in (?P<told>(?:the )?[A-Z][\w' -]*(?:, [A-Z][\w' -]*)*)$"
    r"|^(?P<thing>[^,]+?) (?:in|at|inside) (?P<where>(?:the|an?|its|his|her|their) [a-z][a-z -]*)$"
)
_NAMES = r"[A-Z][\w.'-]*(?: (?:de |van |von |da |di )?[A-Z][\w.'-]*){0,3}"
_WORK_OF = re.compile(rf"^(?P<named>.+) by (?P<told>{_NAMES})$|^(?P<owner>{_NAMES})'s (?P<own>.+)$")
_BEARER = re.compile(
    r"(?!offer|other|never|under|over|after|rather|however)"
    r"[a-z-]*(?:er|or|ist|ian|man|men|woman|ess|eer|ant|chief|head|minister|star|official|president"
    r"|king|queen|poet|chef|host|coach|champion|founder|giant|group|firm|maker|brand|service"
    r"|network|weight|scientist|physicist|chemist|novel|app|site|magazine|newspaper|musical|opera|play"
    r"|sprinter|striker|keeper|coast|capital|club|parent|team|island|region|province|port)"
)
_TAKES_BACK = re.compile(
    r"\b(?:not?|never|wrong|false|fake|myth|hoax|rumou?r\w*|mistake\w*|error|former|ex|once|until|before"
    r"|after|except|but|if|unless|though|although|instead|replaced|succe\w+|predecessor|den\w+|disput\w+"
    r"|alleg\w+|claim\w*|almost|nearly|hardly|brother|sister|son|daughter|father|mother|wife|husband"
    r"|cousin|niece|nephew|uncle|aunt|widow\w*|deputy|vice|assistant|other|another|second|less|more|or"
    r"|fiction\w*|imagin\w*|suppos\w*|will|would|might|may|could|plan\w*|later|misconception|contrary"
    r"|acting|under|rival\w*|opponent\w*|critic\w*|imitat\w+|imperson\w+|counterfeit\w*|replica\w*|copy"
    r"|parod\w+|pseudo\w*|anti\w*|non|near\w*|outside|beyond|against|despite|without|than|for|from|to"
    r"|by|with|like|unlike|over|and|bea?t\w*|defeat\w*|lost|lose\w*|runners?|silver|bronze"
    r"|disqualif\w+|eliminat\w+|sack\w+|resign\w+|reject\w+|refus\w+|fail\w*|withdr\w+)\b",
    re.IGNORECASE,
)


def is_known_addition(
    reading: Reading, extra: Sequence[Token], others: Sequence[Token], told: Account
) -> bool:
    """Whether the words that only one answer has are a kind of detail that takes nothing back."""
    if not extra or others or told.turned or told.my_values or told.their_values:
        return False
    keys = {token.key for token in extra}
    if {"currency", "money"} & reading.question.said and all(
        is_of_a_country(t.word) for t in extra
    ):
        return not any(t.word.startswith("dollar") for t in word_by_word(reading).tokens)
    if are_places(reading, keys) or (
        reading.is_list and not reading.question.wants_all and _are_items(reading, keys)
    ):
        return True
    return (
        _are_given_names(reading, extra)
        or _is_described(reading, extra)
        or _is_of_a_work(reading, extra)
        or _is_located(reading, extra)
        or _is_junior(reading, extra)
    )


def are_places(reading: Reading, keys: set[str]) -> bool:
    """Whether these words are the state or country in which the best known such place is."""
    countries = keys & COUNTRIES
    rest = keys - COUNTRIES
    places = {t.key for t in word_by_word(reading).tokens} - keys
    if _JOINED.search(reading.affirmed) or places & COUNTRIES:
        return False  # a list of countries
    if countries:
        rest = {key for key in rest if not _COMPASS.fullmatch(key)}
    if (rest and not is_state(rest)) or not (rest or countries):
        return False
    for place in places:
        if place in BEST_KNOWN and not BEST_KNOWN[place] & keys:
            return False
        if rest and place in SEVERAL_PLACES and place not in BEST_KNOWN:
            return False
    return True


def _are_items(reading: Reading, extra: set[str]) -> bool:
    """Whether the extra words are whole members of a list."""
    added = [item for item in reading.items if item <= extra and len(item) <= _MOST_OF_ITEM]
    return bool(added) and extra == frozenset().union(*added)


def _are_given_names(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether people are asked for and the extra words are names before a family name."""
    if not reading.question.wants_person:
        return False
    tokens = reading.affirmed.split()
    uncapped = len(tokens) == len(reading.words) <= _MOST_OF_ITEM and reading.affirmed.islower()
    keys = list(reading.name_sequence)
    named = all((t.is_name or uncapped) and t.word not in RANKS for t in extra)
    if not keys or not named or keys[-1] in {t.key for t in extra}:
        return False
    if {t.surface for t in extra} & set(_OWNED.findall(reading.affirmed)):
        return False  # "the King of"
    behind = {a: b.word for a, b in pairwise(word_by_word(reading).tokens)}
    if any(behind.get(token) in TITLES for token in extra):
        return False  # "Foreign Minister"
    return not has_other_bearer(keys[-1], {t.key for t in extra})


def is_description(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether the extra words say what the bearer of a name is, and none is a part of the name."""
    return _is_described(reading, extra, with_given_names=False)


def _is_described(
    reading: Reading, extra: Sequence[Token], *, with_given_names: bool = True
) -> bool:
    """Whether the extra words say what the bearer of a name is, beside the whole of the name."""
    text = reading.affirmed.strip(' ."')
    told = _told_before(text, extra) or _told_behind(text)
    if not told or _TAKES_BACK.search(told):
        return False
    spelt = f"{told} {one_spelling(told)}".casefold()
    keys = {key_of(word) for word in re.findall(r"[\w-]+", spelt)}
    keys |= {key_of(word) for word in re.findall(r"\w+", spelt)}
    given = [t for t in extra if t.key not in keys]
    if not given:
        return True
    return with_given_names and len(given) < len(extra) and _are_given_names(reading, given)


def _told_before(text: str, extra: Sequence[Token]) -> str | None:
    """The words before a name that say what its bearer is: "the German city of"; else None."""
    words = one_spelling(text).split()
    wanted = {t.word for t in extra}
    for end in range(1, min(_MOST_BEFORE_NAME, len(words) - 1) + 1):
        told, named = words[:end], words[end:]
        if not named[0][:1].isupper() or wanted.isdisjoint(" ".join(told).casefold().split()):
            continue
        *head, last = told
        if last == "of":
            if head and head[-1] in PLACES:
                return " ".join(told)
            continue
        if "of" not in head and _is_role(last):
            return " ".join(told)
    return None


def _told_behind(text: str) -> str | None:
    """The words behind a name that say what its bearer is: ", archbishop of York"; else None."""
    found = _BEHIND.match(text)
    if not found:
        return None
    told = found["told"]
    head = re.split(r" (?:of|at|for|in) ", told, maxsplit=1)[0].split()
    return told if head and _is_role(head[-1]) else None


def _is_role(word: str) -> bool:
    if word.casefold() in TITLES - _SAINTS:
        return True
    return word in KINDS | PLACES or bool(_BEARER.fullmatch(word))


def _is_located(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether the extra words say where something is that has a name and is no place asked for."""
    found = _LOCATED.match(reading.affirmed.strip(" ."))
    if not found or reading.question.wants_person or reading.question.asks_where:
        return False
    if found["where"] and reading.question.asked is not Asked.OTHER:
        return False
    where, thing = found["told"] or found["where"], found["named"] or found["thing"]
    told = {key_of(word) for word in re.findall(r"\w+", where.casefold())}
    return {t.key for t in extra} <= told and not _TAKES_BACK.search(f"{thing} {where}")


def _is_junior(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether all that is extra is a "Jr." behind a given and a family name."""
    tokens = word_by_word(reading).tokens
    return [t.word for t in extra] == ["junior"] and tokens[-1] in extra and len(tokens) > 2


def _is_of_a_work(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether the extra words say whose a thing of a name is: "Beloved by Toni Morrison"."""
    found = _WORK_OF.match(reading.affirmed.strip(' ."'))
    if not found or reading.question.wants_person:
        return False
    by, named = found["told"] or found["owner"], found["named"] or found["own"]
    told = {key_of(word) for word in re.findall(r"\w+", by.casefold())}
    capital = any(char.isupper() for char in named)
    return capital and {t.key for t in extra} <= told
