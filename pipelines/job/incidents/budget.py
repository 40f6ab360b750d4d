"""Whose report is attributed next, and on which half of the budget.

One half is reserved for trusted reporters and for what a person approved. The other half is
everybody's, in turns. What is paid from one half never counts in the other, so that neither a
flood of invented names keeps trusted people waiting, nor a busy trusted reporter a first one.
"""

from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import origins, report_standing, reports
from radarstream.connectors.state_table.incidents.report_queue import next_open
from radarstream.connectors.state_table.incidents.reports import StoredReport
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.job.answering.ports import Clock
from radarstream.pipelines.job.incidents.reporting import trust_of
from radarstream.pipelines.settings import AttributionSettings
from radarstream.schemas.reports import PIPELINE, ReportState
from radarstream.schemas.times import milliseconds

HALF = 0.5
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

log = structlog.get_logger("radarstream")


@dataclass(frozen=True, slots=True)
class Turn:
    """A report to look at now; `reserved` tells which half of the budget pays."""

    report: StoredReport
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be attributed at this moment."""

    engine: Engine
    settings: AttributionSettings
    rules: Rules
    clock: Clock

    def next_turn(self) -> Turn | None:
        """The report to look at now, if the budget allows any.

        The half that is used less goes first. When both are used up, what was attributed before
        can still be settled.
        """
        day_ago_ms = milliseconds(self.clock.now() - DAY)
        open_to_all, reserved = self.used(reserved=False), self.used(reserved=True)
        trusted = self.trusted()
        left = open_to_all + reserved < 2.0
        for used, _, only_urgent in sorted([(reserved, 0, True), (open_to_all, 1, False)]):
            if (
                left
                and used < 1.0
                and (
                    report := next_open(
                        self.engine, day_ago_ms=day_ago_ms, trusted=trusted, only_urgent=only_urgent
                    )
                )
            ):
                return Turn(report, reserved=only_urgent)
        known = next_open(self.engine, day_ago_ms=day_ago_ms, trusted=trusted, only_known=True)
        return Turn(known) if known else None

    def used(self, *, reserved: bool) -> float:
        """The share of this half that is used up, of the scarcer limit; may exceed 1."""
        now = self.clock.now()
        events, calls = origins.spent(
            self.engine, milliseconds(now - HOUR), milliseconds(now - DAY), reserved=reserved
        )
        limits = self.settings
        share = max(events / limits.attributions_per_hour, calls / limits.model_calls_per_day)
        return share / HALF

    def trusted(self) -> frozenset[str]:
        """The trusted reporters of whom a report waits."""
        with self.engine.connect() as connection:
            waiting = report_standing.waiting_reporters(connection)
        return frozenset(
            name
            for name, standing in waiting.items()
            if name != PIPELINE and trust_of(standing).trusted(self.rules)
        )

    def tell_waiting(self) -> None:
        """Log how many reports wait for budget, where any do."""
        waiting = reports.counts(self.engine)[0].get(ReportState.OPEN, 0)
        if not waiting:
            return
        spent = self.used(reserved=True) >= 1.0
        log.warning(
            "reports wait for budget",
            reports=waiting,
            reason="it is used up" if spent else "what is left is for trusted reporters",
            attributions_per_hour=self.settings.attributions_per_hour,
            model_calls_per_day=self.settings.model_calls_per_day,
        )
