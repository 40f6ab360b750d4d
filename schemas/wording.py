"""Words for counts."""


def counted_noun(count: int, noun: str) -> str:
    """Return a count and its noun, with an s unless the count is 1.

    >>> counted_noun(1, "answer"), counted_noun(0, "item")
    ('1 answer', '0 items')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
