"""Shorter texts that make the same claim as an answer: "Oslo" for "Oslo, which is in Norway"."""

import re
from functools import cache, lru_cache

from radarstream.connectors.models.answer_agreement.tables import filled, pattern, rows

_MOST = 6  # of one answer


@cache
def _rules() -> list[tuple[list[str], re.Pattern[str], str]]:
    known, rules = dict[str, str](), list[tuple[list[str], re.Pattern[str], str]]()
    for traits, *row in rows("cores"):
        if row:
            compiled = re.compile(filled(row[0], known), re.IGNORECASE)
            rules.append((traits.split(), compiled, row[1] if len(row) > 1 else r"\g<core>"))
        else:
            name, _, part = traits.partition(" = ")
            known[name] = filled(part, known)
    return rules


@lru_cache(maxsize=65_536)
def cores(text: str, traits: frozenset[str]) -> dict[str, bool]:
    """Texts that say what `text` answers and leave out what it only adds.

    Each with whether it may stand for `text` beside such a text of the other answer as well.
    """
    found = dict[str, bool]()
    for needed, rule, spelt in _rules():
        asked = (t for t in needed if t != "ALONE")
        if all((t.lstrip("-") in traits) != t.startswith("-") for t in asked):
            match = rule.match(text)
            if match and not _revoked(match):
                found.setdefault(match.expand(spelt).strip(), "ALONE" not in needed)
    return dict(list(found.items())[:_MOST])


def _revoked(match: re.Match[str]) -> bool:
    """Whether what is left out takes the core back, rather than something else that it names."""
    parts = match.groupdict()
    bearer, told, role = (parts.get(name) or "" for name in ("bearer", "told", "role"))
    if pattern("TAKES_BACK").search(role):
        return True
    if pattern("OF_KIN").search(bearer) or pattern("REVOKES").search(bearer):
        return True
    if not pattern("REVOKES").search(told):
        return False
    named = set(re.findall(r"[A-Z]\w+|\d[\d.,]*", told.lstrip(";,:- ")[1:]))
    mistaken = named and pattern("MISTAKEN").search(told)
    return not (mistaken and named.isdisjoint((parts.get("core") or "").split()))
