"""Removes characters that a reader does not see, because they could hide or reverse text.

Hidden are controls, formats, surrogates, private and unassigned code points, line separators, and
what Unicode calls default ignorable: joiners, direction controls, soft hyphens, variation
selectors, fillers, tags. Use it for terminals, logs and messages; pages mark hidden characters,
see `radarstream.pipelines.pages.safe_text`.
"""

import json
import re
from typing import Final

# Unicode's property Default_Ignorable_Code_Point, for a character class. It has reserved code
# points, so that it does not change with new versions of Unicode.
DEFAULT_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IGNORABLE: Final = re.compile(f"[{DEFAULT_IGNORABLE}]")
# For `str.translate`; capitals have their own entries, because small letters look different.
LATIN_LOOKS: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧасԁеһіјорѕхуαεικνορτυχ",
    "ABESIJKMHOPCTYXABEZHIKMNOPTYXacdehijopsxyaeiknoptyx",
)
# For `str.translate`: full-width and small forms of ASCII characters.
FULL_WIDTH: Final = {**{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}, 0xFE64: ord("<")}


def is_shown(character: str) -> bool:
    """Whether a reader sees a character; a plain blank counts as seen.

    >>> [is_shown(c) for c in ("é", " ", chr(0x202E), chr(0xFE0F), chr(0x3164))]
    [True, True, False, False, False]
    """
    return character.isprintable() and not _IGNORABLE.match(character)


def only_shown(text: str, instead: str = "") -> str:
    """Replace white space by blanks and every other hidden character by `instead`.

    >>> only_shown("Paris" + chr(27) + "[2J" + chr(10) + "France")
    'Paris[2J France'
    """
    if text.isprintable() and not _IGNORABLE.search(text):
        return text
    return "".join(" " if c.isspace() else c if is_shown(c) else instead for c in text)


def one_line(text: str, limit: int = 200) -> str:
    """Return at most `limit` visible characters, with single blanks between words.

    >>> one_line("a" + chr(0x200B) + "b   c", 4)
    'ab c'
    """
    line = " ".join(only_shown(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def with_end(text: str, limit: int) -> str:
    """Cut as `one_line`, but in the middle, so that the end stays visible.

    >>> with_end("error: " + 99 * "x" + ": it is damaged", 31)
    'error: xxxxxxxx…: it is damaged'
    """
    line = one_line(text, len(text))
    begin = max(0, limit // 2)
    return line if len(line) <= limit else f"{line[:begin]}…{line[begin - limit + 1 :]}"


def escaped_json(text: str) -> str:
    """Write the hidden characters of JSON as escapes, except newlines; the value stays the same."""
    return "".join(c if c == "\n" or is_shown(c) else json.dumps(c)[1:-1] for c in text)
