"""Sees to it that the state database stays the one that the job began with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.database import groups
from radarstream.connectors.state_table.database.inspection import absent_file
from radarstream.pipelines.build import SNAPSHOTS, committed_offsets, enter_group, shared_engine
from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.job.waiting import Waiting, repeating
from radarstream.pipelines.settings import Settings
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
    logged: bool = False
    seen: groups.Offsets = field(
        default_factory=dict
    )  # at the last look; a database's never go down

    def insist(self) -> None:
        """Raise ConfigurationError when it was emptied, damaged, replaced or rolled back."""
        seen = self.seen  # before the database is read: two threads look
        groups.insist_on_mark(self.engine, self.group, self.mark)
        with self.engine.connect() as connection:
            known = groups.known_offsets(connection, self.group)
        groups.refuse_unknown(self.engine.url.database, self.group, seen, known)
        self.seen = known

    def look(self) -> None:
        """Report to health whether the database answers and is the same, a batch long or not."""
        try:
            self.insist()
        except SQLAlchemyError:
            self.health.passed("database", False)
        except ConfigurationError as error:
            self.health.passed("database", False)
            if not self.logged:
                log.error("database_lost", error=error)  # noqa: TRY400 no frames where none help
            self.logged = True
        else:
            self.health.passed("database")


def open_database(
    settings: Settings, waiting: Waiting, group: str, *, topic: str = SNAPSHOTS, start_over: bool
) -> Engine:
    """The state database once it answers. Raises ConfigurationError where its SQLite file is
    missing although the group has committed, unless `start_over`.
    """
    file = absent_file(settings.database)

    def refuse_lost_file() -> None:
        ensure_topics(settings.kafka)
        groups.refuse_unknown(str(file), group, committed_offsets(settings, group, topic), {})

    if file is not None and not start_over:
        waiting.until("broker", refuse_lost_file)
    return waiting.until("database", lambda: shared_engine(settings))


@contextmanager
def watched_state(
    settings: Settings, waiting: Waiting, group: str, *, topic: str = SNAPSHOTS, start_over: bool
) -> Iterator[StateWatch]:
    """Enter the consumer group once the broker has all topics, and look after its database."""
    waiting.until("broker", lambda: ensure_topics(settings.kafka))
    mark = waiting.until(
        "broker", lambda: enter_group(settings, group, topic=topic, start_over=start_over)
    )
    state = StateWatch(shared_engine(settings), group, mark, waiting.health)
    with repeating("database", state.look, LOOK_S):
        yield state
