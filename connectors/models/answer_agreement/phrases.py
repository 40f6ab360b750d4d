"""Phrases in one spelling each, and sentences in one order: who does it, what is done, to whom."""

import re
from collections.abc import Callable
from functools import lru_cache

from radarstream.connectors.models.answer_agreement.known_names import (
    ACRONYMS,
    COUNTRY_NAMES,
    STATE_LETTERS,
    STATES_CUT_SHORT,
)
from radarstream.connectors.models.answer_agreement.quantities import MONTH, NUMBER_WORD
from radarstream.connectors.models.answer_agreement.words import listed

NEGATIONS = listed("not no never none neither nor without nobody nothing")


def _without_dots(match: re.Match[str]) -> str:
    return match[0].replace(".", "") if len(match[0]) > len("A.") else match[0]


_ONE_REPUBLIC = "|".join(n for n in COUNTRY_NAMES if n not in ("Congo", "China"))
_SPELT = (
    (r"\bcannot\b|\bcan't\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"(?<=\w)n't\b", " not"),
    (r"\b(it|he|she|that|there|who|what)'s\b", r"\1"),
    (r"\bnot\s+(?!only\b)([^,;]+?),?\s+but\s+(?:rather\s+)?([^,;]+)", r"\2 not \1"),
    (r",\s*(?:but )?not\b", " not"),
    (r"\b(?:rather than|instead of|as opposed to)\b", "not"),
    (r"\bdo(?:es)? not have\b|\bhas no\b|\bhave no\b|\blacks?\b", "no"),
    (r"\bnot (?:a|one) single\b|\bno single\b|\bnot even one\b|\bnot any\b", "no"),
    (r"\b(?:nobody|no[- ]one|none|nothing) (?:but|except|other than)\b", "only"),
    (r"\bfrom (\d{4}) (?:until|till|through) (\d{4})\b", r"\1 - \2"),
    (r"\b(?:nobody|no[- ]one|not anyone|not anybody|none of (?:the|them"
        r"|those)(?: \w+)?)\b", "none"),
    (r"\bno longer\b", "not still"),
    (r",?\s*(?:and )?\b(?:no other \w+|nobody else|no[- ]one else|nothing else)$", ""),
    (r"\b(?:in|at|around|during|towards?) (?:the )?(?=(?:early|late|mid)\b)", ""),
    (r"\bfrom (\d{4}) on(?:wards?)?\b", r"since \1"),
    (r"\b(?:dates?|dating|dated) (?:back )?(?:from|to)\b", ""),
    (r"\b(years?|months?|weeks?|days?) before (?:today|now|the present)\b", r"\1 ago"),
    (rf"\b(since|until|before|after|from|as of|by(?= \d{{4}})|by(?= {MONTH}))\b(?=\s+(?:early "
        rf"|late |mid )?(?:the )?(?:\d|{MONTH}))",
     r"\1_"),
    (r"\s&\s", " and "),
    (r"\b((?:[A-Za-z]\.){2,})\s?(?=[A-Z][a-z])", lambda m: m[1].replace(".", " ")),
    (r"\b([A-Za-z]\.)+[A-Za-z]?(?![\w])", _without_dots),
    (rf", (?-i:({'|'.join(STATE_LETTERS)}))(?![\w.])", lambda m: ", " + STATE_LETTERS[m[1]]),
    (rf", ({'|'.join(STATES_CUT_SHORT)})\b\.?", lambda m: ", " + STATES_CUT_SHORT[m[1].title()]),
    (r"\b(\w+) parts? (?:of )?(\w+ )?to (\w+) parts?(?: of)?(?: (\w+))?", r"\1 to \3, \2 \4"),
    (r"\b(?:twice|double) as many (\w+) as (\w+)", r"2 to 1, \1 \2"),
    (r"\bsome (?=\d)", "about "),
    (r"\b(\w+) lost to (\w+)$", r"\2 beat \1"),
    (r"\bhead of cattle\b", "cows"),
    (rf"\b(?:an?|the|its|their) (?:crew|team|group|total|panel|party|squad|staff|crowd|cast"
        rf"|band) of "
        rf"(?=(?:about |around |some )?(?:\d|{NUMBER_WORD}\b))", ""),
    (r"\b(left|right)[- ]hand(?:ed)?\b", r"\1"),
    (r"\bweather conditions\b", "weather"),
    (r"\bc(?:a|irca)?\.? ?(?=\d{3,4}\b)", "about "),
    (r"\b(?:an? )?shortages? of\b|\b(?:ran )?short of\b", "no"),
    (r"\b(?:an? )?(\w+) shortages?\b", r"no \1"),
    (r"\b(?:an )?Academy Awards?\b", "Oscar"),
    (r"\bHoly Bible\b", "Bible"),
    (r"^the Emirates$", "United Arab Emirates"),
    (r"\bbetween the ages of\b", "between"),
    (r"\bthr[eo]wn? out\b", "dismissed"),
    (r"\b(years|months|weeks|days|hours|minutes)'(?= )", r"\1"),
    (r"\blaptop computers?\b", "laptop"),
    (r"\bpolice (?:officers|forces?)\b|\bpolicemen\b", "police"),
    (r"\btropical storm\b", "storm"),
    (r"\b(first|second|third|fourth|fifth|last|other|next) one\b", r"\1"),
    (r"\bon weekdays\b|\bMondays? (?:to|through) Fridays?\b", "weekdays"),
    (r"\bon ((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s\b", r"every \1"),
    (r"\b(?:the )?(?:coming|upcoming|following) (week|month|year)\b", r"next \1"),
    (r"\b(?:lost|loses|lose) (?:in |some )?value\b", "weakened"),
    (r"\b(?:gained|gains|gain) (?:in |some )?value\b", "strengthened"),
    (r"\b(?-i:the late (?=[A-Z]))", "the "),
    (r"\b(?:(?:was|were|is|been) )?diagnosed with\b|\bsuffer(?:s|ed|ing)? from\b", "has"),
    (r"(\$\s?[\d.,]*\d)\s*\(?(?:USD|US)\b\)?", r"\1"),
    (r"\bnon-(?=[a-z]{4})", "not "),
    (r"\b(?:could|might|may) (?:possibly|perhaps|potentially)\b", "may"),
    (r"\b(?:by|through) (?:the )?mouth\b", "orally"),
    (r"\b(?:mother|father)'s sister\b", "aunt"),
    (r"\ban? (?:cup|glass|bottle|piece|group|set|collection|bunch|hoard|bag|kind|type|sort|form"
        r"|variety"
        r"|mixture|mix|combination|number|series|sheet|slice|pile|stack) of (?=[a-z])", ""),
    (r"\bhand-?made\b", "made by hand"),
    (r"\b(?:second-hand|secondhand|pre-owned)\b", "used"),
    (r"\bcovid(?:-19)?\b|\bcoronavirus disease\b", "covid"),
    (r"\bassociation football\b", "soccer"),
    (r"\b(?-i:WW ?(?:II|2))\b", "World War II"),
    (r"\b(?-i:WW ?(?:I|1))\b", "World War I"),
    (r"\b(?-i:the Fed)\b", "the Federal Reserve"),
    (r"(?<=\w)\.com\b", ""),
    (r"\b(?-i:E[SD]?T)\b", "eastern"),
    (r"\b(?-i:P[SD]?T)\b", "pacific"),
    (r"\s*\((?:born |b\. ?)?\d{4}(?:\s?-\s?(?:\d{4}|present)?)?\)", ""),
    # days that have a date
    (r"\bNew Year's Day\b", "1 January"),
    (r"\bNew Year's Eve\b", "31 December"),
    (r"\bBoxing Day\b", "26 December"),
    (r"\bChristmas Day\b", "25 December"),
    (r"\bChristmas Eve\b", "24 December"),
    # what is cut short
    (r"\bvit\.?(?= [A-Z]\d?\b)", "vitamin"),
    (r"(?<=\w )Ave\b\.?", "Avenue"),
    (r"(?<=\w )St\b\.?(?=$|,)", "Street"),
    (r"\bDept\b\.?", "Department"),
    (r"\bminister (?:of|for) ((?:the )?\w+)\b", r"\1 minister"),
    (r"\bministry of ((?:the )?\w+)\b", r"\1 ministry"),
    (r"\bnot once\b|\bnot ever\b", "never"),
    (r"> ?(?:half|50 ?%)(?! [a-z])|\b(?:the|a) majority\b", "most"),
    (r"\b(?:half a|half-a|a half|half) ?-?dozen\b", "6"),
    (r"\bboth (?=[^,;]+ and )", ""),
    (r"\b(thigh|collar|shin|breast|tail|jaw|cheek) bone\b", r"\1bone"),
    (r"\b([A-Z]{1,2}\d[A-Z\d]?) (?=\d[A-Z]{2}\b)", r"\1"),
    (r"\s?(?:\u00b0|\bdeg(?:ree)?s?\b) ?(?:C\b|Celsius\b|centigrade\b)", " celsius"),
    (r"\s?(?:\u00b0|\bdeg(?:ree)?s?\b) ?(?:F\b|Fahrenheit\b)", " fahrenheit"),
    (r"\bin use\b", "used"),
    (r"(?:^|\b(?:is|was|were|are) )over\b(?! \d)", "ended"),
    (r"\bas well as\b|\balong with\b|\btogether with\b|\bplus\b", "and"),
    (r"\b(?:because of|due to|owing to|as a result of|thanks to|on account of)\b", "because"),
    # verbs of two words
    (r"\bstep(?:s|ped|ping)? (?:down|aside)\b", "resigned"),
    (r"\b(?:went|gone|goes|going|go|moved|came) up\b", "rose"),
    (r"\b(?:went|gone|goes|going|go|moved|came) down\b", "fell"),
    (r"\bpass(?:ed|es) away\b|\blost (?:his|her|their) li(?:fe|ves)\b", "died"),
    (r"\bcall(?:ed|s|ing)? off\b", "cancelled"),
    (r"\b(?:take|takes|took|taken|taking) over from\b", "succeeded"),
    (r"\b(?:take|takes|took|taken|taking) over\b", "acquired"),
    (r"\b(?:take|takes|took|taking|taken) place\b|\b(?:was|were|is|are|be) held\b", "happened"),
    (r"\bcame(?: in)?(?= (?:first|second|third|fourth|fifth|last|\d))", "finished"),
    (r"\bfinished in(?= (?:first|second|third|fourth|fifth|last|\d))", "finished"),
    (r"\b(?:ha[sd]|have|having) to\b|\b(?:is|are|was|were) (?:required|obliged"
        r"|forced) to\b", "must"),
    (r"\b(?:is|are|was|were) (?:going|due|set|expected|scheduled) to\b", "will"),
    (r"\bis (?:alleged|said|reported) to have\b", "allegedly"),
    # how often, how many, which
    (r"\b(?:hardly|scarcely|almost n)ever\b|\b(?:hardly|scarcely) ever\b"
        r"|\balmost never\b", "rarely"),
    (r"\b(?:both|two) of (?:the|them)\b|\bthe two\b(?: of them)?|\beach of the two\b", "both"),
    (r"\b(all|some|many|most|few|neither|either|every one|each) of (?:the|them|those"
        r"|these)\b", r"\1"),
    (r"\bevery (?:single )?(?:one|body)\b|\beveryone\b|\beverybody\b", "all"),
    (r"\bfree of charge\b|\bfor free\b|\bat no (?:cost|charge)\b|\bwithout charge\b", "free"),
    (r"\bin favou?r(?: of)?\b", "supporting"),
    (r"\bchief executive(?: officer)?\b", "ceo"),
    (r"\bprime minister\b|(?<!\d )(?-i:\bPM\b(?= [A-Z][a-z]))|\bhead of"
        r" government\b", "prime-minister"),
    (r"\bvice[- ]president\b|\bVP\b", "vice-president"),
    (r"\bDr\.?(?= )", "Doctor"),
    (r"\bProf\.?(?= )", "Professor"),
    (r"\bGen\.?(?= [A-Z])", "General"),
    (r"\bSen\.?(?= [A-Z])", "Senator"),
    (r"\bCol\.?(?= [A-Z])", "Colonel"),
    (r"\bSt\.?(?= [A-Z])", "Saint"),
    (r"\bMt\.?(?= [A-Z])", "Mount"),
    (r",?\s+Jr\b\.?|,?\s+junior\b", " Junior"),
    # medicine and chemistry
    (r"\bheart attacks?\b|\bmyocardial infarctions?\b", "heartattack"),
    (r"\b(?:high|elevated|raised) blood pressure\b", "hypertension"),
    (r"\bH2O\b", "water"),
    (r"\bcarbon dioxide\b", "CO2"),
    (r"\bhead ?quarter(?:s|ed)\b|\b(?:head|main) office\b", "headquarters"),
    # places of two names
    (r"\bUnited States(?: of America)?\b|\bU\.S\.A?\.?(?!\w| dollar)|\bUSA\b|(?-i:\bUS\b)(?!\$"
        r"| dollar)", "America"),
    (r"\bUnited Kingdom\b|\bGreat Britain\b|\bUK\b|\bU\.K\.?(?!\w)", "Britain"),
    (r"\bPeople's Republic of China\b", "China"),
    (r"\bRussian Federation\b", "Russia"),
    (r"\bHolland\b|\bThe Netherlands\b", "Netherlands"),
    (r"\bBurma\b", "Myanmar"),
    (r"\bConstantinople\b", "Istanbul"),
    (r"\bCzech Republic\b", "Czechia"),
    (r"\bCote d'Ivoire\b", "Ivory Coast"),
    (r"\bTimor-Leste\b", "East Timor"),
    (r"\bViet Nam\b", "Vietnam"),
    (r"\bTurkiye\b", "Turkey"),
    (r"\bCabo Verde\b", "Cape Verde"),
    (r"\b(?:the )?Republic of Korea\b", "South Korea"),
    (r"\b(?:the )?Republic of China\b", "Taiwan"),
    (r"\bDemocratic Republic of (?:the )?Congo\b|\bDR Congo\b", "DRC"),
    (rf"\b(?:the )?(?:Islamic |Federal |Hellenic |Bolivarian )?(?:Kingdom|Republic|Commonwealth"
        rf"|Sultanate"
        rf"|Principality|State) of (?:the"
            rf" )?(?=(?:{_ONE_REPUBLIC})\b)", ""),
    (r"\bWashington,? D\.?\s?C\b\.?", "Washington"),
    (r"\bNew York City\b|\bNYC\b", "New York"),
)  # fmt: skip
_ONE_SPELLING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), to) for pattern, to in _SPELT
)


