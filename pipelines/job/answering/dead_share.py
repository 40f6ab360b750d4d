"""Fail fast: when most of the input is dead, something else than the input is wrong."""

from collections import deque
from collections.abc import Iterable

from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.events import AnswerEvent, DeadLetter


class DeadShareError(RadarstreamError):
    """More than the permitted share of the last inputs became dead letters."""

    exit_code = 3


class DeadShare:
    """Watches the share of dead letters among the last `window` inputs; 1 permits any."""

    def __init__(self, permitted: float, window: int) -> None:
        self.permitted = permitted
        self.dead: deque[bool] = deque(maxlen=window)

    def check(self, outcomes: Iterable[AnswerEvent | DeadLetter]) -> None:
        """Count outcomes in. Raises DeadShareError once a full window holds too many dead."""
        self.dead.extend(isinstance(outcome, DeadLetter) for outcome in outcomes)
        share = sum(self.dead) / max(1, len(self.dead))
        if len(self.dead) == self.dead.maxlen and share > self.permitted:
            raise DeadShareError(
                f"{share:.0%} of the last {len(self.dead)} inputs became dead letters; "
                f"{self.permitted:.0%} are permitted"
            )
