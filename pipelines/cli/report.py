"""`radarstream report`: render the report of a replay or a study again."""

from pathlib import Path
from typing import Annotated

import typer

from radarstream.pipelines.cli.evaluate_attribution import (
    write_report as write_attribution_report,
)
from radarstream.pipelines.cli.evaluate_sources import write_report as write_sources_report
from radarstream.pipelines.cli.evaluation_tables import print_headline
from radarstream.pipelines.cli.run_files import read_results, write_report
from radarstream.pipelines.cli.terminal import print_path
from radarstream.pipelines.evaluation.attribution.records import FILES as ATTRIBUTIONS
from radarstream.pipelines.evaluation.attribution.records import AttributionRecord
from radarstream.pipelines.evaluation.defences.records import (
    FILES,
    JUDGEMENTS,
    DefencesRecord,
    EvidenceRow,
    Row,
    counted,
)
from radarstream.pipelines.evaluation.defences.scores import score_cells
from radarstream.pipelines.evaluation.frame import study_frame
from radarstream.pipelines.evaluation.judging import Judgement
from radarstream.pipelines.evaluation.sources.rows import FILES as PLAYS
from radarstream.pipelines.evaluation.sources.study import SourcesRecord
from radarstream.pipelines.evaluation.study.record import kind_of
from radarstream.pipelines.evaluation.study.record import read_record as read_study
from radarstream.pipelines.evaluation.study.row_files import RowStore, read_lines
from radarstream.pipelines.pages.defences.page import REPORT, write_defences_page


def report(
    directory: Annotated[
        Path,
        typer.Argument(help="Directory of results (--out)."),
    ],
) -> None:
    """Write the report of a replay or a study again."""
    kind = kind_of(directory)
    if kind == AttributionRecord.KIND and (study := read_study(directory, AttributionRecord)):
        store = RowStore(directory, ATTRIBUTIONS)
        _, page = write_attribution_report(directory, study, store)
        print_path("report", page)
        return
    if kind == SourcesRecord.KIND and (played := read_study(directory, SourcesRecord)):
        store = RowStore(directory, PLAYS)
        _, page = write_sources_report(directory, played, store)
        print_path("report", page)
        return
    record = read_study(directory, DefencesRecord)
    if record is None:
        print_path("report", write_report(directory, read_results(directory)))
        return
    store = RowStore(directory, FILES)
    rows, evidence = counted(store, record, Row), counted(store, record, EvidenceRow)
    frame = study_frame(rows, record, evidence, read_lines(directory / JUDGEMENTS, Judgement))
    board = score_cells(frame, record)
    print_headline(write_defences_page(directory, record, rows, evidence, board, frame))
    print_path("report", directory / REPORT)
