"""A study's results: every policy in every stream, what attackers got, and what readers lost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from radarstream.pipelines.evaluation.comparison import Difference, differences
from radarstream.pipelines.evaluation.rates import Rate, rate_in, rates_by
from radarstream.pipelines.evaluation.rates import sound as without_errors
from radarstream.pipelines.evaluation.service.aims import AimResult, aims_of
from radarstream.pipelines.evaluation.service.policies import REFERENCE
from radarstream.pipelines.evaluation.service.records import ServiceRecord
from radarstream.pipelines.evaluation.service.rows import AskRow
from radarstream.pipelines.evaluation.service.scoring import (
    COST,
    MODULES,
    QUALITY,
    Held,
    line_table,
    mask_tables,
)

RATES: Final = (
    "correct", "fooled", "poison_hit", "leaked", "weakened", "abstained", "budget_spent",
    "raised", "judge_correct", "judge_fooled", "probed_shown", *MODULES,
)  # fmt: skip
MEANS: Final = (
    *QUALITY, "span", "contained", "trust", "trust_after", "epsilon", "documents", *COST,
)  # fmt: skip
COMPARED: Final = ("correct", "fooled", "poison_hit", "leaked", "probed_shown", *QUALITY)
Cells = Mapping[tuple[str, str], pl.DataFrame]  # by policy and stream


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """What a stream holds; `left_out` says what cannot be attacked, and why."""

    stream: str
    questions: int
    run_up: int
    planted: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServiceSummary:
    """One policy in one stream, its run-up left out.

    `rates` and `means` are explained in `scoring`; `differences` are to `none` on the same
    questions, by the column.
    """

    contender: str
    stream: str
    questions: int
    errors: int
    rates: dict[str, Rate]
    means: dict[str, float | None]
    differences: dict[str, Difference]


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
    """All cells, in the order of the record's members, and whether aims are reached."""

    k: int
    streams: tuple[StreamCounts, ...]
    policies: tuple[str, ...]
    cells: tuple[ServiceSummary, ...]
    probes: tuple[ProbeSummary, ...]
    aims: tuple[AimResult, ...]

    def cell(self, contender: str, stream: str) -> ServiceSummary | None:
        """A policy in a stream."""
        return next((c for c in self.cells if (c.contender, c.stream) == (contender, stream)), None)

    def probing(self, contender: str, stream: str) -> ProbeSummary | None:
        """What membership probes of a stream learn under a policy."""
        return next(
            (c for c in self.probes if (c.contender, c.stream) == (contender, stream)), None
        )


def results_of(record: ServiceRecord, held: Held) -> Results:
    """Score everything; what has no row is left out."""
    lines = line_table(held).filter(~pl.col("run_up"))
    masks, probes = mask_tables(held)
    cells = by_cell(lines)
    keys = [(n, s) for s in record.streams for n in record.policies if (n, s) in cells]
    found = compared(cells, keys, seed=record.seed)
    hidden = by_cell(masks.filter(pl.col("member")))
    told = compared_in(hidden, keys, "exact", seed=record.seed)
    every, documents = by_cell(masks), by_cell(probes)
    return Results(
        record.k,
        tuple(counts_of(s, held) for s in record.streams),
        tuple(record.policies),
        tuple(summary_of(key, cells[key], found.get(key, {})) for key in keys),
        tuple(
            probing_of(key, every[key], documents[key], told.get(key))
            for key in keys
            if key in every
        ),
        aims_of(cells, hidden, record.streams, record.seed),
    )


def by_cell(frame: pl.DataFrame) -> Cells:
    """The lines of each policy in each stream."""
    parts = frame.partition_by("contender", "condition", as_dict=True, maintain_order=True)
    return {(str(name), str(stream)): part for (name, stream), part in parts.items()}


def compared(
    cells: Cells, keys: Sequence[tuple[str, str]], *, seed: int
) -> dict[tuple[str, str], dict[str, Difference]]:
    """The differences to no module, by policy and stream."""
    found: dict[tuple[str, str], dict[str, Difference]] = {}
    for column in COMPARED:
        told = compared_in(cells, keys, column, seed=seed)
        for key, difference in told.items():
            found.setdefault(key, {})[column] = difference
    return found


def compared_in(
    cells: Cells, keys: Iterable[tuple[str, str]], column: str, *, seed: int
) -> dict[tuple[str, str], Difference]:
    """The differences of one column; Holm's correction takes all of them as one family.

    Some streams ask several questions about one thing, so that signs are flipped by question.
    """
    family = [
        key
        for key in keys
        if key[0] != REFERENCE
        and key in cells
        and (REFERENCE, key[1]) in cells
        and cells[key][column].null_count() < cells[key].height
    ]
    pairs = [(cells[key], cells[REFERENCE, key[1]]) for key in family]
    return dict(zip(family, differences(pairs, column, static=False, seed=seed), strict=True))


def summary_of(
    key: tuple[str, str], lines: pl.DataFrame, against: dict[str, Difference]
) -> ServiceSummary:
    """One cell; replies with an error leave every denominator."""
    held = without_errors(lines)
    rates = rates_by(held, (pl.lit(0),), RATES).get((0,), dict.fromkeys(RATES, Rate(0, 0)))
    means: dict[str, Any] = held.select(pl.col(*MEANS).mean()).row(0, named=True)
    errors = lines.height - held.height
    return ServiceSummary(*key, held.height, errors, rates, means, against)


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
