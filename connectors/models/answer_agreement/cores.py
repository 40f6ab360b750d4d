"""Shorter texts that make the same claim as an answer: "Oslo" for "Oslo, which is in Norway"."""

import re
from functools import cache, lru_cache

from radarstream.connectors.models.answer_agreement.tables import filled_rows, pattern

_MOST = 6  # of one answer
_LEFT_OUT = frozenset(("told", "role", "bearer", "before"))  # groups, each with its NOT_…


@cache
def _rules() -> list[tuple[list[str], re.Pattern[str], str]]:
    return [
        (traits.split(), re.compile(rule, re.IGNORECASE), "".join(spelt) or r"\g<core>")
        for traits, rule, *spelt in filled_rows("cores", at=1)
    ]


@lru_cache(maxsize=4_096)
def _rules_for(traits: frozenset[str]) -> list[tuple[re.Pattern[str], str, bool]]:
    """The rules for questions of these traits, each with whether its core may stand beside another.

    ASKED is a trait that a rule must have too.
    """
    return [
        (rule, spelt, "ALONE" not in needed)
        for needed, rule, spelt in _rules()
        if ("ASKED" in needed) == ("ASKED" in traits)
        and all((t.lstrip("-") in traits) != t.startswith("-") for t in needed if t != "ALONE")
    ]


@lru_cache(maxsize=65_536)
def cores(text: str, traits: frozenset[str]) -> dict[str, bool]:
    """Texts that say what `text` answers and leave out what it only adds.

    Each with whether it may stand for `text` beside such a text of the other answer as well.
    `traits` are those of the question; at most six are given.

    >>> cores("Oslo, which lies in Norway", frozenset({"WHERE"}))
    {'Oslo': True}
    """
    texts = dict[str, bool]()
    for rule, spelt, free in _rules_for(traits):
        if (match := rule.match(text)) and not _revoked(match):
            texts.setdefault(match.expand(spelt).strip(), free)
    return dict(list(texts.items())[:_MOST])


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
