"""Refuses names of senders that look like other names.

The rules are those of Unicode's reports 31 and 39 on identifiers, for names with blanks; the
library `regex` has the scripts and joining types.
"""

from typing import Final
from unicodedata import decomposition, normalize

import regex

from radarstream.schemas.shown import is_shown

BLANK_PATTERN: Final = "\u2800"  # of Braille: a symbol that shows nothing
# Joiners that change how letters look (UAX 31, section 2.3.1): ZWNJ between letters that would
# join, both joiners after a virama, and ZWJ in Bengali between RA and its virama.
_SHOWN_JOINER = regex.compile(
    r"(?<=[\p{jt=L}\p{jt=D}]\p{jt=T}*)\u200c(?=\p{jt=T}*[\p{jt=R}\p{jt=D}])"
    r"|(?<=\p{L}\p{M}*\p{ccc=9})(?:\u200c(?=\p{L})|\u200d(?!\p{InSC=Vowel_Dependent}))"
    r"|(?<=\u09b0)\u200d(?=\u09cd)"
)
# UTS 39, section 5.4: a mark twice, or over four marks, on a letter; marks through or around it
_HEAPED = regex.compile(r"(\p{Mn})\1|\p{Mn}{5}|[\p{Me}\p{ccc=1}\u0305\u0332\u0333\u033f]")
_LIGATURE = regex.compile(r"[\p{Latin}\p{Greek}\p{Common}]")  # also a long s, an ellipsis
# In use today: tables 5 and 7 of UAX 31, and Mongolian.
_SCRIPTS: Final = (
    "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew "
    "Kannada Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan "
    "Adlam Balinese Bamum Batak Canadian_Aboriginal Chakma Cham Cherokee Hanifi_Rohingya Javanese "
    "Kayah_Li Lepcha Limbu Lisu Mandaic Meetei_Mayek Miao Mongolian Newa New_Tai_Lue Nko "
    "Nyiakeng_Puachue_Hmong Ol_Chiki Osage Saurashtra Sundanese Syloti_Nagri Syriac Tai_Le "
    "Tai_Tham Tai_Viet Tifinagh Vai Wancho Yi"
)
# Scripts that may be mixed, for Japanese, Chinese and Korean (UTS 39, "highly restrictive").
_TOGETHER: Final = (
    ("Latin", "Han", "Hiragana", "Katakana"),
    ("Latin", "Han", "Bopomofo"),
    ("Latin", "Han", "Hangul"),
)
_ONE_SCRIPT = regex.compile(
    "|".join(
        "[{}]*".format("".join(rf"\p{{scx={s}}}" for s in (*scripts, "Common", "Inherited")))
        for scripts in (*_TOGETHER, *((script,) for script in _SCRIPTS.split()))
    )
)


def plain_name(name: str) -> str:
    """Normalise a name by NFKC, so that composed and decomposed letters are equal.

    >>> plain_name("Zoe" + chr(0x308)) == "Zoë"
    True
    """
    return normalize("NFKC", name)


def flaw_of(name: str) -> str:
    """Say why a name could be mistaken for another one; "" if it could not.

    >>> flaw_of("Zoë 山田"), flaw_of("ada" + chr(0x200B)), flaw_of(chr(0x430) + "da")
    ('', 'characters that do not show', 'letters of several scripts')
    """
    clear = _SHOWN_JOINER.sub("", name)
    if any(not is_shown(c) or c == BLANK_PATTERN for c in clear) or name != " ".join(name.split()):
        return "characters that do not show"
    if any(_restyled(character) for character in name):
        return "letters in another shape, such as full-width or bold ones"
    if _HEAPED.search(normalize("NFKD", clear)):
        return "more marks on a letter than any spelling has"
    if not _ONE_SCRIPT.fullmatch(plain_name(clear)):
        return "letters of several scripts"
    return ""


def _restyled(character: str) -> bool:
    """Whether a character is another letter in another shape; the Thai vowel AM, for example, is
    not, although Unicode decomposes it.
    """
    kind, blank, _ = decomposition(character).partition("> ")
    return bool(blank) and (kind != "<compat" or bool(_LIGATURE.match(character)))
