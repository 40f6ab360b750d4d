"""The state database, as `radarstream doctor` looks at it: it is read, and never changed."""

import os
from pathlib import Path
from typing import Final

from radarstream.connectors.state_table.database.engine import parsed_url
from radarstream.connectors.state_table.database.inspection import Inspected, absent_file, inspected
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.pipelines.cli.doctor_check import Check, answers, command
from radarstream.schemas.errors import RadarstreamError

POSTGRESQL_PORT: Final = 5432
GRANT: Final = "let an administrator grant this user INSERT, UPDATE and DELETE on the tables"
CORRECT: Final = "correct `database`, and for a password PGPASSWORD"


def database(url: str, config: Path | None) -> Check:
    """Say what the state database holds, or that the first run will make it."""
    try:
        absent = absent_file(url)
        if absent is not None:
            return _not_there(absent)
        parsed = parsed_url(url)
        if parsed.host and not answers(parsed.host, parsed.port or POSTGRESQL_PORT):
            place = f"{parsed.host}:{parsed.port or POSTGRESQL_PORT}"
            remedy = "start PostgreSQL there, or correct `database`"
            return Check("database", False, f"nobody listens at {place}", remedy)
        return _there(inspected(url), config)
    except RadarstreamError as error:
        return Check("database", False, str(error), error.remedy or CORRECT)


def _not_there(file: Path) -> Check:
    there = next(place for place in file.absolute().parents if place.exists())
    if there.is_dir() and os.access(there, os.W_OK):
        return Check("database", True, f"{file} is not there yet: the first run makes it")
    found = f"{file} is missing, and cannot be made there"
    return Check("database", False, found, "point `database` to a writable place")


def _there(found: Inspected, config: Path | None) -> Check:
    if found.version == HEAD:
        told = f"{found.name}, schema {HEAD}"
        if found.may_write:
            return Check("database", True, told)
        return Check("database", False, f"{told}, which this user may not write", GRANT)
    migrate = command("state migrate", config)
    old = f"schema {found.version or 'of before there were versions'}"
    told = f"{found.name}, {'empty' if found.version is None else old}"
    if found.may_make:
        does = "makes the tables" if found.version is None else f"brings it to {HEAD}"
        return Check("database", True, f"{told}: {migrate}, or the first run, {does}")
    sql = command("state migrate --sql", config)
    remedy = f"let an administrator run what this prints: {sql}"
    return Check("database", False, f"{told}, where this user may make no tables", remedy)