_ACRONYM = re.compile(rf"\b(?:{'|'.join(ACRONYMS)})\b(?!\d| \d)")


@lru_cache(maxsize=65_536)
def one_spelling(text: str) -> str:
    """A plain text, its marks spelt alike, with each known phrase in one spelling.

    >>> one_spelling("She stepped down"), one_spelling("wasn't called off")
    ('She resigned', 'was not cancelled')
    """
    for pattern, spelt in _ONE_SPELLING:
        text = pattern.sub(spelt, text)
    text = _ACRONYM.sub(lambda m: ACRONYMS[m[0]], text)
    return " ".join(text.split())


_PARTICIPLE = (
    r"(?:\w+ly )?\w+(?:ed|en|ught|[oe]ld|wn|led|ung|[uo]und|orn|ilt|ade|aid|id|on|un|ost|it|ut|ent"
    r"|ept|eft|uck)"
)
_PASSIVE = re.compile(
    r"^(?P<what>[^,;]+?)\s+(?:was|were|is|are|(?:has |have |had )?been|being|got)\s+"
    rf"(?P<did>{_PARTICIPLE})(?P<with>\s+(?!by\b)[^,;]{{1,60}}?)??\s+by\s+(?P<who>[^,;]+)$",
    re.IGNORECASE,
)
_MOST_AGENTS = 2
_DONE_BY = re.compile(rf"^(?P<did>{_PARTICIPLE}) by (?P<who>[^,;]+)$")
_NO_AGENT = re.compile(
    r"^(?P<what>[^,;]+?) (?P<may>must|may|can|will|should)?\s?(?:be|was|were|is|are|has been"
    r"|have been|been)"
    r" (?P<did>\w+(?:ed|en|ught|own|orn|ilt|ung))$",
    re.IGNORECASE,
)
_OWNED = re.compile(
    r"\b(?:the |its |his |her |their )?((?:[A-Z][\w.]*|[a-z]\w*)(?: [A-Z][\w.]*)*)(?:'s|(?<=s)')"
    r" ((?:[a-z][\w-]* )?[a-z][\w-]*|[A-Z][\w-]*(?: [A-Z][\w-]*)*)"
)
_NAME = r"(?:the |an? )?[\w.'-]+(?: [A-Z][\w.'-]*)*"
_LOST = re.compile(
    rf"^(?P<loser>{_NAME}) (?:lost|losing)(?P<score>(?: by)?(?: \d+\s?-\s?\d+)?) to "
    rf"(?P<winner>{_NAME})(?P<behind>(?: by)?(?: \d+\s?-\s?\d+)?)$"
)
_SCORE = r"\d+\s?-\s?\d+"
_SCORE_TO = re.compile(rf"^(?P<score>{_SCORE}) to (?P<winner>{_NAME})$")
_WIN_OVER = re.compile(
    rf"^(?:[Aa]n? )?(?P<score>{_SCORE}) (?:win|victory) (?:for|by|of) (?P<winner>{_NAME})"
    rf"(?: over (?P<loser>{_NAME}))?$"
)
_PRECEDED = re.compile(rf"^({_NAME}) preceded ({_NAME})$")
# From the side of whoever takes it to the side of whoever gives it.
_GIVEN = {
    "bought": "sold",
    "buys": "sells",
    "borrowed": "lent",
    "borrows": "lends",
    "leased": "leased",
    "leases": "leases",
    "rented": "rented",
    "rents": "rents",
    "received": "gave",
    "got": "gave",
    "inherited": "left",
}
_TAKEN = re.compile(
    rf"^(?P<taker>{_NAME}) (?P<took>{'|'.join(_GIVEN)}) (?P<what>[^,;]+?) from"
    rf" (?P<giver>{_NAME})$"
)
_CHANGES = "rise|fall|drop|increase|decrease|decline|growth|jump|gain|reduction|cut|dip|slump|surge"
_CHANGE_IN = re.compile(
    rf"^(?:an? |the )?(?P<much>[^,;]*?)\s*\b(?P<change>{_CHANGES})\s+(?:of (?P<by>[^,;]+?)\s+)?"
    r"in (?:the |its |their )?(?P<what>[^\d,;]+)$",
    re.IGNORECASE,
)


