"""Accounts in memory: for studies, and for one user at a terminal. They end with the process."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from radarstream.pipelines.asking.ports import Account

RECENT: Final = 5  # questions that are kept of a user, as in the paper
HOUR: Final = timedelta(hours=1)


@dataclass
class _Kept:
    """What is kept of one user. `gains` are rises of trust with their times, oldest first."""

    trust: float
    recent: deque[tuple[datetime, str]] = field(default_factory=lambda: deque(maxlen=RECENT))
    gains: deque[tuple[datetime, float]] = field(default_factory=deque)


class MemoryAccounts:
    """Trust, history and spent privacy of users in this process. Thread-safe.

    `gain_per_hour` is the most by which trust rises within an hour.
    """

    def __init__(self, gain_per_hour: float = 0.1, first_trust: float = 0.5) -> None:
        self._gain = gain_per_hour
        self._lock = Lock()
        self._kept: defaultdict[str, _Kept] = defaultdict(lambda: _Kept(first_trust))
        self._spent: defaultdict[tuple[str, str], float] = defaultdict(float)

    def account(self, user: str) -> Account:
        """What is known of a user; a new account for a name that is not known."""
        with self._lock:
            kept = self._kept[user]
            return Account(kept.trust, tuple(kept.recent))

    def note_question(self, user: str, question: str, at: datetime) -> None:
        """Keep a question among the user's last five."""
        with self._lock:
            self._kept[user].recent.append((at, question))

    def move_trust(self, user: str, delta: float, at: datetime) -> float:
        """Add to a user's trust, within [0, 1] and within the gain that an hour allows."""
        with self._lock:
            kept = self._kept[user]
            while kept.gains and kept.gains[0][0] <= at - HOUR:
                kept.gains.popleft()
            allowed = max(0.0, self._gain - sum(gain for _, gain in kept.gains))
            before, delta = kept.trust, min(delta, allowed)
            kept.trust = min(1.0, max(0.0, before + delta))
            if kept.trust > before:
                kept.gains.append((at, kept.trust - before))
            return kept.trust

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
