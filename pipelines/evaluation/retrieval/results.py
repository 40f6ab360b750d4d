"""A study's results: every reranker under every condition, and the answers behind it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import polars as pl

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.comparison import Difference, differences
from radarstream.pipelines.evaluation.rates import Rate, Scores, rate_in, rates_by, scores_of
from radarstream.pipelines.evaluation.rates import sound as without_errors
from radarstream.pipelines.evaluation.retrieval.records import RetrievalRecord
from radarstream.pipelines.evaluation.retrieval.rerankers import REFERENCE
from radarstream.pipelines.evaluation.retrieval.rows import (
    GuardedRow,
    PoolKey,
    PoolRow,
    RerankingRow,
)
from radarstream.pipelines.evaluation.retrieval.scoring import (
    COST,
    KEPT,
    Judgements,
    answer_table,
    score_table,
    text_table,
)
from radarstream.pipelines.evaluation.retrieval.separation import MEASURES

ATTACKS: Final = "all attacks"
COMPARED: Final = ("poison_hit", "poison_kept", "clean_kept", "right_kept")
ANSWERED: Final = ("fooled", "correct")
Cells = dict[tuple[str, str], pl.DataFrame]  # by reranker and condition


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """What a condition is: pools, questions that cannot be attacked, planted texts and passages
    that name a right answer in a pool, on average.
    """

    condition: str
    pools: int
    unattackable: int
    planted: float | None
    right: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class RerankerSummary:
    """One reranker under one condition, or under all attacks, against the undefended order.

    Rates are explained in `scoring`; `differences` are to `none` on the same texts, by the name of
    the rate. `separation` has the means of `separation.MEASURES`. Seconds are per pool, `slowest`
    the longest; `cost` are means.
    """

    contender: str
    condition: str
    pools: int
    errors: int
    poison_hit: Rate
    poison_kept: Rate
    clean_kept: Rate
    spared: Rate
    right_kept: Rate
    displacement: float | None
    ndcg: float | None
    ndcg_lost: float | None
    separation: dict[str, float | None]
    kept: float | None
    cost: dict[str, float]
    slowest: float
    differences: dict[str, Difference]


@dataclass(frozen=True, slots=True)
class GuardedSummary:
    """What a defence behind one reranker answers under one condition, or under all attacks."""

    contender: str
    condition: str
    before: str
    errors: int
    scores: Scores
    judge_fooled: Rate
    judge_correct: Rate
    differences: dict[str, Difference]


@dataclass(frozen=True, slots=True)
class Results:
    """All cells, in the order of the record's members."""

    k: int
    conditions: tuple[PoolCounts, ...]
    rerankers: tuple[str, ...]
    defences: tuple[str, ...]
    alone: tuple[RerankerSummary, ...]
    guarded: tuple[GuardedSummary, ...]

    @property
    def groups(self) -> list[str]:
        """The conditions, all attacks together last where there are several."""
        names = [one.condition for one in self.conditions]
        return names + [ATTACKS] * (sum(name != BENIGN for name in names) > 1)

    def cell(self, contender: str, condition: str) -> RerankerSummary | None:
        """A reranker under a condition."""
        return next(
            (c for c in self.alone if (c.contender, c.condition) == (contender, condition)), None
        )

    def answers(self, contender: str, condition: str, before: str) -> GuardedSummary | None:
        """A defence behind a reranker under a condition."""
        wanted = (contender, condition, before)
        return next(
            (c for c in self.guarded if (c.contender, c.condition, c.before) == wanted), None
        )


def results_of(
    record: RetrievalRecord,
    pools: Mapping[PoolKey, PoolRow],
    rows: Sequence[RerankingRow],
    answers: Sequence[GuardedRow],
    judged: Judgements,
) -> Results:
    """Score everything; what has no row is left out."""
    k, seed, conditions, names = record.k, record.seed, record.conditions, record.names
    lines = by_cell(score_table(pools, rows, (), {}, k), conditions)
    texts = by_cell(text_table(pools, rows, k), conditions)
    groups = [*conditions, ATTACKS]
    keys = [(name, group) for group in groups for name in names if (name, group) in lines]
    found = compared(texts, keys, COMPARED, static=False, seed=seed)
    alone = [summary_of(key, lines[key], texts.get(key), found.get(key, {})) for key in keys]
    guarded: list[GuardedSummary] = []
    for before in record.defences:
        mine = [row for row in answers if row.before == before]
        frames = by_cell(answer_table(pools, mine, judged), conditions)
        guarded += guarded_summaries(before, frames, names, groups, seed)
    return Results(
        k,
        tuple(counts_of(name, pools.values()) for name in conditions),
        tuple(names),
        record.defences,
        tuple(alone),
        tuple(guarded),
    )


