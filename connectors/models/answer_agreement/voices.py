"""Sentences in one order: who does it, what is done, to whom."""

import re

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
