"""The files of a study of defences, as they lie in its directory."""

from pathlib import Path

from radarstream.pipelines.evaluation.defences.records import DefencesRecord, EvidenceRow, Row
from radarstream.pipelines.evaluation.judging import Judgement
from radarstream.pipelines.evaluation.study import record as records
from radarstream.pipelines.evaluation.study.row_files import read_lines

ROWS, EVIDENCE, JUDGEMENTS = "rows.jsonl", "evidence.jsonl", "judgements.jsonl"
FILES = {Row: ROWS, EvidenceRow: EVIDENCE}

Key = tuple[str, str, str, int]


def read_rows(directory: Path) -> dict[Key, Row]:
    """Rows by (contender, condition, query id, step); the last of a key counts."""
    return {row.key: row for row in read_lines(directory / ROWS, Row)}


def read_evidence(directory: Path) -> dict[tuple[str, str, int], EvidenceRow]:
    """Evidence by (condition, query id, step); the last of a key counts."""
    return {row.key: row for row in read_lines(directory / EVIDENCE, EvidenceRow)}


def read_judgements(directory: Path) -> list[Judgement]:
    """What a judge said, in the order it was written; nothing if none was asked."""
    return list(read_lines(directory / JUDGEMENTS, Judgement))


def read_record(directory: Path) -> DefencesRecord | None:
    """What an earlier run in the directory was; None if there was none."""
    return records.read_record(directory, DefencesRecord)
