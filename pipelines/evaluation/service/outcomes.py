"""What a directory of a study of a service comes to: its results, its table, its judgements."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from radarstream.connectors.models.tiers import model_card, model_sentence
from radarstream.pipelines.evaluation.judging import (
    JUDGED_BY,
    JUDGEMENTS,
    JudgedAnswer,
    Judgement,
    judge_rows,
)
from radarstream.pipelines.evaluation.service.records import ServiceRecord
from radarstream.pipelines.evaluation.service.results import Results, results_of
from radarstream.pipelines.evaluation.service.rows import AskRow, ProbeRow, ReplyRow, StreamRow
from radarstream.pipelines.evaluation.service.scoring import Held, line_table
from radarstream.pipelines.evaluation.service.tables import as_markdown
from radarstream.pipelines.evaluation.study.harness import RESULTS, TABLES, Study
from radarstream.pipelines.evaluation.study.row_files import (
    RowStore,
    encode_line,
    read_lines,
    write_json,
)
from radarstream.pipelines.evaluation.study.rows import PassageRow
from radarstream.pipelines.evaluation.table import escaped
from radarstream.pipelines.signals.ports import Generator


def held_in(store: RowStore) -> Held:
    """The rows of a directory."""
    return Held(
        store.of(AskRow),
        store.of(ProbeRow),
        store.of(PassageRow),
        tuple(store.of(ReplyRow).values()),
        store.of(StreamRow),
        {(one.contender, one.condition, one.query_id): one for one in judgements_in(store)},
    )


def scored(record: ServiceRecord, store: RowStore) -> Results:
    """The results of all rows of a directory."""
    return results_of(record, held_in(store))


def score_lines(store: RowStore) -> pl.DataFrame:
    """One line per reply of a directory."""
    return line_table(held_in(store))


def judgements_in(store: RowStore) -> Iterator[Judgement]:
    """What a judge said of the answers of a directory, if one was asked."""
    return read_lines(store.paths[ReplyRow].with_name(JUDGEMENTS), Judgement)


def judge_answers(study: Study[ServiceRecord], judge: Generator) -> None:
    """What a judge says of every answer to a reader, written down; asked again at no cost."""
    asks = study.store.of(AskRow)
    replies = [row for row in study.store.of(ReplyRow).values() if (row.stream, row.ask_id) in asks]
    answers = [
        JudgedAnswer(
            row.contender,
            row.stream,
            row.ask_id,
            asks[row.stream, row.ask_id].ask.labels,
            None if row.abstained else row.text,
            row.error,
        )
        for row in replies
    ]
    questions = {row.ask.id: row.ask.text for row in asks.values()}
    judgements = judge_rows(answers, questions, judge)
    (study.out / JUDGEMENTS).write_bytes(b"".join(map(encode_line, judgements)))
    notes = (note for note in study.record.notes if not note.startswith(JUDGED_BY))
    study.update(notes=(*notes, JUDGED_BY + judge.model_id))
    study.write_record()


def as_stored(record: ServiceRecord, results: Results) -> dict[str, Any]:
    """The results as they are stored and printed."""
    return {"language_model": model_card(record.models), **asdict(results)}


def write_results(out: Path, record: ServiceRecord, store: RowStore) -> Results:
    """Score what a directory holds; write the results and the tables."""
    results = scored(record, store)
    write_json(out / RESULTS, as_stored(record, results))
    tables = as_markdown(results, record.asked_in_words)
    told = escaped(model_sentence(record.models))
    (out / TABLES).write_text(f"{tables}\n{told}\n", encoding="utf-8")
    return results
