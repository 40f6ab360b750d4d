"""What a cached model answer is about, and whose it is, so that all about either can be deleted.

A subject is 16 bytes of SHA-256: enough to find a question's entries, not to read the question.
"""

from functools import lru_cache
from hashlib import sha256
from typing import Final
from unicodedata import category, normalize

SUBJECT_BYTES: Final = 16
OWNER_BYTES: Final = 16
# Not above what a prompt keeps of a question, so that prompts and questions agree.
SUBJECT_CHARACTERS: Final = 500


@lru_cache(maxsize=256)  # a question's pairs come one after another
def question_subject(question: str) -> bytes:
    """Return the subject of a question, whatever its case, white space and invisible characters.

    Questions that agree in their first 500 characters share one.

    >>> question_subject("Who leads  France?") == question_subject("who leads france?")
    True
    """
    visible = "".join(c for c in question if c.isspace() or category(c)[0] != "C")
    head = " ".join(visible.split())[:SUBJECT_CHARACTERS].rstrip()
    canonical = normalize("NFKC", head).casefold()
    return sha256(b"question/" + canonical.encode()).digest()[:SUBJECT_BYTES]


# Embeddings are of texts that any question may share; forgetting one question drops them all.
EMBEDDINGS: Final = sha256(b"embeddings").digest()[:SUBJECT_BYTES]


def owner_of(user: str) -> bytes:
    """Return how the keys begin of what is cached for a user alone."""
    return sha256(b"user/" + user.encode("utf-8", "surrogatepass")).digest()[:OWNER_BYTES]
