"""Text from web pages as the wire format wants it: no control characters, bounded size.

Pages are not ours to refuse, unlike records: what a page may not contain is cleaned away.
"""

from typing import Annotated

from pydantic import BeforeValidator

from radarstream.schemas.codec.text import clean


def _cleaned(value: object) -> object:
    if value is None:
        return ""
    return clean(value) if isinstance(value, str) else value


def _listed(value: object) -> object:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


PageText = Annotated[str, BeforeValidator(_cleaned)]
PageTexts = Annotated[tuple[PageText, ...], BeforeValidator(_listed)]


def capped(text: str, max_bytes: int) -> str:
    """The longest head of the text that takes at most `max_bytes` in UTF-8."""
    if len(text) * 4 <= max_bytes:
        return text
    return text.encode()[:max_bytes].decode(errors="ignore")
