"""Searches past periods. Date filters admit some later pages: snapshots are `date_restricted`."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import BinaryIO, Final, Literal

from radarstream.connectors.files.directories import hold_directory
from radarstream.connectors.files.lines import BYTE_ORDER_MARK
from radarstream.pipelines.searching import Search
from radarstream.schemas.codec import decode_record, encode
from radarstream.schemas.errors import ConfigurationError, InputError, ReasonClass
from radarstream.schemas.records import UNLIMITED, RawRecord
from radarstream.schemas.searching import DateSpan, FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import SearchSnapshot

Every = Literal["year", "quarter", "month"]
Write = Callable[[SearchSnapshot], None]
MONTHS: Final[dict[Every, int]] = {"year": 12, "quarter": 3, "month": 1}
MOMENT: Final = re.compile(r"(\d{4})(?:-(?:(\d\d)|Q([1-4])))?")
EARLIEST_YEAR: Final = 1990
CUT_OFF: Final = (ReasonClass.MALFORMED_JSON, ReasonClass.INVALID_ENCODING)
FATAL: Final = (FailureClass.OUT_OF_SEARCHES, FailureClass.OUT_OF_BUDGET, FailureClass.STOPPED)


def periods(first: str, last: str, every: Every, today: date) -> tuple[DateSpan, ...]:
    """Return the whole periods from the one with `first` to the one in which `last` ends.

    Both have the form `2015`, `2015-03` or `2015-Q2`. Raises ConfigurationError for other forms, an
    empty span, and a period that has not ended before `today`.

    >>> [str(span.last) for span in periods("2015-03", "2015", "quarter", date(2020, 1, 1))]
    ['2015-03-31', '2015-06-30', '2015-09-30', '2015-12-31']
    """
    start, (_, end) = _months(first)[0], _months(last)
    step = MONTHS[every]
    spans = [
        DateSpan(_first_day(month), _first_day(month + step) - timedelta(days=1))
        for month in range(start - start % step, end + 1, step)
    ]
    if not spans:
        raise ConfigurationError(f"{first} lies after {last}")
    if spans[-1].last >= today:
        raise ConfigurationError(f"the {every} until {spans[-1].last} has not ended yet")
    return tuple(spans)


def _months(text: str) -> tuple[int, int]:
    """First and last month of a year, a month or a quarter, counted from year 0."""
    match = MOMENT.fullmatch(text)
    year, month, quarter = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    if year < EARLIEST_YEAR or not (match and (match[2] is None or 1 <= month <= 12)):
        raise ConfigurationError(
            f"{text!r} is none of 2015, 2015-03, 2015-Q2, from {EARLIEST_YEAR} on"
        )
    if quarter:
        return year * 12 + quarter * 3 - 3, year * 12 + quarter * 3 - 1
    return year * 12 + (month or 1) - 1, year * 12 + (month or 12) - 1


def _first_day(month: int) -> date:
    return date(month // 12, month % 12 + 1, 1)


def planned(
    requests: Sequence[SearchRequest], spans: Sequence[DateSpan], present: frozenset[str]
) -> tuple[SearchRequest, ...]:
    """Every query in every period, without snapshots that are `present`; periods ascend."""
    wanted = (replace(request, dates=span) for request in requests for span in spans)
    return tuple(request for request in wanted if snapshot_id(request) not in present)


def snapshot_id(request: SearchRequest) -> str:
    """Return the id that the snapshot of a date-restricted request will have."""
    if request.dates is None:
        raise ValueError("a live search has no snapshot id in advance")
    return SearchSnapshot(request.query, request.dates.last_second, ()).id


def run_backfill(
    work: Sequence[SearchRequest], search: Search, write: Write, stopping: Callable[[], bool]
) -> list[tuple[SearchRequest, str]]:
    """Run the searches in order; return those that failed or were not reached, and why. Ends early
    if the budget or the account is used up, or the process is asked to stop.
    """
    failed: list[tuple[SearchRequest, str]] = []
    over = ""  # why no further search is made
    for request in work:
        over = over or ("stopped" if stopping() else "")
        if over:
            failed.append((request, f"not reached: {over}"))
            continue
        try:
            write(search(request))
        except SearchFailedError as error:
            failed.append((request, str(error)))
            over = str(error) if error.kind in FATAL else ""
    return failed


@contextmanager
def opened_history(file: Path) -> Iterator[tuple[frozenset[str], Write]]:
    """Lock a file; yield its snapshots' ids and a function that appends one durably. Removes an
    incomplete last line. Raises ConfigurationError for other damage.
    """
    with hold_directory(file.parent), file.open("a+b") as stream:

        def write(snapshot: SearchSnapshot) -> None:
            stream.write(encode(snapshot) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

        yield _present_in(file, stream), write


def _present_in(file: Path, stream: BinaryIO) -> frozenset[str]:
    """Ids of the snapshots in a file; completes or removes the last line."""
    ids, line, whole = set(), b"\n", 0
    stream.seek(0)
    for number, line in enumerate(stream, start=1):
        record = RawRecord(file.name, number, line.removeprefix(BYTE_ORDER_MARK))
        try:
            if line.strip():
                ids.add(decode_record(record, limits=UNLIMITED, now=None).id)
        except InputError as error:
            if line.endswith(b"\n") or error.reason not in CUT_OFF:
                raise ConfigurationError(f"{file} line {number} is damaged: {error}") from None
            stream.truncate(whole)
            return frozenset(ids)
        whole += len(line)
    stream.write(b"" if line.endswith(b"\n") else b"\n")
    return frozenset(ids)
