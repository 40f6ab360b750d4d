"""Characters that a string on the wire must not have.

These are the controls C0 (except tab, newline, carriage return), DEL and C1, which control
terminals and hide text, and lone surrogates, which are not Unicode text. `decode_*` refuses them;
`encode` and the readers of web pages remove them.
"""

import re

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAKS = "\x0b\x0c\x85"
_HINTS = (b"\\u", b"\\b", b"\\f", b"\x7f")  # escapes in JSON, and DEL, which needs none
_C1 = re.compile(b"\xc2[\x80-\x9f]")


def is_surrogate(character: str) -> bool:
    """Whether the character is half of a UTF-16 pair."""
    return "\ud800" <= character <= "\udfff"


def may_be_forbidden(json: bytes) -> bool:
    r"""Whether a string in valid JSON may have a forbidden character; a fast look at its bytes.

    >>> may_be_forbidden('{"é":"tab\\t"}'.encode()), may_be_forbidden(b'["a\\u001b"]')
    (False, True)
    """
    return any(hint in json for hint in _HINTS) or _C1.search(json) is not None


def clean(text: str) -> str:
    r"""Drop control characters; page breaks become newlines, lone surrogates U+FFFD.

    >>> clean("a\x1b[31mb\x0cc")
    'a[31mb\nc'
    """
    return text if text.isprintable() else FORBIDDEN.sub(_replacement, text)


def capped(text: str, max_bytes: int) -> str:
    """Return the longest beginning of the text that takes at most `max_bytes` in UTF-8."""
    if len(text) * 4 <= max_bytes:
        return text
    return text.encode()[:max_bytes].decode(errors="ignore")


def _replacement(match: re.Match[str]) -> str:
    character = match.group()
    if is_surrogate(character):
        return "\ufffd"
    return "\n" if character in _LINE_BREAKS else ""
