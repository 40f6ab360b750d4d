"""Decodes bytes in any encoding of the web."""

import codecs
from typing import Final

# The encodings of the web (Encoding Standard, section 4), by Python's names. Python has others that
# pages do not use: compression, escapes, and punycode, which may take minutes.
ENCODINGS: Final = frozenset(
    [
        *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp866", "koi8-r", "koi8-u"),
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *(f"cp{page}" for page in (874, *range(1250, 1259))),
        *("mac-roman", "mac-cyrillic", "gb18030", "big5", "big5hkscs"),
        *("euc_jp", "iso2022_jp", "cp932", "cp949"),
    ]
)
# Encodings that browsers replace by others, and labels that Python does not know.
READ_AS: Final = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("iso8859-11", "tis-620", "windows-874"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "windows-31j", "x-sjis"), "cp932"),
    "iso8859-9": "cp1254",
    "euc_kr": "cp949",
    "x-mac-cyrillic": "mac-cyrillic",
    "iso-8859-8-i": "iso8859-8",
}


def decoded(page: bytes, charset: str) -> str:
    """Decode as a browser does; for an unknown charset, as UTF-8 with U+FFFD."""
    encoding = web_encoding(charset)
    if charset and encoding is None:
        return page.decode("utf-8", errors="replace")
    for candidate in filter(None, (encoding, "utf-8")):
        try:
            return page.decode(candidate)
        except ValueError:
            continue
    return page.decode("cp1252", errors="replace")  # the fallback of browsers


def web_encoding(charset: str) -> str | None:
    """Return Python's name of an encoding of the web, None for any other.

    >>> web_encoding("Latin1"), web_encoding("Shift_JIS"), web_encoding("punycode")
    ('cp1252', 'cp932', None)
    """
    label = charset.strip().lower()
    try:
        name = codecs.lookup(READ_AS.get(label, label)).name
    except (LookupError, ValueError):  # a name with a null byte is a ValueError
        return None
    name = READ_AS.get(name, name)
    return name if name in ENCODINGS else None
