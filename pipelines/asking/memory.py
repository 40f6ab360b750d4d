"""Accounts in memory: for studies, and for one user at a terminal. They end with the process."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from radarstream.pipelines.asking.ports import Account
from radarstream.schemas.times import milliseconds
from radarstream.schemas.trust import UserTrust
from radarstream.schemas.users import RECENT_QUESTIONS


@dataclass
class _Kept:
    """What is kept of one user."""

    trust: UserTrust
    recent: deque[tuple[datetime, str]] = field(
        default_factory=lambda: deque(maxlen=RECENT_QUESTIONS)
    )


class MemoryAccounts:
    """Trust, history and spent privacy of users in this process. Thread-safe.

    `gain_per_hour` is the most by which trust rises within an hour.
    """

    def __init__(self, gain_per_hour: float = 0.1, first_trust: float = 0.5) -> None:
        self._gain = gain_per_hour
        self._lock = Lock()
        self._kept: defaultdict[str, _Kept] = defaultdict(lambda: _Kept(UserTrust(first_trust)))
        self._spent: defaultdict[tuple[str, str], float] = defaultdict(float)

    def account(self, user: str) -> Account:
        """What is known of a user; a new account for a name that is not known."""
        with self._lock:
            kept = self._kept[user]
            return Account(kept.trust.value, tuple(kept.recent))

    def note_question(self, user: str, question: str, at: datetime) -> None:
        """Keep a question among the user's last five."""
        with self._lock:
            self._kept[user].recent.append((at, question))

    def move_trust(self, user: str, delta: float, at: datetime) -> float:
        """Add to a user's trust, within [0, 1] and within the gain that an hour allows."""
        with self._lock:
            kept = self._kept[user]
            kept.trust = kept.trust.moved(delta, milliseconds(at), self._gain)
            return kept.trust.value

    def spend(self, user: str, corpus: str, epsilon: float, budget: float) -> bool:
        """Take `epsilon` from the user's budget for a corpus; False if it does not allow it."""
        with self._lock:
            spent = self._spent[user, corpus] + epsilon
            if spent > budget:
                return False
            self._spent[user, corpus] = spent
            return True

    def spent(self, user: str, corpus: str) -> float:
        """The epsilon that a user has spent on a corpus."""
        with self._lock:
            return self._spent[user, corpus]
