"""Phrases of several words in one spelling each, before an answer is compared word by word."""

import re
from collections.abc import Callable

from radarstream.connectors.models.answer_agreement.dates import MONTH
from radarstream.connectors.models.answer_agreement.known_names import STATE_LETTERS
from radarstream.connectors.models.answer_agreement.quantities import (
    ORDINAL_WORD,
    read_roman,
    spell_in_digits,
)

NEGATIONS = frozenset("not no never none neither nor without nobody nothing".split())

_SPELT = (
    (r"\bcannot\b|\bcan't\b", "can not"), (r"\bwon't\b", "will not"), (r"\bshan't\b", "shall not"),
    (r"(?<=\w)n't\b", " not"), (r"(?<=\w)'(?:re|ve|ll|d|m)\b", ""),
    (r"\b(it|he|she|that|there|who|what)'s\b", r"\1"),
    (r"\bnot\s+(?!only\b)([^,;]+?),?\s+but\s+(?:rather\s+)?([^,;]+)", r"\2 not \1"),
    (r",\s*(?:but )?not\b", " not"), (r"\b(?:rather than|instead of|as opposed to)\b", "not"),
    (r"\bdo(?:es)? not have\b|\bhas no\b|\bhave no\b|\blacks?\b", "no"),
    (r"\bnot (?:a|one) single\b|\bno single\b|\bnot even one\b|\bnot any\b", "no"),
    (r"\bnot (\w+(?: \w+)?) any\b", r"no \1"),
    (r"\b(?:nobody|no[- ]one|not anyone|not anybody|none of (?:the|them|those)(?: \w+)?)\b", "none"),
    (r"\bnot\b([^.;]*?)\s*\bany ?(?:more|longer)\b", r"not still\1"), (r"\bno longer\b", "not still"),
    (r",?\s*(?:and )?\b(?:no other \w+|nobody else|no[- ]one else|nothing else)$", ""),
    (r"\b(?:in|at|around|during|towards?) (?:the )?(?=(?:early|late|mid)\b)", ""),
    (r"\bfrom (\d{4}) on(?:wards?)?\b", r"since \1"), (r"\btill\b", "until"),
    (rf"\b(since|until|before|after|from|as of|by(?= \d{{4}})|by(?= {MONTH}))\b(?=\s+(?:early |late |mid )?(?:the )?(?:\d|{MONTH}))",
     r"\1_"),
    (r"\s&\s", " and "), (r"\b((?:[A-Za-z]\.){2,})\s?(?=[A-Z][a-z])", lambda m: m[1].replace(".", " ")),
    (r"\b([A-Za-z]\.)+[A-Za-z]?(?![\w])", lambda m: m[0].replace(".", "") if len(m[0]) > 2 else m[0]),
    (rf", ({'|'.join(STATE_LETTERS)})(?![\w.])", lambda m: ", " + STATE_LETTERS[m[1].upper()]),
    (r"\b(\w+) parts? (?:of )?(\w+ )?to (\w+) parts?(?: of)?(?: (\w+))?", r"\1 to \3, \2 \4"),
    (r"\b(?:twice|double) as many (\w+) as (\w+)", r"2 to 1, \1 \2"),
    (r"\b(\w+) times as many (\w+) as (\w+)", r"\1 to 1, \2 \3"),
    (r"\bin use\b", "used"), (r"(?:^|\b(?:is|was|were|are) )over\b(?! \d)", "ended"), (r"\bas well as\b|\balong with\b|\btogether with\b|\bplus\b", "and"),
    (r"\b(?:because of|due to|owing to|as a result of|thanks to|on account of)\b", "because"),
    (r"\b(?:dates?|dating|dated) (?:back )?(?:from|to)\b", ""),
    (r"\b(?:i\.e\.|that is to say|in other words|namely)", ","),
    # verbs of two words
    (r"\bstep(?:s|ped|ping)? (?:down|aside)\b", "resigned"),
    (r"\b(?:quit|left|gave up) (?:his|her|their|the) (?:job|post|office|position)\b", "resigned"),
    (r"\b(?:went|gone|goes|going|go|moved|came) up\b", "rose"),
    (r"\b(?:went|gone|goes|going|go|moved|came) down\b", "fell"),
    (r"\bpass(?:ed|es) away\b|\blost (?:his|her|their) li(?:fe|ves)\b", "died"),
    (r"\bput(?:s|ting)? off\b|\bpushed back\b", "postponed"),
    (r"\bcall(?:ed|s|ing)? off\b", "cancelled"), (r"\bturn(?:ed|s|ing)? down\b", "rejected"),
    (r"\bset(?:s|ting)? up\b", "founded"), (r"\bcarr(?:y|ies|ied|ying) out\b", "performed"),
    (r"\bt[ao]ok?(?:e|es|en|ing)? over from\b", "succeeded"),
    (r"\bt[ao]ok?(?:e|es|en|ing)? over\b", "acquired"), (r"\bbr[eo]a?ken? out\b", "began"),
    (r"\b(?:take|takes|took|taking|taken) place\b|\b(?:was|were|is|are|be) held\b", "happened"),
    (r"\b(?:ma[kd]e|makes|making) up\b", "comprised"), (r"\bg[ai]ve[sn]? birth to\b", "bore"),
    (r"\bgot married(?: to)?\b|\btied the knot(?: with)?\b", "married"),
    (r"\bbl[eo]wn? up\b|\bblows up\b", "exploded"), (r"\b(?:found out|came across)\b", "discovered"),
    (r"\bpull(?:s|ed|ing)? out(?: of)?\b", "withdrew"),
    (r"\bcame(?: in)?(?= (?:first|second|third|fourth|fifth|last|\d))", "finished"),
    (r"\bfinished in(?= (?:first|second|third|fourth|fifth|last|\d))", "finished"),
    (r"\b(?:is|are|was|were) (?:able to|capable of)\b|\bmanage[sd]? to\b", "can"),
    (r"\b(?:ha[sd]|have|having) to\b|\b(?:is|are|was|were) (?:required|obliged|forced) to\b", "must"),
    (r"\b(?:is|are|was|were) (?:allowed|permitted|free) to\b", "may"),
    (r"\b(?:is|are|was|were) (?:going|due|set|expected|scheduled) to\b", "will"),
    (r"\bis (?:alleged|said|reported) to have\b", "allegedly"),
    # how often, how many, which
    (r"\b(?:hardly|scarcely|almost n)ever\b|\b(?:hardly|scarcely) ever\b|\balmost never\b", "rarely"),
    (r"\b(?:from time to time|now and then|at times|once in a while)\b", "sometimes"),
    (r"\b(?:all the time|at all times)\b", "always"), (r"\bmost of the time\b", "usually"),
    (r"\ba (?:lot|great deal|large number) of\b|\blots of\b|\bplenty of\b|\bnumerous\b", "many"),
    (r"\b(?:both|two) of (?:the|them)\b|\bthe two\b(?: of them)?|\beach of the two\b", "both"),
    (r"\b(all|some|many|most|few|neither|either|every one|each) of (?:the|them|those|these)\b", r"\1"),
    (r"\bevery (?:single )?(?:one|body)\b|\beveryone\b|\beverybody\b", "all"),
    (r"\bfree of charge\b|\bfor free\b|\bat no (?:cost|charge)\b|\bwithout charge\b", "free"),
    (r"\bin favou?r of\b", "supporting"), (r"\b(?:is|are|was|were) (?:made (?:up )?of)\b", ""),
    (r"\b(?:with the exception of|except(?:ing)? for|apart from|aside from|other than|excluding"
     r"|save for)\b", "except"),
    # titles and offices
    (r"\bchief executive(?: officer)?\b", "ceo"), (r"\bchief financial officer\b", "cfo"),
    (r"\bprime minister\b|\bPM\b(?= [A-Z])|\bhead of government\b", "prime-minister"),
    (r"\bvice[- ]president\b|\bVP\b", "vice-president"), (r"\bmember of parliament\b", "MP"),
    (r"\bDr\.?(?= )", "Doctor"), (r"\bProf\.?(?= )", "Professor"), (r"\bGen\.?(?= [A-Z])", "General"),
    (r"\bSen\.?(?= [A-Z])", "Senator"), (r"\bRep\.?(?= [A-Z])", "Representative"),
    (r"\bGov\.?(?= [A-Z])", "Governor"), (r"\bLt\.?(?= [A-Z])", "Lieutenant"),
    (r"\bCapt\.?(?= [A-Z])", "Captain"), (r"\bSgt\.?(?= [A-Z])", "Sergeant"),
    (r"\bCol\.?(?= [A-Z])", "Colonel"), (r"\bSt\.?(?= [A-Z])", "Saint"),
    (r"\bMt\.?(?= [A-Z])", "Mount"), (r"\bFt\.?(?= [A-Z])", "Fort"), (r"\bRev\.?(?= [A-Z])", "Reverend"),
    (r",?\s+Jr\b\.?|,?\s+junior\b", " Junior"), (r",?\s+Sr\b\.?(?=$|,)", " Senior"),
    # medicine and chemistry
    (r"\bheart attacks?\b|\bmyocardial infarctions?\b", "heartattack"),
    (r"\b(?:high|elevated|raised) blood pressure\b", "hypertension"),
    (r"\blow blood pressure\b", "hypotension"), (r"\b(?:high|elevated) blood sugar\b", "hyperglycemia"),
    (r"\blow blood sugar\b", "hypoglycemia"), (r"\bhigh temperature\b", "fever"),
    (r"\bascorbic acid\b", "vitamin C"), (r"\b(?:sodium chloride|table salt|common salt|NaCl)\b", "salt"),
    (r"\b(?:sodium bicarbonate|bicarbonate of soda)\b", "baking soda"), (r"\bH2O\b", "water"),
    (r"\bcarbon dioxide\b", "CO2"), (r"\bacetylsalicylic acid\b", "aspirin"),
    (r"\bshortness of breath\b|\bbreathlessness\b", "dyspnea"), (r"\bGerman measles\b", "rubella"),
    (r"\bwhooping cough\b", "pertussis"), (r"\b(?:mobile|cell) ?phone\b|\bsmartphone\b", "phone"),
    (r"\b(?:television|tv) (?:show|series|program(?:me)?)\b", "show"),
    (r"\bhead ?quarter(?:s|ed)\b|\b(?:head|main) office\b", "headquarters"),
    # places of two names
    (r"\bUnited States(?: of America)?\b|\bU\.S\.A?\.?(?!\w| dollar)|\bUSA\b|(?-i:\bUS\b)(?!\$| dollar)", "America"),
    (r"\bUnited Kingdom\b|\bGreat Britain\b|\bUK\b|\bU\.K\.?(?!\w)", "Britain"),
    (r"\bPeople's Republic of China\b", "China"), (r"\bRussian Federation\b", "Russia"),
    (r"\bHolland\b|\bThe Netherlands\b", "Netherlands"), (r"\bBurma\b", "Myanmar"),
    (r"\bPersia\b", "Iran"), (r"\bPeking\b", "Beijing"), (r"\bBombay\b", "Mumbai"),
    (r"\bConstantinople\b", "Istanbul"), (r"\bSaigon\b", "Ho Chi Minh City"), (r"\bCalcutta\b", "Kolkata"),
    (r"\bKiev\b", "Kyiv"), (r"\bCzech Republic\b", "Czechia"), (r"\bSwaziland\b", "Eswatini"),
    (r"\bCote d'Ivoire\b", "Ivory Coast"), (r"\bTimor-Leste\b", "East Timor"), (r"\bTurkiye\b", "Turkey"),
    (r"\bWashington,? D\.?\s?C\b\.?", "Washington"), (r"\bNew York City\b|\bNYC\b", "New York"),
    (r"\bSoviet Union\b", "USSR"), (r"\bRed Planet\b", "Mars"),
)  # fmt: skip
_ONE_SPELLING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple((re.compile(pattern, re.IGNORECASE), to) for pattern, to in _SPELT)
_LETTERED = re.compile(r"(?-i:\b([A-Z]{1,3}))[ -](?=\d+\b(?![:.,%]\d))")
_NAMED_NUMBER = re.compile(r"\b([A-Z][\w'-]+) (?:the (?i:(first|second|third|fourth|fifth|sixth|seventh"
    r"|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth))\b"
    r"|(I{1,3}|I?V|VI{1,3}|I?X|XI{1,3}|XI?V|XVI{0,3}|XI?X|XXI{0,3}|XXI?V|XXVI{0,3}|L|LI{1,3}|LI?V)(?![\w.'])(?! [A-Z][a-z]))")  # fmt: skip
