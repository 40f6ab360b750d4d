"""`radarstream report`: render the report of a replay or a study again."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from radarstream.pipelines.cli import (
    evaluate_attribution,
    evaluate_retrieval,
    evaluate_service,
    evaluate_sources,
)
from radarstream.pipelines.cli.evaluation_tables import print_headline
from radarstream.pipelines.cli.terminal import print_path
from radarstream.pipelines.evaluation.attribution.records import FILES as ATTRIBUTIONS
from radarstream.pipelines.evaluation.attribution.records import AttributionRecord
from radarstream.pipelines.evaluation.defences.answers import study_frame
from radarstream.pipelines.evaluation.defences.records import (
    FILES,
    DefencesRecord,
    EvidenceRow,
    Row,
    counted,
)
from radarstream.pipelines.evaluation.defences.scores import score_cells
from radarstream.pipelines.evaluation.judging import JUDGEMENTS, Judgement
from radarstream.pipelines.evaluation.retrieval.records import RetrievalRecord
from radarstream.pipelines.evaluation.retrieval.rows import FILES as RERANKINGS
from radarstream.pipelines.evaluation.service.records import ServiceRecord
from radarstream.pipelines.evaluation.service.rows import FILES as SERVED
from radarstream.pipelines.evaluation.sources.rows import FILES as PLAYS
from radarstream.pipelines.evaluation.sources.study import SourcesRecord
from radarstream.pipelines.evaluation.study.record import kind_of, read_record
from radarstream.pipelines.evaluation.study.row_files import RowStore, read_lines
from radarstream.pipelines.job.replaying.results import read_results, write_report
from radarstream.pipelines.pages.defences.page import REPORT, write_defences_page


def report(directory: Annotated[Path, Argument(help="Directory of results (--out).")]) -> None:
    """Write the report of a replay or a study again."""
    print_path("report", _write(directory))


def _write(directory: Path) -> Path:
    kind = kind_of(directory)
    if kind == AttributionRecord.KIND and (study := read_record(directory, AttributionRecord)):
        store = RowStore(directory, ATTRIBUTIONS)
        return evaluate_attribution.write_report(directory, study, store)[1]
    if kind == SourcesRecord.KIND and (played := read_record(directory, SourcesRecord)):
        return evaluate_sources.write_report(directory, played, RowStore(directory, PLAYS))[1]
    if kind == RetrievalRecord.KIND and (reranked := read_record(directory, RetrievalRecord)):
        store = RowStore(directory, RERANKINGS)
        return evaluate_retrieval.write_report(directory, reranked, store)[1]
    if kind == ServiceRecord.KIND and (served := read_record(directory, ServiceRecord)):
        return evaluate_service.write_report(directory, served, RowStore(directory, SERVED))[1]
    record = read_record(directory, DefencesRecord)
    if record is None:
        return write_report(directory, read_results(directory))
    store = RowStore(directory, FILES)
    rows, evidence = counted(store, record, Row), counted(store, record, EvidenceRow)
    frame = study_frame(rows, record, evidence, read_lines(directory / JUDGEMENTS, Judgement))
    board = score_cells(frame, record, evidence=evidence)
    print_headline(write_defences_page(directory, record, rows, evidence, board, frame))
    return directory / REPORT
