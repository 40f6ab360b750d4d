"""Which complaint is attributed next, and which half of the budget pays: one half is for trusted
senders and approvals, the other everybody's in turns, so that neither keeps the other waiting.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import complaints, senders, store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, next_open
from radarstream.pipelines.settings import AttributionSettings
from radarstream.schemas.incidents import ComplaintState
from radarstream.schemas.times import Clock, milliseconds

HALF = 0.5
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

log = structlog.get_logger("radarstream")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be attributed at this moment."""

    engine: Engine
    settings: AttributionSettings
    clock: Clock

    def next_turn(self) -> tuple[StoredComplaint | None, bool]:
        """The complaint to look at, if any, and whether the reserved half pays; the half of which
        less is used goes first. With both used up, known attributions can still be settled.
        """
        day_ago_ms = milliseconds(self.clock.now() - DAY)
        first = partial(next_open, self.engine, day_ago_ms=day_ago_ms, trusted=self.trusted())
        used = {reserved: self.used(reserved=reserved) for reserved in (True, False)}
        if sum(used.values()) < len(used):
            for reserved in sorted(used, key=used.__getitem__):
                if used[reserved] < 1.0 and (complaint := first(only_urgent=reserved)):
                    return complaint, reserved
        return first(only_known=True), False

    def used(self, *, reserved: bool) -> float:
        """Return the share of this half that is used up, by the scarcer limit; may exceed 1."""
        now = self.clock.now()
        events, calls = store.spent(
            self.engine, milliseconds(now - HOUR), milliseconds(now - DAY), reserved=reserved
        )
        limits = self.settings
        share = max(events / limits.attributions_per_hour, calls / limits.model_calls_per_day)
        return share / HALF

    def trusted(self) -> frozenset[str]:
        """Return the trusted senders with an open complaint."""
        with self.engine.connect() as connection:
            waiting = senders.waiting_senders(connection)
        return frozenset(
            name for name, record in waiting.items() if record.trusted(self.settings.trusted_after)
        )

    def tell_waiting(self) -> None:
        """Log how many complaints wait for budget, if any do."""
        waiting = complaints.counts(self.engine)[0].get(ComplaintState.OPEN, 0)
        if not waiting:
            return
        spent = self.used(reserved=True) >= 1.0
        log.warning(
            "complaints wait for budget",
            complaints=waiting,
            reason="it is used up" if spent else "what is left is for trusted senders",
            attributions_per_hour=self.settings.attributions_per_hour,
            model_calls_per_day=self.settings.model_calls_per_day,
        )
