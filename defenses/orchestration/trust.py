"""Trust in a user: it rises slowly with harmless questions and falls at once with suspicious ones.

ADO, section 4.3.1 and equation 3. Its update lets an attacker earn in three harmless questions what
makes every later one less watched; `schemas.trust` has the update, and caps what an hour allows.
"""

from typing import Final

from radarstream.schemas.orchestration import MOST_DELTA, RiskProfile

CALM_DELTA: Final = 0.02  # of a pass in which no defence was called for
FIRED_DELTA: Final = -0.05  # where the risk switched a defence on
INTERVENED_DELTA: Final = -0.1  # where documents were removed, or the audit changed the answer


def bounded(delta: float) -> float:
    """A change of trust as it may count: at most 0.1 either way."""
    return min(MOST_DELTA, max(-MOST_DELTA, delta))


def delta_of(profile: RiskProfile | None, *, fired: bool, intervened: bool) -> float:
    """The delta of one pass: the Sentinel's, or less where the defences tell of an attack.

    `fired` says that the risk switched a defence on, `intervened` that documents were removed for
    it or that the audit changed the answer. A model cannot say more than what happened.
    """
    happened = INTERVENED_DELTA if intervened else FIRED_DELTA if fired else CALM_DELTA
    return happened if profile is None else min(bounded(profile.delta), happened)
