"""Which characters a reader sees: the rest could hide, reverse or smuggle text.

Hidden are controls, formats, surrogates, private and unassigned code points, line separators, and
what Unicode calls default ignorable: joiners, direction controls, soft hyphens, variation
selectors, fillers, tags. Text of others is made fit for a terminal, a log or a message here; pages
tell what was hidden, see `radarstream.pipelines.pages.safe_text`.
"""

import json
import re
from typing import Final

# Unicode's property Default_Ignorable_Code_Point, for a class of a regular expression; reserved
# code points are in it, so it does not grow with letters to come.
DEFAULT_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IGNORABLE: Final = re.compile(f"[{DEFAULT_IGNORABLE}]")
# For `str.translate`; capitals for themselves, because a small letter may look like another one.
LATIN_LOOKS: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧасԁеһіјорѕхуαεικνορτυχ",
    "ABESIJKMHOPCTYXABEZHIKMNOPTYXacdehijopsxyaeiknoptyx",
)
# For `str.translate`: full-width and small forms of ASCII characters.
FULL_WIDTH: Final = {**{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}, 0xFE64: ord("<")}


def is_shown(character: str) -> bool:
    """Whether a reader sees a character, or a blank that stands for itself.

    >>> [is_shown(c) for c in ("é", " ", chr(0x202E), chr(0xFE0F), chr(0x3164))]
    [True, True, False, False, False]
    """
    return character.isprintable() and not _IGNORABLE.match(character)


def only_shown(text: str, instead: str = "") -> str:
    """The text with blanks for white space and `instead` for every other hidden character.

    >>> only_shown("Paris" + chr(27) + "[2J" + chr(10) + "France")
    'Paris[2J France'
    """
    if text.isprintable() and not _IGNORABLE.search(text):
        return text
    return "".join(" " if c.isspace() else c if is_shown(c) else instead for c in text)


def one_line(text: str, limit: int = 200) -> str:
    """At most `limit` characters that show, with single blanks between words.

    >>> one_line("a" + chr(0x200B) + "b   c", 4)
    'ab c'
    """
    line = " ".join(only_shown(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def with_end(text: str, limit: int) -> str:
    """As `one_line`, without the middle of a longer text: a long name must not hide what follows.

    >>> with_end("error: " + 99 * "x" + ": it is damaged", 31)
    'error: xxxxxxxx…: it is damaged'
    """
    line = one_line(text, len(text))
    begin = max(0, limit // 2)
    return line if len(line) <= limit else f"{line[:begin]}…{line[begin - limit + 1 :]}"


def escaped_json(text: str) -> str:
    """JSON with hidden characters as escapes, so that it stays the same value; lines stay."""
    return "".join(c if c == "\n" or is_shown(c) else json.dumps(c)[1:-1] for c in text)
