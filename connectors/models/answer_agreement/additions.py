"""What an answer may add to another and still agree with it: a country, a given name, a title.

Each kind is read from where the words stand, and takes nothing back of what both say.
"""

import re
from collections.abc import Sequence

from radarstream.connectors.models.answer_agreement.accounting import Account
from radarstream.connectors.models.answer_agreement.harmless import KINDS, RANKS
from radarstream.connectors.models.answer_agreement.known_names import (
    COUNTRIES,
    SEVERAL_PLACES,
    has_other_bearer,
    is_state,
)
from radarstream.connectors.models.answer_agreement.reading import Reading
from radarstream.connectors.models.answer_agreement.synonyms import is_of_a_country
from radarstream.connectors.models.answer_agreement.values import Quantity
from radarstream.connectors.models.answer_agreement.wording import Token, word_by_word
from radarstream.connectors.models.answer_agreement.words import TITLES, key_of

_LEAST_BASE = 100
_MOST_OF_ITEM = 3  # words
_MOST_BEFORE_NAME = 5
# An apposition: a comma, then an article or relative pronoun, or an office.
_BEHIND = re.compile(
    r"^(?P<named>[^,]+), (?:(?:the|an?|its|his|her|their|who|which|where)\b|(?=[a-z]))"
    r"(?P<told>[^,]*)$"
)
# Words in lower case right before a name, the last of them what the name's bearer is.
_BEFORE = re.compile(
    r"^(?:the |an? |its |his |her |their )?(?P<told>(?:[A-Z][\w'-]+ ){0,3}(?:[a-z][\w'-]* ){1,4})"
    r"(?P<named>[A-Z][\w.'&-]*(?: [\w.'&-]+)*)$"
)
_CAPITAL_OF = re.compile(r"^(?P<told>[A-Z][\w ]+ capital)(?: city)?,? (?:of )?(?P<named>[A-Z].*)$")
_NAMES = r"[A-Z][\w.'-]*(?: (?:de |van |von |da |di )?[A-Z][\w.'-]*){0,3}"
_WORK_OF = re.compile(rf"^(?P<named>.+) by (?P<told>{_NAMES})$|^(?P<owner>{_NAMES})'s (?P<own>.+)$")
_BEARER = re.compile(
    r"(?!offer|other|never|under|over|after|rather|however)"
    r"[a-z-]*(?:er|or|ist|ian|man|men|woman|ess|eer|ant|chief|head|minister|star|official|president"
    r"|king|queen|poet|chef|host|coach|champion|founder|giant|group|firm|maker|brand|service"
    r"|network|scientist|physicist|chemist|novel|app|site|magazine|newspaper|musical|opera|play"
    r"|sprinter|striker|keeper|coast|capital|club|team|island|region|province|port)"
)
_TAKES_BACK = re.compile(
    r"\b(?:not?|never|wrong|false|fake|myth|hoax|rumou?r\w*|mistake\w*|error|former|ex|once|until|before"
    r"|after|except|but|if|unless|though|although|instead|replaced|succe\w+|predecessor|den\w+|disput\w+"
    r"|alleg\w+|claim\w*|almost|nearly|hardly|brother|sister|son|daughter|father|mother|wife|husband"
    r"|cousin|niece|nephew|uncle|aunt|widow\w*|deputy|vice|assistant|other|another|second|less|more|or"
    r"|fiction\w*|imagin\w*|suppos\w*|will|would|might|may|could|plan\w*|later|misconception|contrary"
    r"|acting|under|rival\w*|opponent\w*|critic\w*|imitat\w+|imperson\w+|counterfeit\w*|replica\w*|copy"
    r"|parod\w+|pseudo\w*|anti\w*|non|near\w*|outside|beyond|against|despite|without|than|for|from|to"
    r"|by|with|like|unlike|over|and|bea?t\w*|defeat\w*|lost|lose\w*)\b",
    re.IGNORECASE,
)


def is_known_addition(
    reading: Reading, extra: Sequence[Token], others: Sequence[Token], told: Account
) -> bool:
    """Whether the words that only one answer has are a kind of detail that takes nothing back."""
    values = (told.my_values, told.their_values)
    if not extra or others or told.turned or (any(values) and not _are_bases(*values)):
        return _is_base_only(reading, extra, others, told)
    keys = {token.key for token in extra}
    if keys <= COUNTRIES or (reading.is_list and not reading.question.wants_all and _are_items(reading, keys)):
        return True
    if is_state(keys):
        return not any(t.key in SEVERAL_PLACES for t in word_by_word(reading).tokens)
    return (
        _are_given_names(reading, extra)
        or _is_described(reading, extra)
        or _is_of_a_work(reading, extra)
    )


def _is_base_only(
    reading: Reading, extra: Sequence[Token], others: Sequence[Token], told: Account
) -> bool:
    """Whether all that one adds are numbers that its share is of: "62 % of 2,005"."""
    own = told.my_values if told.my_values else told.their_values
    if extra or others or not own or (told.my_values and told.their_values) or told.turned:
        return False
    return set(own) <= set(word_by_word(reading).values) and _are_bases(own, ())


def _are_bases(mine: Sequence[object], theirs: Sequence[object]) -> bool:
    return all(
        isinstance(v, Quantity) and not v.dimension and v.value >= _LEAST_BASE
        for v in (*mine, *theirs)
    )


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
    return not has_other_bearer(keys[-1], {t.key for t in extra})


def _is_described(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether the extra words say what the bearer of a name is, beside the whole of the name."""
    text = reading.affirmed.strip(" .\"")
    before = _BEFORE.match(text)
    if before and not _BEARER.fullmatch(before["told"].split()[-1]):
        before = None
    found = before or _BEHIND.match(text) or _CAPITAL_OF.match(text)
    if not found or _TAKES_BACK.search(found["told"]):
        return False
    told = {key_of(word) for word in re.findall(r"\w+", found["told"].casefold())}
    given = {t.key for t in extra} - told
    if given and not _are_given_names(reading, [t for t in extra if t.key in given]):
        return False
    return all(_describes(t, told=found["told"]) for t in extra if t.key in told)


def _describes(token: Token, *, told: str) -> bool:
    """Whether a word of a description is no name, or one of a country or of an employer."""
    if not token.is_name or is_of_a_country(token.word):
        return True
    return bool(re.search(rf"\b{re.escape(token.surface)}\b.* (?:{_OFFICES})\b", told))


_OFFICES = "president|chief|head|minister|ceo|director|chairman|chairwoman|governor|manager|coach"


def _is_of_a_work(reading: Reading, extra: Sequence[Token]) -> bool:
    """Whether the extra words say whose something is that has a name: "Beloved by Toni Morrison"."""
    found = _WORK_OF.match(reading.affirmed.strip(" .\""))
    if not found or reading.question.wants_person:
        return False
    by, named = found["told"] or found["owner"], found["named"] or found["own"]
    told = {key_of(word) for word in re.findall(r"\w+", by.casefold())}
    capital = any(word[0].isupper() for word in re.findall(r"\w+", named))
    return capital and {t.key for t in extra} <= told
