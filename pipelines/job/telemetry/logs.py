"""Logs: one line per event on standard error, without any content that the job reads.

Lines contain only plain, short, printable values. An exception gives its classes and frames, and
its message only if it is the project's; a library's record gives its template if that is a literal.
"""

import logging
import sys
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, Final, TextIO

import structlog

from radarstream.pipelines.job.failures import behind
from radarstream.pipelines.settings import TelemetrySettings
from radarstream.schemas import errors
from radarstream.schemas.shown import one_line

EventDict = MutableMapping[str, Any]

TEXT_CHARACTERS: Final = 200
LIST_ITEMS: Final = 32
FRAMES: Final = 12  # innermost frames of a traceback
WITHHELD: Final = "message withheld"
OWN_LOGGERS: Final = (
    "radarstream.connectors.",
    "radarstream.pipelines.",
    "radarstream.schemas.",
    "radarstream.defenses.",
)
PLAIN_ERRORS: Final = (
    errors.ConfigurationError,
    errors.StateConflictError,
)  # messages without data


def configure_logging(settings: TelemetrySettings, stream: TextIO | None = None) -> None:
    """Send structlog, standard logging, warnings and uncaught exceptions to one stream, whose write
    errors are ignored. Libraries log from "warning" on, or from "info" on at level "debug".
    """
    out = stream or sys.stderr
    as_json = settings.log_format == "json"
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            describe_error,
            keep_safe,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(sort_keys=False)
            if as_json
            else structlog.dev.ConsoleRenderer(colors=out.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=Undying(out)),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )
    foreign = logging.INFO if level <= logging.DEBUG else max(level, logging.WARNING)
    logging.basicConfig(level=foreign, handlers=[Bridge()], force=True)
    logging.raiseExceptions = False  # else Python prints a faulty record with its values
    logging.captureWarnings(capture=True)
    sys.excepthook = log_uncaught
    threading.excepthook = log_uncaught_in_thread


def describe_error(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Replace an exception under `exc_info` or `error` by values that are safe to log."""
    given = event.pop("exc_info", None)
    if isinstance(given, tuple):
        given = given[1]
    elif given and not isinstance(given, BaseException):
        given = sys.exception()
    error = given if isinstance(given, BaseException) else event.get("error")
    if isinstance(error, BaseException):
        event.update(said_of(error))
    return event


def said_of(error: BaseException) -> dict[str, Any]:
    """Return class, classes of the causes, frames, and the message of the project's errors."""
    said: dict[str, Any] = {"error": class_name(error)}
    if causes := [class_name(cause) for cause in islice(behind(error), 1, LIST_ITEMS + 1)]:
        said["causes"] = causes
    if frames := [frame_name(*frame) for frame in walk_tb(error.__traceback__)][-FRAMES:]:
        said["frames"] = frames
    if isinstance(error, errors.InputError):
        said["reason"] = error.reason.value
    elif isinstance(error, PLAIN_ERRORS) or (isinstance(error, errors.ModelError) and error.plain):
        said["detail"] = str(error)
    return said


def class_name(error: BaseException) -> str:
    """Return module and class, the module left out for Python's own."""
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def frame_name(frame: Any, line: int) -> str:
    """Return package/file.py:line function, which no data can influence."""
    place = Path(frame.f_code.co_filename)
    return f"{'/'.join(place.parts[-2:])}:{line} {frame.f_code.co_name}"


def keep_safe(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Keep plain values; shorten texts and make them printable."""
    return {key: safe for key, value in event.items() for safe in plain(value)}


def plain(value: Any) -> Iterator[Any]:
    """Yield the value, made safe to log, or nothing for other types."""
    match value:
        case None | bool() | int() | float():
            yield value
        case str():
            yield one_line(value[: 4 * TEXT_CHARACTERS], TEXT_CHARACTERS)
        case list() | tuple() | set() | frozenset():
            yield [safe for item in list(value)[:LIST_ITEMS] for safe in plain(item)]


class Bridge(logging.Handler):
    """Sends standard logging records to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the template if it is a literal of the source that logged it."""
        event = WITHHELD
        if is_literal(record):
            event = with_numbers(record) if record.name.startswith(OWN_LOGGERS) else record.msg
        said = {"logger": record.name, "thread": record.threadName, "exc_info": record.exc_info}
        level = min(record.levelno, logging.CRITICAL) // 10 * 10  # libraries have levels between
        structlog.get_logger().log(level, event, **said)


def is_literal(record: logging.LogRecord) -> bool:
    """Whether the template is a constant of the function that logged it, so has no values."""
    frame = sys._getframe()  # the record holds no frame
    while frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
        if code.co_filename == record.pathname and frame.f_lineno == record.lineno:
            return isinstance(record.msg, str) and record.msg in code.co_consts
    return False


def with_numbers(record: logging.LogRecord) -> str:
    """Fill the numbers into one of the project's templates; other values become "…"."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    shown = [a if isinstance(a, int | float) else "…" for a in arguments]
    try:
        return str(record.msg) % tuple(shown)
    except (TypeError, ValueError):  # other placeholders than %s and numbers
        return str(record.msg)


class Undying:
    """A stream that ignores errors, such as a closed pipe or a full disk."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write if possible."""
        with suppress(OSError, ValueError):  # ValueError: closed
            self._stream.write(text)

    def flush(self) -> None:
        """Flush if possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def log_uncaught(
    _kind: type[BaseException], error: BaseException, _traceback: TracebackType | None
) -> None:
    """Log that an exception ends the process, without its message, which Python would print."""
    structlog.get_logger().critical("uncaught exception", exc_info=error)


def log_uncaught_in_thread(failure: threading.ExceptHookArgs) -> None:
    """Log that an exception ended a thread."""
    name = failure.thread.name if failure.thread else None
    structlog.get_logger().critical(
        "uncaught exception in a thread", exc_info=failure.exc_value, thread=name
    )