_PHONE = re.compile(r"(?:\+?\d{1,2}[ -])?\(?\b(\d{3})\)?[ -](\d{3})\s?-\s?(\d{4})\b|\b(\d{3})\s?-\s?(0\d{3}|\d{4})\b(?=\W*$)")
_DAY_OF = re.compile(rf"\b(?:the )?({ORDINAL_WORD}) (?:of )?(?={MONTH})|(?<=[a-z] )the ({ORDINAL_WORD})$", re.I)
_CENTURY = re.compile(r"\b(?:the )?(twen|thir|for|fif|six|seven|eigh|nine)ties of the (\d\d)th century\b", re.I)
_TENS = ("twen", "thir", "for", "fif", "six", "seven", "eigh", "nine")
_LONG = (
    (re.compile(r"\b(\d+)\s?(?:hours?|hrs?|h)\b,?(?: and)? (\d+)\s?(?:minutes?|mins?|m)\b", re.I), 60, "minutes"),
    (re.compile(r"\b(\d+)\s?(?:minutes?|mins?|m)\b,?(?: and)? (\d+)\s?(?:seconds?|secs?|s)\b", re.I), 60, "seconds"),
    (re.compile(r"\b(\d+)\s?(?:years?|yrs?)\b,?(?: and)? (\d+)\s?months?\b", re.I), 12, "months"),
    (re.compile(r"\b(\d+)\s?weeks?\b,?(?: and)? (\d+)\s?days?\b", re.I), 7, "days"),
    (re.compile(r"\b(\d+)\s?(?:feet|foot|ft\.?|')\s?,?(?:and )?(\d+)\s?(?:inches|inch|in\.?|\"|'')?(?!\w)", re.I), 12, "inches"),
)  # fmt: skip
_SHARE = re.compile(r"(?<![\w.,/:-])(\d+) (?:out of(?: every)?|in(?: every)?|of every) (\d+)(?![\w.,:/-]|\d)", re.I)
_SLASHED = re.compile(r"(?<![\w/.,:-])([1-9])/([2-9]|10)(?![\w/.,:]|-\d)")
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6,
          "eighth": 8, "tenth": 10, "twentieth": 20, "hundredth": 100}  # fmt: skip
