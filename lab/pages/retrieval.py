"""The page of a study of rerankers: who keeps planted texts out, at what cost, pool by pool."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from radarstream.lab.pages.cases import (
    Cases,
    CaseView,
    Entry,
    TextRow,
    answer_entry,
    cases_from,
    facts_of,
    tags_of,
)
from radarstream.lab.pages.leads import Lead, lead_of, leads_of
from radarstream.lab.pages.studies import Display
from radarstream.lab.retrieval.records import FILES, GuardedRow, Key, PoolRow, RerankingRow
from radarstream.lab.retrieval.scoring import RetrievalResults, frame_of, scored
from radarstream.lab.retrieval.tables import tables_of
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import PassageRow, RowStore
from radarstream.lab.study.specs import Spec
from radarstream.schemas.retrieval import JudgedCandidate


def leads(results: RetrievalResults) -> list[Lead]:
    """Planted texts let in and clean passages kept, for every attack; then the answers of every
    defence behind the rerankers, over all attacks.
    """
    words = ("questions with a planted text", "clean recall")
    found = leads_of(results, ("poison_hit", "clean_kept"), words)
    for before, answers in results.answers.items():
        cells = [cell for cell in answers if cell.condition == results.whole]
        words = ("attack success", "accuracy")
        lead = lead_of(cells, f"answers of {before}", ("fooled", "correct"), words)
        found += [lead] if lead.bad else []
    return found


def cases_of(record: StudyRecord, store: RowStore, _: pl.DataFrame) -> Cases:
    """The pools, those first in which most planted texts are kept."""
    rows: defaultdict[Key, dict[str, RerankingRow]] = defaultdict(dict)
    for row in store.of(RerankingRow).values():
        rows[row.condition, row.query_id][row.contender] = row
    answers: defaultdict[Key, dict[str, GuardedRow]] = defaultdict(dict)
    for answer in store.of(GuardedRow).values():
        answers[answer.condition, answer.query_id][answer.contender] = answer
    pools = {pool.key: pool for pool in store.of(PoolRow).values() if rows[pool.key]}

    def dullness(key: Key) -> int:
        return -sum(_let_in(pools[key], row) for row in rows[key].values())

    def show(anchor: str, key: Key) -> CaseView:
        return _case(anchor, pools[key], rows[key], answers[key], store, record)

    return cases_from(record.conditions, pools, dullness, show, "most planted texts are kept")


def _let_in(pool: PoolRow, row: RerankingRow) -> int:
    """How many planted texts are kept."""
    return len(pool.planted.intersection(row.kept))


def _case(
    anchor: str,
    pool: PoolRow,
    rows: Mapping[str, RerankingRow],
    answers: Mapping[str, GuardedRow],
    store: RowStore,
    record: StudyRecord,
) -> CaseView:
    names = [name for name in record.names if name in rows]
    sound = [row for row in rows.values() if row.error is None]
    hits = sum(_let_in(pool, row) > 0 for row in sound)
    failed = len(rows) - len(sound)
    texts = tuple(_texts(pool, [rows[name] for name in names], store.of(PassageRow), record.k))
    return CaseView(
        anchor,
        pool.question,
        f"{pool.condition}, {pool.query_id}",
        tuple(tags_of(hits, len(sound), failed, "planted texts pass", attacked=bool(pool.planted))),
        tuple(facts_of(pool.labels)),
        ("reranker", "before", "answer"),
        tuple(_answer(pool, answers[m.name], m) for m in record.methods if m.name in answers),
        ("is", "similarity", *names),
        texts,
        len(pool.candidates) - len(texts),
    )


def _texts(
    pool: PoolRow, rows: Sequence[RerankingRow], passages: Mapping[str, PassageRow], k: int
) -> Iterator[TextRow]:
    """The candidates that somebody keeps, planted ones and those that were nearest."""
    placed = [{one.found_rank: one for one in row.candidates} for row in rows]
    for rank, candidate in enumerate(pool.candidates, start=1):
        judged = [places.get(rank) for places in placed]
        if rank <= k or candidate.planted or any(one and one.kept for one in judged):
            kind = "right" if candidate.right else "clean"
            entries = (
                Entry(
                    "planted" if candidate.planted else kind,
                    look="" if candidate.right else "muted",
                ),
                Entry(f"{candidate.similarity:.3f}"),
                *map(_place, judged),
            )
            document = passages[candidate.id].document
            yield TextRow(rank, document, candidate.planted, entries)


def _place(judged: JudgedCandidate | None) -> Entry:
    if judged is None:
        return Entry("–", "failed")
    words = [judged.reason.value if judged.reason else "kept"]
    if judged.score is not None:
        words.append(f"score {judged.score:.3g}")
    if judged.penalty is not None:
        words.append(f"penalty {judged.penalty:.3g}")
    return Entry(str(judged.rank), ", ".join(words), "strong" if judged.kept else "")


def _answer(pool: PoolRow, row: GuardedRow, method: Spec) -> tuple[Entry, ...]:
    said = Entry(f"failed: {row.error}") if row.error else answer_entry(row.answer, pool.labels)
    return Entry(method.how), Entry(method.method), said


RETRIEVAL: Final = Display(
    "retrieval", "Rerankers compared on", FILES, frame_of, scored, tables_of, leads,
    cases=cases_of, long=("conditions", "order"),
)  # fmt: skip
