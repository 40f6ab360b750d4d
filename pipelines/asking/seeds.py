"""Where the noise of a retrieval comes from."""

from hashlib import sha256
from secrets import randbits
from typing import Final

from radarstream.pipelines.asking.values import UserQuestion

BITS: Final = 63


def drawn(_: UserQuestion) -> int:
    """A seed that nobody can guess: what a service needs."""
    return randbits(BITS)


def from_question(question: UserQuestion) -> int:
    """The same seed for the same question of the same user: what a study needs, to be repeated."""
    digest = sha256(f"{question.user}\n{question.text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) >> (64 - BITS)