_FRACTION = re.compile(
    r"\b(?:(?P<whole>\d+) and )?(?P<count>an?|one|two|three|four|five|seven|nine|\d+)[ -](?P<part>half|halve|third|quarter|fourth|fifth"
    r"|sixth|eighth|tenth|twentieth|hundredth)s?\b(?P<of> of (?:an? |the |all )?)?(?: (?P<unit>point|hour|mile|kilo|"
    r"litre|liter|century|year|million|billion|decade|dozen|pound|degree|teaspoon|cup|tonne|ton|inch|metre|meter)s?\b|(?=\s*(?:of\b|$|[.,;)]|than)))",
    re.I,
)
_HALF = re.compile(r"\bhalf (an? |of (?:an? )?)?(hour|mile|kilo|litre|liter|century|year|million|billion|decade"
    r"|dozen|pound|degree|teaspoon|cup|tonne|ton|inch|metre|meter)\b", re.I)  # fmt: skip
_BARE_HALF = re.compile(r"\b(?:one[- ])?half\b(?! ?(?:time|past|way|-))(?: of)?", re.I)
_AMOUNT_BEFORE = re.compile(r"\d[\w.,]*(?:\s[^\d\s]+)?\s$")
_UNITS_OF_TIME = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800,
                  "fortnight": 1209600, "month": 2629800, "year": 31557600}  # fmt: skip
