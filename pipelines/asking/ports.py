"""What asking needs from outside: where documents are found, and what is known of users."""

from datetime import datetime
from typing import Protocol

from radarstream.pipelines.asking.values import UserQuestion
from radarstream.schemas.snapshot import Document
from radarstream.schemas.users import Account

__all__ = ["Account", "Accounts", "Retriever"]


class Retriever(Protocol):
    """Finds documents for questions."""

    def retrieve(self, question: UserQuestion, wanted: int) -> tuple[Document, ...]:
        """At most `wanted` documents, best first, ranks from 1. Raises RadarstreamError."""
        ...


class Accounts(Protocol):
    """Trust, history and spent epsilon of users. Safe for threads and processes."""

    def account(self, user: str) -> Account:
        """What is known of a user; a new account for a name that is not known."""
        ...

    def note_question(self, user: str, question: str, at: datetime) -> None:
        """Keep a question among the user's recent ones, of which the last five stay."""
        ...

    def move_trust(self, user: str, delta: float, at: datetime) -> float:
        """Add to a user's trust, within [0, 1] and within the gain that an hour allows.

        Returns the trust after it.
        """
        ...

    def spend(self, user: str, corpus: str, epsilon: float, budget: float) -> bool:
        """Take `epsilon` from the user's budget for a corpus; False, and nothing taken, if the
        budget does not allow it. Of two that spend at once, both are counted. Raises ValueError
        unless epsilon is positive and finite.
        """
        ...

    def spent(self, user: str, corpus: str) -> float:
        """The epsilon that a user has spent on a corpus, by sequential composition."""
        ...
