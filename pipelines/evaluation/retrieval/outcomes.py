"""What a directory of a study of rerankers comes to: its results, its table, its judgements."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from radarstream.connectors.models.tiers import model_card, model_sentence
from radarstream.pipelines.evaluation.judging import JUDGED_BY, JUDGEMENTS, Judgement
from radarstream.pipelines.evaluation.retrieval.judged import by_answer, judgements_of
from radarstream.pipelines.evaluation.retrieval.records import RetrievalRecord
from radarstream.pipelines.evaluation.retrieval.results import Results, results_of
from radarstream.pipelines.evaluation.retrieval.rows import GuardedRow, PoolRow, RerankingRow
from radarstream.pipelines.evaluation.retrieval.scoring import score_table
from radarstream.pipelines.evaluation.retrieval.tables import as_markdown
from radarstream.pipelines.evaluation.study.harness import RESULTS, TABLES, Study
from radarstream.pipelines.evaluation.study.row_files import (
    RowStore,
    encode_line,
    read_lines,
    write_json,
)
from radarstream.pipelines.evaluation.table import escaped
from radarstream.pipelines.signals.ports import Generator


def scored(record: RetrievalRecord, store: RowStore) -> Results:
    """The results of all rows of a directory that belong to questions asked."""
    asked = {*record.asked}
    return results_of(
        record,
        {key: row for key, row in store.of(PoolRow).items() if row.query_id in asked},
        [row for row in store.of(RerankingRow).values() if row.query_id in asked],
        [row for row in store.of(GuardedRow).values() if row.query_id in asked],
        by_answer(judgements_in(store)),
    )


def score_lines(record: RetrievalRecord, store: RowStore) -> pl.DataFrame:
    """One line per reranked pool and per answer of a directory, whatever question it is about."""
    judged = by_answer(judgements_in(store))
    rows, answers = store.of(RerankingRow).values(), store.of(GuardedRow).values()
    return score_table(store.of(PoolRow), rows, answers, judged, record.k)


def judgements_in(store: RowStore) -> Iterator[Judgement]:
    """What a judge said of the answers of a directory, if one was asked."""
    return read_lines(store.paths[GuardedRow].with_name(JUDGEMENTS), Judgement)


def judge_answers(study: Study[RetrievalRecord], judge: Generator) -> None:
    """What a judge says of every answer, written down one a line; asked again at no cost."""
    answers = study.store.of(GuardedRow).values()
    judgements = judgements_of(study.store.of(PoolRow), answers, judge)
    (study.out / JUDGEMENTS).write_bytes(b"".join(map(encode_line, judgements)))
    notes = (note for note in study.record.notes if not note.startswith(JUDGED_BY))
    study.update(notes=(*notes, JUDGED_BY + judge.model_id))
    study.write_record()


def as_stored(record: RetrievalRecord, results: Results) -> dict[str, Any]:
    """The results as they are stored and printed."""
    return {"language_model": model_card(record.models), **asdict(results)}


def write_results(out: Path, record: RetrievalRecord, store: RowStore) -> Results:
    """Score what a directory holds; write the results and the tables."""
    results = scored(record, store)
    write_json(out / RESULTS, as_stored(record, results))
    tables = as_markdown(results, record.asked_in_words)
    told = escaped(model_sentence(record.models))
    (out / TABLES).write_text(f"{tables}\n{told}\n", encoding="utf-8")
    return results
