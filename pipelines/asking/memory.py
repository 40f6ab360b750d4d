"""Accounts in memory: for studies, and for one user at a terminal. They end with the process."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from radarstream.schemas.epsilon_budget import most_spent
from radarstream.schemas.times import milliseconds
from radarstream.schemas.trust import UserTrust
from radarstream.schemas.users import RECENT_QUESTIONS, Account


@dataclass
class _Kept:
    """What is kept of one user."""

    trust: UserTrust = UserTrust()
    recent: tuple[tuple[datetime, str], ...] = ()


class MemoryAccounts:
    """Trust, history and spent epsilon of users in this process. Thread-safe.

    The rules are those of the accounts in the database. `gain_per_hour` is the most by which trust
    rises within an hour.
    """

    def __init__(self, gain_per_hour: float = 0.1) -> None:
        self._gain = gain_per_hour
        self._lock = Lock()
        self._kept: defaultdict[str, _Kept] = defaultdict(_Kept)
        self._spent: defaultdict[tuple[str, str], float] = defaultdict(float)

    def account(self, user: str) -> Account:
        """What is known of a user; a new account for a name that is not known."""
        with self._lock:
            kept = self._kept[user]
            return Account(kept.trust.value, kept.recent)

    def note_question(self, user: str, question: str, at: datetime) -> None:
        """Keep a question among the user's recent ones."""
        with self._lock:
            kept = self._kept[user]
            kept.recent = (*kept.recent, (at, question))[-RECENT_QUESTIONS:]

    def move_trust(self, user: str, delta: float, at: datetime) -> float:
        """Add to a user's trust, within [0, 1] and within the gain that an hour allows."""
        with self._lock:
            kept = self._kept[user]
            kept.trust = kept.trust.moved(delta, milliseconds(at), self._gain)
            return kept.trust.value

    def spend(self, user: str, corpus: str, epsilon: float, budget: float) -> bool:
        """Take `epsilon` from the user's budget for a corpus; False if it does not allow it.

        Raises ValueError unless epsilon is positive and finite.
        """
        most = most_spent(epsilon, budget)
        with self._lock:
            if self._spent[user, corpus] + epsilon > most:
                return False
            self._spent[user, corpus] += epsilon
            return True

    def spent(self, user: str, corpus: str) -> float:
        """The epsilon that a user has spent on a corpus."""
        with self._lock:
            return self._spent[user, corpus]
