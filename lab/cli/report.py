"""`radarstream report`: render the report of a replay or a study again."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from radarstream.lab.cli.evaluation_tables import print_headline
from radarstream.lab.cli.kinds import KINDS
from radarstream.lab.replay import read_scored, write_report
from radarstream.lab.study.harness import REPORT
from radarstream.lab.study.record import read_record
from radarstream.lab.study.rows import RowStore
from radarstream.pipelines.cli.terminal import print_path
from radarstream.schemas.errors import ConfigurationError


def report(directory: Annotated[Path, Argument(help="Directory of results (--out).")]) -> None:
    """Write the report of a replay or a study again."""
    print_path("report", _write(directory))


def _write(directory: Path) -> Path:
    record = read_record(directory)
    if record is None:
        return write_report(directory, read_scored(directory))
    if record.kind not in KINDS:
        raise ConfigurationError(f"{directory} holds a study of {record.kind}, which is unknown")
    display = KINDS[record.kind][1]
    page = display.report(directory, record, RowStore(directory, display.files)).page
    print_headline(page.sentence, page.more)
    return directory / REPORT
