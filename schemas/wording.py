"""Counts in words."""


def counted_noun(count: int, noun: str) -> str:
    """A count and its noun, which takes an s unless there is one.

    >>> counted_noun(1, "answer"), counted_noun(0, "item")
    ('1 answer', '0 items')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
