"""Trust, recent questions and spent epsilon of users; safe for threads and processes."""

import json
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Final

from sqlalchemy import (
    Connection,
    Engine,
    Select,
    StaticPool,
    create_engine,
    delete,
    insert,
    select,
    update,
)

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    EPSILON_SPENDING,
    USER_QUESTIONS,
    USER_TRUST,
)
from radarstream.schemas.codec import clean
from radarstream.schemas.times import milliseconds, time_at
from radarstream.schemas.users import RECENT_QUESTIONS, START, Account, UserTrust

ROUNDING: Final = 1e-9  # three times .1 is more than .3 in floating point
_P, _Q, _T = EPSILON_SPENDING.c, USER_QUESTIONS.c, USER_TRUST.c


@dataclass(frozen=True, slots=True)
class StoredAccounts:
    """Accounts in the state database. `gain_per_hour` is the most that trust rises in an hour."""

    engine: Engine
    gain_per_hour: float

    @classmethod
    def in_memory(cls, gain_per_hour: float = 0.1) -> "StoredAccounts":
        """Return accounts in memory for one thread, as in a study or at a terminal."""
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
        USER_TRUST.metadata.create_all(engine, [EPSILON_SPENDING, USER_QUESTIONS, USER_TRUST])
        return cls(engine, gain_per_hour)

    def account(self, user: str) -> Account:
        """Return the account of a user; a new one for an unknown name."""
        trust = db.fetch_value(self.engine, select(_T.trust).where(_T.user_name == user))
        rows = db.fetch(self.engine, _recent(user))
        recent = tuple((time_at(at_ms), question) for _, at_ms, question in reversed(rows))
        return Account(START if trust is None else trust, recent)

    def note_question(self, user: str, question: str, at: datetime) -> None:
        """Add a question to the user's recent ones, and keep the last five."""
        row = {"user_name": user, "asked_ms": milliseconds(at), "question": clean(question)}

        def note(connection: Connection) -> None:
            connection.execute(insert(USER_QUESTIONS), row)
            newest = connection.execute(_recent(user)).all()
            if len(newest) == RECENT_QUESTIONS:
                # Only older ones, because others may have been added meanwhile.
                older = _Q.seq < newest[-1][0]
                connection.execute(delete(USER_QUESTIONS).where(_Q.user_name == user, older))

        db.in_transaction(self.engine, note)

    def move_trust(self, user: str, delta: float, at: datetime) -> float:
        """Add `delta` to a user's trust, within [0, 1] and the gain per hour; return the trust.

        Raises ValueError if `delta` is not finite.
        """
        at_ms = milliseconds(at)
        mine = _T.user_name == user
        new = {"user_name": user, "trust": START, "gains": "[]", "updated_ms": at_ms}
        held = select(_T.trust, _T.gains).where(mine).with_for_update()

        def move(connection: Connection) -> float:
            # The write comes first, because on SQLite only a write takes the lock.
            db.insert_new(connection, USER_TRUST, new)
            value, gains = connection.execute(held).one()
            before = UserTrust(value, tuple((int(m), float(gain)) for m, gain in json.loads(gains)))
            trust = before.moved(delta, at_ms, self.gain_per_hour)
            after = {"trust": trust.value, "gains": json.dumps(trust.gains), "updated_ms": at_ms}
            connection.execute(update(USER_TRUST).where(mine).values(after))
            return trust.value

        return db.in_transaction(self.engine, move)

    def spend(self, user: str, corpus: str, epsilon: float, budget: float) -> bool:
        """Take `epsilon` from the user's budget for a corpus; False if that exceeds `budget`.

        Raises ValueError unless `epsilon` is positive and finite.
        """
        if not 0.0 < epsilon < inf:
            raise ValueError(f"a threshold costs a positive, finite epsilon, not {epsilon}")
        most = budget * (1.0 + ROUNDING)
        if epsilon > most:
            return False
        row, after = {"user_name": user, "corpus": corpus, "epsilon": epsilon}, _P.epsilon + epsilon
        changed = {"epsilon": after}
        return (
            db.put(self.engine, EPSILON_SPENDING, row, changed=changed, only_if=after <= most) == 1
        )

    def spent(self, user: str, corpus: str) -> float:
        """Return the epsilon that a user has spent on a corpus, by sequential composition."""
        mine = select(_P.epsilon).where(_P.user_name == user, _P.corpus == corpus)
        return float(db.fetch_value(self.engine, mine) or 0.0)


def _recent(user: str) -> Select[int, int, str]:
    # By number, because a clock may be set back.
    statement = select(_Q.seq, _Q.asked_ms, _Q.question).where(_Q.user_name == user)
    return statement.order_by(_Q.seq.desc()).limit(RECENT_QUESTIONS)