def by_cell(frame: pl.DataFrame, conditions: Sequence[str]) -> Cells:
    """The lines of each reranker under each condition, and under all attacks."""
    known = frame.filter(pl.col("condition").is_in(list(conditions)))
    parts: Cells = {
        (str(name), str(condition)): part
        for (name, condition), part in known.partition_by(
            "contender", "condition", as_dict=True, maintain_order=True
        ).items()
    }
    attacked = known.filter(pl.col("condition") != BENIGN)
    whole = attacked.partition_by("contender", as_dict=True, maintain_order=True)
    return parts | {(str(name), ATTACKS): part for (name,), part in whole.items()}


def compared(
    frames: Cells,
    keys: Iterable[tuple[str, str]],
    columns: Sequence[str],
    *,
    static: bool,
    seed: int,
) -> dict[tuple[str, str], dict[str, Difference]]:
    """The differences to the undefended order, by reranker and condition.

    Holm's correction takes all conditions of a column as one family, and all attacks together as
    another, since these are the same answers again.
    """
    wanted = [
        key
        for key in keys
        if key[0] != REFERENCE and key in frames and (REFERENCE, key[1]) in frames
    ]
    found: dict[tuple[str, str], dict[str, Difference]] = {}
    for whole in (False, True):
        family = [key for key in wanted if (key[1] == ATTACKS) is whole]
        pairs = [(frames[key], frames[REFERENCE, key[1]]) for key in family]
        for column in columns:
            for key, difference in zip(
                family, differences(pairs, column, static=static, seed=seed), strict=True
            ):
                found.setdefault(key, {})[column] = difference
    return found


def summary_of(
    key: tuple[str, str],
    lines: pl.DataFrame,
    texts: pl.DataFrame | None,
    against: dict[str, Difference],
) -> RerankerSummary:
    """One cell; rows with an error leave every denominator."""
    sound = lines.filter(pl.col("error").is_null())
    rates = dict.fromkeys(KEPT, Rate(0, 0))
    if texts is not None:
        kept = texts.filter(pl.col("error").is_null())
        rates |= rates_by(kept, (pl.lit(0),), KEPT).get((0,), {})
    means: dict[str, Any] = sound.select(
        pl.col("displacement", "ndcg", "ndcg_lost", "kept", *MEASURES, *COST).mean(),
        slowest=pl.col("cost_seconds").max(),
    ).row(0, named=True)
    contender, condition = key
    return RerankerSummary(
        contender,
        condition,
        pools=sound.height,
        errors=lines.height - sound.height,
        poison_hit=rates["poison_hit"],
        poison_kept=rates["poison_kept"],
        clean_kept=rates["clean_kept"],
        spared=rates["spared"],
        right_kept=rates["right_kept"],
        displacement=means["displacement"],
        ndcg=means["ndcg"],
        ndcg_lost=means["ndcg_lost"],
        separation={name: means[name] for name in MEASURES},
        kept=means["kept"],
        cost={name: means[column] for column, name in COST.items()} if sound.height else {},
        slowest=means["slowest"] or 0.0,
        differences=against,
    )


def guarded_summaries(
    before: str, frames: Cells, rerankers: Sequence[str], groups: Sequence[str], seed: int
) -> list[GuardedSummary]:
    """A defence behind every reranker."""
    keys = [(name, group) for group in groups for name in rerankers if (name, group) in frames]
    found: dict[tuple[str, str], dict[str, Difference]] = {}
    for static in (True, False):  # under all attacks a question has several answers
        part = [key for key in keys if (key[1] != ATTACKS) is static]
        found |= compared(frames, part, ANSWERED, static=static, seed=seed)
    return [
        GuardedSummary(
            *key,
            before=before,
            errors=frames[key].height - frames[key]["error"].null_count(),
            scores=scores_of(frames[key]),
            judge_fooled=rate_in(without_errors(frames[key]), "judge_fooled"),
            judge_correct=rate_in(without_errors(frames[key]), "judge_correct"),
            differences=found.get(key, {}),
        )
        for key in keys
    ]


def counts_of(condition: str, pools: Iterable[PoolRow]) -> PoolCounts:
    """What the pools of a condition hold."""
    mine = [pool for pool in pools if pool.condition == condition]
    ready = [pool for pool in mine if pool.candidates]

    def mean(name: str) -> float | None:
        counts = [sum(getattr(c, name) for c in pool.candidates) for pool in ready]
        return fmean(counts) if counts else None

    why = next((pool.detail for pool in mine if not pool.candidates), "")
    left = len(mine) - len(ready)
    return PoolCounts(condition, len(ready), left, mean("planted"), mean("right"), why)
