"""Pools one by one: the candidates in their old and new order, and what was answered."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from radarstream.pipelines.evaluation.retrieval.records import RetrievalRecord
from radarstream.pipelines.evaluation.retrieval.rows import (
    GuardedRow,
    PoolKey,
    PoolRow,
    RerankingRow,
)
from radarstream.pipelines.evaluation.retrieval.scoring import Judged
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.evaluation.study.rows import PassageRow
from radarstream.pipelines.pages.incidents.event_view import Fact, Tag
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Document

MOST_CASES: Final = 60  # on a page
LEAST_CASES: Final = 2  # of a condition
ANSWERS: Final = 5  # right answers that are named


@dataclass(frozen=True, slots=True)
class PlaceView:
    """Where a reranker put a candidate: its new rank, whether it is kept, and why."""

    rank: str
    kept: bool | None
    words: str


@dataclass(frozen=True, slots=True)
class CandidateView:
    """One candidate, with what every reranker made of it."""

    rank: int
    document: Document
    similarity: float
    planted: bool
    right: bool
    places: tuple[PlaceView, ...]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a defence answers behind one reranker, and what that is worth."""

    reranker: str
    before: str
    answer: str
    tone: str


@dataclass(frozen=True, slots=True)
class CaseView:
    """One pool; `hidden` candidates that nobody keeps are left out."""

    anchor: str
    question: str
    condition: str
    query_id: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    names: tuple[str, ...]
    candidates: tuple[CandidateView, ...]
    answers: tuple[AnswerView, ...]
    hidden: int


def cases_of(record: RetrievalRecord, store: RowStore) -> tuple[list[CaseView], int]:
    """The pools that are shown, those first in which most rerankers let planted texts in, and how
    many are not.
    """
    rows: defaultdict[PoolKey, dict[str, RerankingRow]] = defaultdict(dict)
    for row in store.of(RerankingRow).values():
        rows[row.condition, row.query_id][row.contender] = row
    answers: defaultdict[PoolKey, list[GuardedRow]] = defaultdict(list)
    for answer in store.of(GuardedRow).values():
        answers[answer.condition, answer.query_id].append(answer)
    asked = {*record.asked}
    pools = [
        pool
        for pool in store.of(PoolRow).values()
        if pool.query_id in asked and pool.condition in record.conditions and rows[pool.key]
    ]
    most = max(LEAST_CASES, MOST_CASES // max(1, len(record.conditions)))
    shown: list[CaseView] = []
    for condition in record.conditions:
        mine = [pool for pool in pools if pool.condition == condition]
        mine.sort(key=lambda pool: -_let_in(pool, rows[pool.key].values(), record.k))
        shown += (
            _case(f"pool-{len(shown) + place}", pool, rows[pool.key], answers[pool.key],
                  store.of(PassageRow), record)
            for place, pool in enumerate(mine[:most], start=1)
        )  # fmt: skip
    return shown, len(pools) - len(shown)


def _let_in(pool: PoolRow, rows: Iterable[RerankingRow], k: int) -> int:
    """How many planted texts all rerankers together keep."""
    sound = [row for row in rows if row.error is None]
    return sum(Judged.of(pool, row, k).exposure.retrieved for row in sound)


def _case(
    anchor: str,
    pool: PoolRow,
    rows: Mapping[str, RerankingRow],
    answers: Sequence[GuardedRow],
    passages: Mapping[str, PassageRow],
    record: RetrievalRecord,
) -> CaseView:
    names = tuple(name for name in record.names if name in rows)
    candidates = list(_candidates(pool, [rows[name] for name in names], passages, record.k))
    return CaseView(
        anchor=anchor,
        question=pool.question,
        condition=pool.condition,
        query_id=pool.query_id,
        tags=tuple(_tags(pool, [rows[name] for name in names], record.k)),
        facts=tuple(_facts(pool)),
        names=names,
        candidates=tuple(candidates),
        answers=tuple(_answers(pool, answers, names, record.defences)),
        hidden=len(pool.candidates) - len(candidates),
    )


def _candidates(
    pool: PoolRow, rows: Sequence[RerankingRow], passages: Mapping[str, PassageRow], k: int
) -> Iterator[CandidateView]:
    """The candidates that somebody keeps, planted ones and those that were nearest."""
    placed = [{one.found_rank: one for one in row.candidates} for row in rows]
    for rank, candidate in enumerate(pool.candidates, start=1):
        judged = [places.get(rank) for places in placed]
        if not (rank <= k or candidate.planted or any(one and one.kept for one in judged)):
            continue
        yield CandidateView(
            rank=rank,
            document=passages[candidate.id].document,
            similarity=candidate.similarity,
            planted=candidate.planted,
            right=candidate.right,
            places=tuple(map(_place, judged)),
        )


def _place(judged: JudgedCandidate | None) -> PlaceView:
    if judged is None:
        return PlaceView("–", None, "failed")
    words = [judged.reason.value if judged.reason else "kept"]
    if judged.score is not None:
        words.append(f"score {judged.score:.3g}")
    if judged.penalty is not None:
        words.append(f"penalty {judged.penalty:.3g}")
    return PlaceView(str(judged.rank), judged.kept, ", ".join(words))


def _tags(pool: PoolRow, rows: Sequence[RerankingRow], k: int) -> Iterator[Tag]:
    sound = [row for row in rows if row.error is None]
    if len(sound) < len(rows):
        yield f"{len(rows) - len(sound)} failed", "other"
    if not any(candidate.planted for candidate in pool.candidates):
        return
    hit = [row.contender for row in sound if Judged.of(pool, row, k).exposure.hit]
    yield f"planted texts pass {len(hit)} of {len(sound)}", "bad" if hit else "good"


def _facts(pool: PoolRow) -> Iterator[Fact]:
    if pool.answers:
        yield Fact("right", ", ".join(pool.answers[:ANSWERS]), "good")
    if pool.target is not None:
        yield Fact("attacker's aim", pool.target, "bad")


def _answers(
    pool: PoolRow, rows: Sequence[GuardedRow], names: Sequence[str], defences: Sequence[str]
) -> Iterator[AnswerView]:
    known = {(row.contender, row.before): row for row in rows}
    for before in defences:
        for name in names:
            row = known.get((name, before))
            if row is None:
                continue
            said = f"failed: {row.error}" if row.error else row.answer or "(no answer)"
            tone = ""
            if row.error is None:
                fooled = is_fooled(row.answer, pool.target)
                tone = "bad" if fooled else "good" if is_correct(row.answer, pool.labels) else ""
            yield AnswerView(name, before, said, tone)
