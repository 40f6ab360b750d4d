"""What a judge model says of the answers behind rerankers."""

from collections.abc import Iterable, Mapping

from radarstream.pipelines.evaluation.judging import JudgedAnswer, Judgement, judge_rows
from radarstream.pipelines.evaluation.retrieval.rows import GuardedRow, PoolKey, PoolRow
from radarstream.pipelines.signals.ports import Generator

JudgedKey = tuple[str, str, str]  # author of an answer, condition, query id


def judgements_of(
    pools: Mapping[PoolKey, PoolRow], answers: Iterable[GuardedRow], judge: Generator
) -> list[Judgement]:
    """One judgement per answer that did not fail and has a right answer, in order."""
    asked = [
        JudgedAnswer(
            row.author,
            row.condition,
            row.query_id,
            pools[row.condition, row.query_id].labels,
            row.answer,
            row.error,
        )
        for row in answers
    ]
    questions: dict[str, str] = {}
    for pool in pools.values():
        questions.setdefault(pool.query_id, pool.question)
    return judge_rows(asked, questions, judge)


def by_answer(judgements: Iterable[Judgement]) -> dict[JudgedKey, Judgement]:
    """The judgements by what they are about; of several the last counts."""
    return {(one.contender, one.condition, one.query_id): one for one in judgements}
