"""Untrusted text made fit for a page, beyond escaping: hidden characters shown, links vetted;
and times in words.
"""

import re
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlsplit

from markupsafe import Markup, escape

from radarstream.schemas.shown import DEFAULT_IGNORABLE
from radarstream.schemas.sites import host_of
from radarstream.schemas.times import time_at
from radarstream.schemas.verdict import Excerpt

# Letters that a joiner shapes (Arabic to Sinhala, Tibetan, Myanmar, Khmer, Mongolian), and emoji.
_SHAPED: Final = "\u0620-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1810-\u18af"
_EMOJI: Final = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINER_IN_USE: Final = (
    f"(?<=[{_SHAPED}])[\u200c\u200d](?=[{_SHAPED}])|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])"
)
# Controls, line separators, lone surrogates, annotations and whatever Unicode calls ignorable:
# they can reverse, hide or smuggle text. Tab, newline and the joiners that a script needs stay.
HIDDEN: Final = re.compile(
    f"(?:(?!{_JOINER_IN_USE})[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff"
    f"\ufff9-\ufffb\ufffe\uffff{DEFAULT_IGNORABLE}])+"
)
# A few of these are in much honest text: soft hyphens, joiners, fillers, variation selectors.
_HARMLESS: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\U000e0100-\U000e01ef]{1,3}"
)
MAX_LINK_CHARACTERS = 2_000


def visible(value: Any) -> Any:
    r"""Leave hidden characters out of a string, with a note where they turn text or could hold it.

    >>> visible("co\u00adoperate, invoice\u202efdp.exe")
    'cooperate, invoice‹U+202E›fdp.exe'
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return HIDDEN.sub(_note, value)
    return value


def _note(found: re.Match[str]) -> str:
    run = found.group()
    if _HARMLESS.fullmatch(run):
        return ""
    return f"‹U+{ord(run):04X}›" if len(run) == 1 else f"‹{len(run)} hidden characters›"


def safe_link(url: str) -> str | None:
    """Return `url` as a reader may follow it: plain http or https; None where it has no host.

    The host is in its ASCII form, so that look-alike letters show; user and password are left out.

    >>> safe_link("https://bank.example:pin@evil.example/a")
    'https://evil.example/a'
    """
    if len(url) > MAX_LINK_CHARACTERS or re.search(r"[\s\\\"<>`]", url) or HIDDEN.search(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = ascii_host(url)
    if parts.scheme not in {"http", "https"} or not host:
        return None
    host = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=host if port is None else f"{host}:{port}").geturl()


def written_address(url: str) -> str:
    """An address for a reader, who may not follow it: as `safe_link`, else as it is.

    >>> written_address("https://bank.example:pin@evil.example/"), written_address("notes.txt")
    ('https://evil.example/', 'notes.txt')
    """
    return safe_link(url) or url


def ascii_host(url: str) -> str:
    """The host of an address in ASCII, also where IDNA has no form for it; empty without one."""
    labels = host_of(url).split(".")
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels
    )


def quote_link(url: str, excerpt: Excerpt | None, page: int | None = None) -> str | None:
    """The link to a page at its quoted words, by a text fragment, or to a page of a PDF.

    https://wicg.github.io/scroll-to-text-fragment: browsers that do not know it open the page. None
    where the page has no safe link.

    >>> quote_link("https://a.example/b#c", Excerpt("", "It is Lima, says Ann-Lee of Peru", ""))
    'https://a.example/b#c:~:text=It%20is%20Lima%2C%20says,Ann%2DLee%20of%20Peru'
    """
    link = safe_link(url)
    if link is None or page is not None:
        return link if link is None else f"{link.partition('#')[0]}#page={page}"
    line, *_ = excerpt.match.splitlines() if excerpt and excerpt.match else ("",)
    words = line.split()
    ends = (" ".join(part) for part in (words[:4], words[4:][-3:]) if part)
    text = ",".join(quote(end, safe="", errors="replace").replace("-", "%2D") for end in ends)
    return f"{link}{'' if '#' in link else '#'}:~:text={text}" if text else link


def domain(url: str) -> str:
    """Host of a safe link in its ASCII form; else empty."""
    return "" if safe_link(url) is None else ascii_host(url).removeprefix("www.")


def shorten(text: str, characters: int) -> str:
    """One line of at most `characters` with hidden ones shown, ending in … where it was cut."""
    line = str(visible(" ".join(text.split())))
    if len(line) <= characters:
        return line
    return str(visible(line[: characters - 1])).rstrip() + "…"  # no joiner is left at the cut


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


def breakable(name: str) -> Markup:
    """A name that may be broken after its marks instead of anywhere."""
    return Markup(re.sub(r"([_:,+=\[])", r"\1<wbr>", str(escape(visible(name)))))  # noqa: S704  (escaped)


def minute(at_ms: int | None) -> str:
    """Date and minute in UTC; empty for no time, and for one that no calendar has.

    >>> minute(1_700_000_000_000)
    '2023-11-14 22:13 UTC'
    """
    try:
        return "" if at_ms is None else f"{time_at(at_ms):%Y-%m-%d %H:%M} UTC"
    except OverflowError:
        return ""


def day(at_ms: int | None) -> str:
    """Date in UTC, as `minute`."""
    return minute(at_ms)[:10]


def format_time(time: datetime) -> str:
    """Date, with the minute in UTC unless it is the day's first or last.

    A yearly history stamps its snapshots with the last second of the year.

    >>> format_time(datetime(2015, 12, 31, 23, 59, 59)), format_time(datetime(2015, 7, 1, 8, 30))
    ('2015-12-31', '2015-07-01 08:30 UTC')
    """
    whole_day = (time.hour, time.minute) in ((0, 0), (23, 59))
    return time.strftime("%Y-%m-%d" if whole_day else "%Y-%m-%d %H:%M UTC")
