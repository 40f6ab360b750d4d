"""Bring a state database to the schema of this release; alembic runs only to migrate an old one.

Migrations only add: processes of the release before go on working while a newer one is rolled
out. There is no way down but an export made before.
"""

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.service_tables import METADATA
from radarstream.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from alembic.config import Config

# The files of migrations/versions, in order.
REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009")
HEAD: Final = REVISIONS[-1]

_VERSION = sa.Table(  # as alembic makes it
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
_CREATION_LOCK = 0x7261646172  # advisory lock number on PostgreSQL; any constant does
_SCRIPTS = Path(__file__).with_name("migrations")


def bring_to_head(engine: Engine) -> str | None:
    """Create or migrate the tables in one transaction; return the version found, None if none.

    Several processes may do so at once: one works, the rest wait. A database that was created
    before there were versions is recognised by its tables. Raises ConfigurationError, with
    nothing changed, when the database is of a later release.
    """
    with engine.connect() as connection:
        on_sqlite = connection.dialect.name == "sqlite"
        if on_sqlite:  # at head, too: it tells whether the file can be written
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        found = stored_version(connection)
        if found == HEAD:
            return found
        if not on_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
            found = stored_version(connection)
        if found != HEAD:
            _migrate(connection, found)
            connection.commit()
        return found


def stored_version(connection: Connection) -> str | None:
    """Return the version that the database says it has; None without one.

    Raises ConfigurationError for a version that this release does not know.
    """
    if not connection.dialect.has_table(connection, _VERSION.name):
        return None
    version = connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()
    if version is not None and version not in REVISIONS:
        raise ConfigurationError(
            f"the state database has schema {version!r}, which this release ({HEAD}) does not "
            "know: a later release has migrated it; update radarstream"
        ).mended_by("update radarstream")
    return version


def pending_sql(engine: Engine) -> str:
    """Return, as SQL for an administrator to apply, what `bring_to_head` would do; "" if nothing.

    Without the version row being there nothing is executed; the database is only read.
    """
    from alembic import command

    with engine.connect() as connection:
        version = stored_version(connection)
        adopted = _version_by_tables(connection) if version is None else None
    if version == HEAD:
        return ""
    script = StringIO()
    config = _config(dialect=engine.dialect.name)
    config.output_buffer = script
    if adopted:
        command.stamp(config, adopted, sql=True)
    start = version or adopted
    command.upgrade(config, f"{start}:head" if start else "head", sql=True)
    return script.getvalue()


def _migrate(connection: Connection, version: str | None) -> None:
    adopted = _version_by_tables(connection) if version is None else None
    if version is None and adopted is None:  # new: all tables at once, without their history
        METADATA.create_all(connection, checkfirst=False)
        _VERSION.create(connection, checkfirst=True)
        connection.execute(sa.insert(_VERSION).values(version_num=HEAD))
        return
    from alembic import command  # a third of a second, which other starts do not pay

    config = _config(connection=connection)
    if adopted:
        command.stamp(config, adopted)
    command.upgrade(config, "head")


def _version_by_tables(connection: Connection) -> str | None:
    """Return the version of a database that was created before versions were stored."""
    inspector = sa.inspect(connection)
    if not inspector.has_table("memory"):
        return None
    columns = {column["name"] for column in inspector.get_columns("outbox")}
    return "0002" if "lane" in columns else "0001"


def _config(**attributes: object) -> "Config":
    from alembic.config import Config

    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
