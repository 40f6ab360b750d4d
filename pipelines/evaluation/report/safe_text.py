"""Untrusted text made fit for a page: hidden characters shown, links vetted, settings redacted.

HTML escaping is the template engine's work. This module covers what escaping leaves open:
characters a reader cannot see, link schemes a browser would run, and secrets in settings.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

# Controls, bidirectional overrides, zero-width and tag characters, lone surrogates: they can
# reverse, hide or smuggle text. Tab, newline and the emoji joiner (U+200D) stay.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]+"
)
MAX_LINK_CHARACTERS = 2_000
REDACTED = "(redacted)"
_SECRET = r"(api[_-]?key|secret|password|passwd|token|credentials?|authorization)"
_SECRET_KEY = re.compile(rf"(^|[_.-]){_SECRET}$", re.I)
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]+@")
_URL_PARAMETER = re.compile(rf"([?&]{_SECRET}=)[^&\s]+", re.I)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A window of a text: `match` is the passage it was centred on, possibly empty."""

    before: str
    match: str
    after: str


def visible(value: Any) -> Any:
    r"""Replace runs of hidden characters in a string by a visible note of what was there.

    >>> visible("invoice\u202efdp.exe")
    'invoice‹U+202E›fdp.exe'
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return HIDDEN.sub(_note, value)
    return value


def _note(found: re.Match[str]) -> str:
    run = found.group()
    return f"‹U+{ord(run):04X}›" if len(run) == 1 else f"‹{len(run)} hidden characters›"


def safe_link(url: str) -> str | None:
    """Return `url` if a reader may follow it: plain http or https with a host, else None."""
    if len(url) > MAX_LINK_CHARACTERS or re.search(r"[\s\\\"<>`]", url) or HIDDEN.search(url):
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    return url if parts.scheme in {"http", "https"} and host else None


def domain(url: str) -> str:
    """Host of a safe link in its ASCII form, so that look-alike letters show; else empty."""
    if safe_link(url) is None:
        return ""
    host = urlsplit(url).hostname or ""
    with suppress(UnicodeError):
        host = host.encode("idna").decode("ascii")
    return host.removeprefix("www.")


def shorten(text: str, characters: int) -> str:
    """One line of at most `characters`, ending in an ellipsis where it was cut.

    Hidden characters are shown before cutting, so that their notes are never cut in half by a
    later step.
    """
    line = str(visible(" ".join(text.split())))
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def excerpt(text: str, phrase: str | None, characters: int = 300) -> Excerpt:
    """At most `characters` of `text`, moved so that `phrase` is in view if it occurs."""
    line = str(visible(" ".join(text.split())))
    wanted = str(visible(" ".join((phrase or "").split())))
    found = re.search(re.escape(wanted), line, re.I) if 2 <= len(wanted) <= characters else None
    if found is None:
        return Excerpt(shorten(line, characters), "", "")
    room = (characters - len(found.group())) // 2
    start = max(0, found.start() - room) if found.end() > characters else 0
    end = min(len(line), start + characters)
    before = ("…" if start else "") + line[start : found.start()]
    after = line[found.end() : end] + ("…" if end < len(line) else "")
    return Excerpt(before, found.group(), after)


def without_secrets(value: Any) -> Any:
    """A copy of nested settings with passwords, keys and tokens replaced.

    >>> without_secrets({"api_key": "k", "max_tokens": 9, "url": "pg://me:pw@db/x"})
    {'api_key': '(redacted)', 'max_tokens': 9, 'url': 'pg://me:(redacted)@db/x'}
    """
    if isinstance(value, dict):
        return {
            key: REDACTED if _SECRET_KEY.search(str(key)) and held else without_secrets(held)
            for key, held in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(held) for held in value]
    if isinstance(value, str):
        value = _URL_PASSWORD.sub(rf"\1:{REDACTED}@", value)
        return _URL_PARAMETER.sub(rf"\1{REDACTED}", value)
    return value
