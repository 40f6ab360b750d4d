"""Trust in a user: it rises slowly with harmless questions and falls at once with suspicious ones.

ADO, section 4.3.1 and equation 3. Its update lets an attacker earn in three harmless questions what
makes every later one less watched; here an hour allows only so much gain.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from radarstream.schemas.orchestration import MOST_DELTA, RiskProfile

FIRST_TRUST: Final = 0.5
CALM_DELTA: Final = 0.02  # of a pass in which no defence was called for
FIRED_DELTA: Final = -0.05  # where the risk switched a defence on
INTERVENED_DELTA: Final = -0.1  # where documents were removed, or the audit changed the answer
HOUR_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class TrustAccount:
    """A user's trust. `gained` is what counts of recent gains at `moved_at`; it fades with time."""

    trust: float = FIRST_TRUST
    gained: float = 0.0
    moved_at: datetime | None = None


def bounded(delta: float) -> float:
    """A change of trust as it may count: at most 0.1 either way."""
    return min(MOST_DELTA, max(-MOST_DELTA, delta))


def updated(trust: float, before: float, after: float) -> float:
    """Trust after the deltas of both looks of the Sentinel, within [0, 1]; equation 3.

    >>> round(updated(0.5, 0.1, 0.1), 6), round(updated(0.5, -0.1, 0.05), 6)
    (0.7, 0.45)
    """
    return min(1.0, max(0.0, trust + bounded(before) + bounded(after)))


def delta_of(profile: RiskProfile | None, *, fired: bool, intervened: bool) -> float:
    """The delta of one pass: the Sentinel's, or less where the defences tell of an attack.

    `fired` says that the risk switched a defence on, `intervened` that documents were removed for
    it or that the audit changed the answer. A model cannot say more than what happened.
    """
    happened = INTERVENED_DELTA if intervened else FIRED_DELTA if fired else CALM_DELTA
    return happened if profile is None else min(bounded(profile.delta), happened)


def moved(account: TrustAccount, delta: float, at: datetime, gain_per_hour: float) -> TrustAccount:
    """The account after a change of trust, of which gains are cut to what is allowed.

    At most half of `gain_per_hour` may be gained at once, and the room refills at half of it per
    hour. So no hour, wherever it begins, sees more than `gain_per_hour`. A loss counts in full and
    gives no room back. A clock that goes back refills nothing.
    """
    room = gain_per_hour / 2.0
    since = 0.0 if account.moved_at is None else (at - account.moved_at).total_seconds()
    counted = max(0.0, account.gained - room * max(0.0, since) / HOUR_S)
    gain = min(max(0.0, delta), max(0.0, room - counted), 1.0 - account.trust)
    trust = max(0.0, account.trust + (gain if delta > 0.0 else delta))
    when = at if account.moved_at is None else max(at, account.moved_at)
    return TrustAccount(min(1.0, trust), counted + gain, when)
