"""Sees to it that the state database stays the one that the job began with."""

from dataclasses import dataclass

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from radarstream.connectors.state_table.database.groups import insist_on_mark
from radarstream.pipelines.job.telemetry.health import Health
from radarstream.schemas.errors import ConfigurationError

LOOK_S = 5.0

log = structlog.get_logger("radarstream")


@dataclass
class StateWatch:
    """Refuses work on another database than the one that gave this group its mark."""

    engine: Engine
    group: str
    mark: str
    health: Health
    told: bool = False

    def insist(self) -> None:
        """Raise ConfigurationError when the database was emptied, damaged or replaced."""
        insist_on_mark(self.engine, self.group, self.mark)

    def look(self) -> None:
        """Tell health whether the database answers and is still the same, a batch long or not."""
        try:
            self.insist()
        except SQLAlchemyError:
            self.health.passed("database", False)
        except ConfigurationError as error:
            self.health.passed("database", False)
            if not self.told:
                log.error("database_lost", error=error)  # noqa: TRY400 no frames where none help
            self.told = True
        else:
            self.health.passed("database")
