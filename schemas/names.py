"""Names of senders: what nobody can use to pose as somebody else.

Scripts and joining types are those of Unicode, as the library `regex` has them; the rules are those
of Unicode's reports 31 and 39 on identifiers, for names with blanks.
"""

from typing import Final
from unicodedata import decomposition, normalize

import regex

from radarstream.schemas.shown import is_shown

BLANK_PATTERN: Final = "\u2800"  # of Braille: a symbol that shows nothing
# Where a joiner changes what is read (UAX 31, section 2.3.1): ZWNJ between letters that would
# join, either after a virama, and ZWJ in Bengali between RA and its virama.
_SHOWN_JOINER = regex.compile(
    r"(?<=[\p{jt=L}\p{jt=D}]\p{jt=T}*)\u200c(?=\p{jt=T}*[\p{jt=R}\p{jt=D}])"
    r"|(?<=\p{L}\p{M}*\p{ccc=9})(?:\u200c(?=\p{L})|\u200d(?!\p{InSC=Vowel_Dependent}))"
    r"|(?<=\u09b0)\u200d(?=\u09cd)"
)
# UTS 39, section 5.4: a mark twice or more than four on a letter; marks through or round letters
_HEAPED = regex.compile(r"(\p{Mn})\1|\p{Mn}{5}|[\p{Me}\p{ccc=1}\u0305\u0332\u0333\u033f]")
_LIGATURE = regex.compile(r"[\p{Latin}\p{Greek}\p{Common}]")  # that, or a long s, an ellipsis
# In use today: tables 5 and 7 of UAX 31, and Mongolian.
_SCRIPTS: Final = (
    "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew "
    "Kannada Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan "
    "Adlam Balinese Bamum Batak Canadian_Aboriginal Chakma Cham Cherokee Hanifi_Rohingya Javanese "
    "Kayah_Li Lepcha Limbu Lisu Mandaic Meetei_Mayek Miao Mongolian Newa New_Tai_Lue Nko "
    "Nyiakeng_Puachue_Hmong Ol_Chiki Osage Saurashtra Sundanese Syloti_Nagri Syriac Tai_Le "
    "Tai_Tham Tai_Viet Tifinagh Vai Wancho Yi"
)
# May stand together, as Japanese, Chinese and Korean are written (UTS 39, "highly restrictive").
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
    """The one spelling of a name: NFKC, so that composed and decomposed letters are the same.

    >>> plain_name("Zoe" + chr(0x308)) == "Zoë"
    True
    """
    return normalize("NFKC", name)


def flaw_of(name: str) -> str:
    """Why a name could be taken for another one, in words; "" if it could not.

    >>> flaw_of("Zoë 山田"), flaw_of("ada" + chr(0x200B)), flaw_of(chr(0x430) + "da")
    ('', 'characters that do not show', 'letters of several scripts')
    """
    clear = _SHOWN_JOINER.sub("", name)
    if any(not is_shown(c) or c == BLANK_PATTERN for c in clear) or name != " ".join(name.split()):
        return "characters that do not show"
    if any(_restyled(character) for character in name):
        return "letters in another shape, such as full-width or bold ones"
    if _HEAPED.search(normalize("NFKD", clear)):
        return "marks that no spelling heaps on a letter"
    if not _ONE_SCRIPT.fullmatch(plain_name(clear)):
        return "letters of several scripts"
    return ""


def _restyled(character: str) -> bool:
    """Whether it is another letter in another shape.

    Letters that Unicode keeps for want of a better spelling are not, such as the Thai vowel AM.
    """
    kind, blank, _ = decomposition(character).partition("> ")
    return bool(blank) and (kind != "<compat" or bool(_LIGATURE.match(character)))
