"""Shorter texts that make the same claim as an answer: "Oslo" for "Oslo, which is in Norway"."""

import re
from functools import cache, lru_cache

from radarstream.connectors.models.answer_agreement.tables import filled, pattern, rows

_MOST = 6  # of one answer
_LEFT_OUT = frozenset(("told", "role", "bearer", "before"))  # groups, each with its NOT_…


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
    `traits` are those of the question; at most six are given.

    >>> cores("Oslo, which lies in Norway", frozenset({"WHERE"}))
    {'Oslo': True}
    """
    found = dict[str, bool]()
    for needed, rule, spelt in _rules():
        asked = (t for t in needed if t != "ALONE")
        if ("ASKED" in needed) == ("ASKED" in traits) and all(
            (t.lstrip("-") in traits) != t.startswith("-") for t in asked
        ):
            match = rule.match(text)
            if match and not _revoked(match):
                found.setdefault(match.expand(spelt).strip(), "ALONE" not in needed)
    return dict(list(found.items())[:_MOST])


def _revoked(match: re.Match[str]) -> bool:
    """Whether a part that is left out takes the core back, by the pattern NOT_… of its group; that
    something else is wrong does not.
    """
    parts = {name: text or "" for name, text in match.groupdict().items()}
    core = parts.pop("core", "").split()
    for name, text in parts.items():
        if name in _LEFT_OUT and pattern(f"NOT_{name.upper()}").search(text):
            named = set(re.findall(r"[A-Z]\w+|\d[\d.,]*", text.lstrip(";,:- ")[1:]))
            if not (named and pattern("MISTAKEN").search(text) and named.isdisjoint(core)):
                return True
    return False
