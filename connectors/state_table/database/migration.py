"""Creates the tables of this release in a state database, or returns the SQL for it."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.tables import MEMORY, METADATA
from radarstream.schemas.errors import ConfigurationError

HEAD: Final = "1"

_VERSION = sa.Table(  # as of alembic, for later versions
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
_CREATION_LOCK = 0x7261646172  # advisory lock number on PostgreSQL; any constant


def bring_to_head(engine: Engine) -> str | None:
    """Create the tables in one transaction; return the earlier version, None if there was none.

    Several processes may call it at once. Raises ConfigurationError for another schema, without
    changing it.
    """
    with engine.connect() as connection:
        on_sqlite = connection.dialect.name == "sqlite"
        if on_sqlite:  # it also fails if the file is not writable
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        found = stored_version(connection)
        if found == HEAD:
            return found
        if not on_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
            found = stored_version(connection)
        if found is None:
            METADATA.create_all(connection, checkfirst=False)
            _VERSION.create(connection)
            connection.execute(sa.insert(_VERSION).values(version_num=HEAD))
            connection.commit()
        return found


def stored_version(connection: Connection) -> str | None:
    """Return the version of the database's schema: `HEAD`, or None without tables.

    Raises ConfigurationError for any other schema.
    """
    version = None
    if connection.dialect.has_table(connection, _VERSION.name):
        version = connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()
    elif not connection.dialect.has_table(connection, MEMORY.name):
        return None
    if version != HEAD:
        raise ConfigurationError(
            f"the state database has schema {version or 'without a version'}, and this release "
            f"({HEAD}) cannot use it: use the release that made it, or another database"
        ).mended_by("use that release, or name another database with the setting `database`")
    return HEAD


def pending_sql(engine: Engine) -> str:
    """Return the SQL of `bring_to_head` for an administrator, "" if nothing is to be done.

    The database is only read.
    """
    with engine.connect() as connection:
        if stored_version(connection) == HEAD:
            return ""
    dialect = engine.dialect
    script = ["BEGIN"]

    def write(statement: Any, *_: object) -> None:
        options = {"literal_binds": True}
        script.append(str(statement.compile(dialect=dialect, compile_kwargs=options)).strip())

    recorder = sa.create_mock_engine(engine.url, write)
    METADATA.create_all(recorder, checkfirst=False)
    _VERSION.create(recorder, checkfirst=False)
    write(sa.insert(_VERSION).values(version_num=HEAD))
    return ";\n\n".join([*script, "COMMIT"]) + ";\n"
