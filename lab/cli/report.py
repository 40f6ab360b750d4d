"""`radarstream report`: render the report of a replay or a study again."""

from pathlib import Path
from typing import Annotated, Any, Final

from typer import Argument

from radarstream.lab.cli.evaluation_tables import print_headline
from radarstream.lab.pages.attribution import ATTRIBUTION
from radarstream.lab.pages.defences import DEFENCES
from radarstream.lab.pages.retrieval import RETRIEVAL
from radarstream.lab.pages.service import SERVICE
from radarstream.lab.pages.studies import Kind
from radarstream.lab.replay import read_scored, write_report
from radarstream.lab.study.harness import REPORT
from radarstream.lab.study.record import kind_of, read_record
from radarstream.lab.study.rows import RowStore
from radarstream.pipelines.cli.terminal import print_path
from radarstream.schemas.errors import ConfigurationError

KINDS: Final[tuple[Kind[Any, Any], ...]] = (DEFENCES, RETRIEVAL, ATTRIBUTION, SERVICE)


def report(directory: Annotated[Path, Argument(help="Directory of results (--out).")]) -> None:
    """Write the report of a replay or a study again."""
    print_path("report", _write(directory))


def _write(directory: Path) -> Path:
    name = kind_of(directory)
    if name is None:
        return write_report(directory, read_scored(directory))
    kind = next((kind for kind in KINDS if name == kind.record.KIND), None)
    if kind is None:
        raise ConfigurationError(f"{directory} holds a study of {name}, which nobody knows")
    record = read_record(directory, kind.record)
    page = kind.report(directory, record, RowStore(directory, kind.files)).page
    print_headline(page.sentence, page.more)
    return directory / REPORT