_ADVERBS = {"daily": "day", "hourly": "hour", "weekly": "week", "fortnightly": "fortnight",
            "monthly": "month", "yearly": "year", "annually": "year"}  # fmt: skip
_TIMES_A = re.compile(r"(?:\b(?P<once>once|twice|thrice|(?P<n>\d+) times?)\s+)(?:(?:an?|per|each|every|in an?) "
    r"(?:(?P<every>\d+|other|second) )?(?P<unit>second|minute|hour|day|week|month|year|fortnight)s?"
    r"|(?P<adverb>daily|hourly|weekly|fortnightly|monthly|yearly|annually))\b", re.I)  # fmt: skip
_EVERY = re.compile(r"\b(?:each|every) (?:(?P<every>\d+|other|second) )?"
    r"(?P<unit>second|minute|hour|day|week|month|year|fortnight)s?\b|(?<!\d )\b(?P<adverb>daily|hourly|weekly"
    r"|fortnightly|monthly|yearly|annually)\b", re.I)  # fmt: skip
_ALL = re.compile(r"\b(\d+)[- ]all\b|\b(?:goalless|scoreless|nil[- ]nil)\b", re.I)
_NIL = re.compile(r"(?<=\d)(\s?-\s?|\s+)nil\b|\bnil(?=\s?-?\s?\d)", re.I)
_TIMES_AS = re.compile(r"\b(?P<times>twice|double|\d+ times) (?:as many|as much|the number of|the amount of)\b", re.I)