def in_one_order(text: str) -> str:
    """A plain text with its passives, converses and owners in one order.

    >>> in_one_order("Ben was sent a letter by Anna"), in_one_order("Spain lost 3-1 to Norway")
    ('Anna sent Ben a letter', 'Norway beat Spain 3-1')
    """
    text = _active(_OWNED.sub(r"\2 of \1", text))
    if lost := _LOST.match(text):
        return f"{lost['winner']} beat {lost['loser']}{lost['score']}{lost['behind']}"
    if won := _SCORE_TO.match(text):
        return f"{won['winner']} won {won['score']}"
    if won := _WIN_OVER.match(text):
        done = f"beat {won['loser']}" if won["loser"] else "won"
        return f"{won['winner']} {done} {won['score']}"
    if taken := _TAKEN.match(text):
        return f"{taken['giver']} {_GIVEN[taken['took']]} {taken['what']} to {taken['taker']}"
    if change := _CHANGE_IN.match(text):
        much = f"{change['much']} {change['by'] or ''}".strip()
        return f"{change['what']} {change['change']} {much}"
    return _PRECEDED.sub(r"\2 succeeded \1", text)


def _active(text: str) -> str:
    few = text.count(" by ") <= _MOST_AGENTS  # or matching takes long
    if few and (passive := _PASSIVE.match(text)):
        return f"{passive['who']} {passive['did']} {passive['what']}{passive['with'] or ''}"
    if done_by := _DONE_BY.match(text):
        return f"{done_by['who']} {done_by['did']}"
    done = _NO_AGENT.match(text)
    return f"{done['may'] or ''} {done['did']} {done['what']}" if done else text
