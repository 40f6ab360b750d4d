"""Keys for the subject and the owner of cached model answers, to delete all of either.

A subject is 16 bytes of SHA-256, which find a question's entries without having the question.
"""

from functools import lru_cache
from hashlib import sha256
from typing import Final
from unicodedata import category, normalize

SUBJECT_BYTES: Final = 16
OWNER_BYTES: Final = 16
SUBJECT_CHARACTERS: Final = 500  # at most those of a prompt, so that prompts and questions agree


@lru_cache(maxsize=256)  # successive pairs have the same question
def question_subject(question: str) -> bytes:
    """Return the subject of a question, from its first 500 characters.

    Case, white space and invisible characters make no difference.

    >>> question_subject("Who leads  France?") == question_subject("who leads france?")
    True
    """
    visible = "".join(c for c in question if c.isspace() or category(c)[0] != "C")
    head = " ".join(visible.split())[:SUBJECT_CHARACTERS].rstrip()
    canonical = normalize("NFKC", head).casefold()
    return sha256(b"question/" + canonical.encode()).digest()[:SUBJECT_BYTES]


# The subject of all embeddings, because questions share texts; forgetting a question deletes all.
EMBEDDINGS: Final = sha256(b"embeddings").digest()[:SUBJECT_BYTES]


def owner_of(user: str) -> bytes:
    """Return the first bytes of the keys of a user's own entries."""
    return sha256(b"user/" + user.encode("utf-8", "surrogatepass")).digest()[:OWNER_BYTES]