def one_spelling(text: str) -> str:
    """A plain text, its marks spelt alike, with each known phrase in one spelling.

    >>> one_spelling("She stepped down"), one_spelling("wasn't called off")
    ('She resigned', 'was not cancelled')
    """
    for pattern, spelt in _ONE_SPELLING:
        text = pattern.sub(spelt, text)
    return " ".join(text.split())


def numbers_in_one_spelling(text: str) -> str:
    """Numbers, shares, rates and lengths of time as digits in one form each.

    >>> numbers_in_one_spelling("Henry VIII"), numbers_in_one_spelling("one in four")
    ('Henry 8', '25%')
    """
    text = _NAMED_NUMBER.sub(_named_number, text)
    text = _DAY_OF.sub(lambda m: spell_in_digits(m[1] or f"the {m[2]}", wants_number=False) + " ", text)
    text = _HALF.sub(r"0.5 \2", text)
    text = _FRACTION.sub(_fraction, text)
    text = spell_in_digits(text, wants_number=False)
    text = _CENTURY.sub(lambda m: f"{int(m[2]) - 1}{_TENS.index(m[1].lower()) + 2}0s", text)
    for pattern, factor, unit in _LONG:
        text = pattern.sub(lambda m, f=factor, u=unit: f"{f * int(m[1]) + int(m[2])} {u}", text)
    text = _SHARE.sub(_share, _SLASHED.sub(_share, text))
    text = _BARE_HALF.sub("50%", text)
    text = _TIMES_A.sub(_rate, text)
    text = _EVERY.sub(_rate, text)
    text = re.sub(r"\b(?:noon|midday)\b", "12:00 pm", re.sub(r"\b12 (?=noon|midday|midnight)", "", text))
    text = re.sub(r"\bmidnight\b", "12:00 am", text)
    text = _ALL.sub(lambda m: f"{m[1]} - {m[1]}" if m[1] else "0 - 0", text)
    text = _NIL.sub(lambda m: " - 0" if m[1] else "0 -", text)
    text = _PHONE.sub(lambda m: "tel" + "".join(part for part in m.groups() if part), text)
    return _LETTERED.sub(r"\1", text)


def _named_number(match: re.Match[str]) -> str:
    if match[3]:
        return f"{match[1]} {read_roman(match[3]) or 0:.0f}"
    return f"{match[1]} {spell_in_digits(match[2].lower(), wants_number=False).rstrip('stndrh')}"


def _fraction(match: re.Match[str]) -> str:
    count = float(1 if match["count"].lower() in ("a", "an") else spell_in_digits(match["count"], wants_number=False))
    part = count / _PARTS[match["part"].lower()]
    if match["whole"]:
        return f"{int(match['whole']) + part:.6g} {match['unit'] or ''}"
    return f"{part:.6g} {match['unit']}" if match["unit"] else f"{100 * part:.6g}% "


def _share(match: re.Match[str]) -> str:
    part, whole = int(match[1]), int(match[2])
    return f"{100 * part / whole:.6g}%" if part < whole else match.group()


def _rate(match: re.Match[str]) -> str:
    parts = match.groupdict()
    if not parts.get("once") and _AMOUNT_BEFORE.search(match.string[: match.start()]):
        return match.group()
    once = (parts.get("once") or "once").lower()
    times = float(parts.get("n") or {"once": 1, "twice": 2, "thrice": 3}.get(once, 1))
    unit = (parts["unit"] or _ADVERBS[parts["adverb"].lower()]).lower()
    every = (parts.get("every") or "1").lower()
    span = 2 if every in ("other", "second") else int(every)
    return f"rate{1e6 * times / (span * _UNITS_OF_TIME[unit]):.5g}".replace(".", "_").replace("+", "")


