"""What an error means for the job: retry, stop, or make one record a dead letter."""

from collections.abc import Iterator
from typing import Final, Literal

from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from radarstream.connectors.state_table.database.engine import database_code, is_transient
from radarstream.schemas import errors

ErrorKind = Literal["transient", "fatal", "defect"]
AWAY: Final = (errors.BrokerError, errors.DatabaseUnavailableError, errors.StateConflictError)


def kind_of(error: BaseException) -> ErrorKind:
    """Classify an error by its causes. "transient": a broker or database that restarts, a row that
    changed meanwhile. "fatal": the project's other errors, the system's, an interruption. "defect":
    all others.
    """
    chain = list(behind(error))
    if any(isinstance(e, AWAY) or is_transient(e) for e in chain):
        return "transient"
    if any(isinstance(e, DataError | IntegrityError) for e in chain):
        return "defect"  # the database refuses values computed from a record
    fatal = (errors.RadarstreamError, SQLAlchemyError, OSError, MemoryError, KeyboardInterrupt)
    return "fatal" if any(isinstance(e, fatal) for e in chain) else "defect"


def named(error: BaseException) -> str:
    """Name an error of another library: its class and the code of a database behind it."""
    codes = [code for code in map(database_code, behind(error)) if code]
    return f"{type(error).__name__} (database: {codes[0]})" if codes else type(error).__name__


def behind(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        suppressed = error.__suppress_context__  # raised `from None`
        error = error.__cause__ or (None if suppressed else error.__context__)
