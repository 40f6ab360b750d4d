"""Which sites a text names as its sources."""

import re
from itertools import chain
from typing import Final

from radarstream.schemas.sites import UNTOLD, owner_named, owner_of

READ_CHARACTERS: Final = 4_000  # of a text: it may be hostile
_NAME: Final = r"[^\W\d_a-z][\w&-]*(?: (?:of (?:the )?|and |for |& )?[^\W\d_a-z][\w&-]*){0,5}"
_LED: Final = re.compile(
    r"(?i:\b(?:according to|citing|reported by|sources?\s?:"
    r"|(?:first|originally) (?:appeared|published|reported) (?:by|in|on)))\s+(?i:the\s+)?"
    rf"(?:(?P<host>(?:[a-zA-Z0-9-]+\.)+[a-z]{{2,}})|(?P<name>{_NAME}))"
)
_DATELINE: Final = re.compile(rf"\((?P<name>{_NAME})\)\s*[-\u2013\u2014]")
# Where names are registered that a text need not spell: an owner there keeps its suffix.
_SUFFIXES: Final = ("", ".gov", ".int", ".edu")


def cited_in(text: str) -> frozenset[str]:
    """The owners (`owner_of`) that a text names as its sources, in English.

    By a phrase such as "according to", or as an agency before the text: "ROME (Agency) -".

    >>> sorted(cited_in("Rain, according to Example News. Source: www.other.co.uk"))
    ['example', 'example.edu', 'example.gov', 'example.int', 'other']
    """
    read = " ".join(text[:READ_CHARACTERS].split())
    cited: set[str] = set()
    for found in chain(_LED.finditer(read), _DATELINE.finditer(read)):
        if name := found["name"]:
            owners = map(owner_named, _spellings(name))
            cited.update(owner + suffix for owner in owners for suffix in _SUFFIXES)
        else:
            cited.add(owner_of(f"https://{found['host']}/"))
    return frozenset(cited - {UNTOLD})


def _spellings(name: str) -> set[str]:
    """A name and its short forms: "New York Times" is also "NYT" and "NYTimes"."""
    words = [word for word in re.split(r"[\s&-]+", name) if word[:1].isupper()]
    initials = "".join(word[0] for word in words)
    short = {initials, initials[:-1] + words[-1]} if len(words) > 2 else set()
    return {name} | short
