"""A study's results: every policy in every stream, what attackers got, and what readers lost."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from radarstream.lab.service.policies import REFERENCE
from radarstream.lab.service.records import ServiceRecord
from radarstream.lab.service.rows import AskRow
from radarstream.lab.service.scoring import (
    MODULES,
    QUALITY,
    Held,
    held_in,
    line_table,
    mask_tables,
)
from radarstream.lab.study.comparison import Difference, compared
from radarstream.lab.study.rates import Rate, rate_in
from radarstream.lab.study.results import Result, by_cell, results_by
from radarstream.lab.study.row_files import RowStore

COST: Final = ("calls", "forwards", "embeddings", "pairs", "seconds")
RATES: Final = (
    "correct", "fooled", "poison_hit", "leaked", "weakened", "abstained", "budget_spent",
    "raised", "judge_correct", "judge_fooled", "probed_shown", *MODULES,
)  # fmt: skip
MEANS: Final = (
    *QUALITY, "span", "contained", "trust", "trust_after", "epsilon", "documents", *COST,
)  # fmt: skip
COMPARED: Final = ("correct", "fooled", "poison_hit", "leaked", "probed_shown", *QUALITY)


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """What a stream holds; `left_out` says what cannot be attacked, and why."""

    stream: str
    questions: int
    run_up: int
    planted: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProbeSummary:
    """What one policy lets membership probes of a stream learn.

    `masks` are hidden words that are told exactly, `substring` those that are told up to a part of
    a word, `whole` documents all of whose words are, each for members and for the others; `right`
    are documents that the attacker judges right, `f1` is that of calling members. `difference` is
    that of the masks of members to `none`.
    """

    contender: str
    stream: str
    masks: dict[bool, Rate]
    substring: dict[bool, Rate]
    whole: dict[bool, Rate]
    right: Rate
    f1: float | None
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Results:
    """All cells, in the order of the record's members."""

    k: int
    streams: tuple[StreamCounts, ...]
    policies: tuple[str, ...]
    cells: tuple[Result, ...]
    probes: tuple[ProbeSummary, ...]

    def cell(self, contender: str, stream: str) -> Result | None:
        """A policy in a stream."""
        return next(
            (c for c in self.cells if (c.contender, c.condition) == (contender, stream)), None
        )

    def probing(self, contender: str, stream: str) -> ProbeSummary | None:
        """What membership probes of a stream learn under a policy."""
        return next(
            (c for c in self.probes if (c.contender, c.stream) == (contender, stream)), None
        )


def frame_of(_: ServiceRecord, store: RowStore) -> pl.DataFrame:
    """The table of all replies."""
    return line_table(held_in(store))


def scored(record: ServiceRecord, store: RowStore, frame: pl.DataFrame) -> Results:
    """Score everything; what has no row is left out.

    Some streams ask several questions about one thing, so that signs are flipped by question.
    """
    held = held_in(store)
    masks, probes = mask_tables(held)
    cells, every, documents = (
        by_cell(frame.filter(~pl.col("run_up"))),
        by_cell(masks),
        by_cell(probes),
    )
    keys = [(n, s) for s in record.streams for n in record.policies if (n, s) in cells]
    found = compared(cells, keys, COMPARED, REFERENCE, seed=record.seed)
    hidden = by_cell(masks.filter(pl.col("member")))
    told = compared(
        hidden, [k for k in keys if k in hidden], ("exact",), REFERENCE, seed=record.seed
    )
    return Results(
        record.k,
        tuple(counts_of(s, held) for s in record.streams),
        tuple(record.policies),
        results_by(cells, keys, RATES, MEANS, found),
        tuple(
            probing_of(key, every[key], documents[key], told.get(key, {}).get("exact"))
            for key in keys
            if key in every
        ),
    )


def probing_of(
    key: tuple[str, str], masks: pl.DataFrame, probes: pl.DataFrame, change: Difference | None
) -> ProbeSummary:
    """What probes learn, of members and of the others apart."""

    def apart(frame: pl.DataFrame, column: str) -> dict[bool, Rate]:
        return {m: rate_in(frame.filter(pl.col("member") == m), column) for m in (True, False)}

    called, member = probes["called_member"], probes["member"]
    hits = int((called & member).sum())
    named = int(called.sum()) + int(member.sum())
    return ProbeSummary(
        *key,
        masks=apart(masks, "exact"),
        substring=apart(masks, "substring"),
        whole=apart(probes, "whole"),
        right=rate_in(probes, "decided_right"),
        f1=2.0 * hits / named if named else None,
        difference=change,
    )


def counts_of(stream: str, held: Held) -> StreamCounts:
    """What a stream holds."""
    mine: list[AskRow] = [row for row in held.asks.values() if row.stream == stream]
    run_up = sum(row.ask.run_up for row in mine)
    planted, row = len(held.planted(stream)), held.streams.get(stream)
    left_out = row.left_out if row else ()
    return StreamCounts(stream, len(mine) - run_up, run_up, planted, left_out)
