"""The page of a study of sources: what a source ledger changes against a patient attacker."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.sources.results import AttackResult, Results
from radarstream.pipelines.evaluation.sources.rows import FILES
from radarstream.pipelines.evaluation.sources.study import SourcesRecord, frame_of, scored
from radarstream.pipelines.evaluation.sources.tables import tables_of
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.pages.charts import before_after, panel
from radarstream.pipelines.pages.incidents.words import LEDGER
from radarstream.pipelines.pages.scales import Axis, Change, Series, Share, Spot, tenths
from radarstream.pipelines.pages.studies import Kind, Panel, View, measured, page_of

MOST_CHANGES: Final = 8  # rows of the opening plot, those that change most
Pair = tuple[AttackResult, AttackResult]  # without a ledger, with one


def view_of(record: SourcesRecord, _: RowStore, results: Results, __: pl.DataFrame) -> View:
    """The page of a study."""
    first: dict[tuple[str, str], AttackResult] = {}  # by the exact oracle, which comes first
    for one in results.attacks:
        first.setdefault((one.world, one.contender), one)
    exact = list(first.values())
    pairs = list(_pairs(exact))
    known = [one for one in exact if any(rate.trials for rate in one.attacked)]
    worlds = dict.fromkeys(one.world for one in known)
    page = page_of(
        record,
        "What a source ledger is worth",
        _sentence(pairs),
        LEDGER,
        plot=_before_after(pairs),
        links=[("#over-time", "Over time", known), ("#tables", "Tables", True)],
        heads=[("worlds", len({one.world for one in exact}))],
    )
    told = "Every hit is confirmed before the next snapshot, so a ledger can learn from it."
    plots = [_over_time(world, known) for world in worlds]
    return View(page, [Panel("over-time", "Attack success over time", told, plots)])


def _pairs(results: Sequence[AttackResult]) -> Iterator[Pair]:
    """Every defence with a ledger, beside the same one without."""
    known = {(one.world, one.contender): one for one in results}
    for one in results:
        bare = known.get((one.world, one.contender.partition(",")[0]))
        if bare is not None and bare is not one and one.attacked and bare.attacked:
            yield bare, one


def _sentence(pairs: Sequence[Pair]) -> str:
    """What was found, in one sentence: the clearest change at the last snapshot."""
    found = ((_last(bare), _last(one), one) for bare, one in pairs)
    known = [(before.value, after.value, one) for before, after, one in found if before and after]
    if not known:
        return "Nothing was compared with and without a ledger."
    before, after, best = max(known, key=lambda pair: pair[0] - pair[1])
    if before <= after:
        return "With a ledger no attack succeeds less often at the last snapshot."
    return (
        f"With a source ledger ({best.contender}) the attack success at the last snapshot falls "
        f"from {before:.0%} to {after:.0%} in the world “{best.world}”."
    )


def _before_after(pairs: Sequence[Pair]) -> Markup | None:
    changes = [
        Change(f"{one.contender}, {one.world}", before, after, "fooled")
        for bare, one in pairs
        if (before := _last(bare)) and (after := _last(one))
    ]
    changes.sort(key=lambda one: one.after.value - (one.before.value if one.before else 0.0))
    title = "Attack success at the last snapshot: without a ledger ○ and with one ●"
    return before_after(title, changes[:MOST_CHANGES], ("without", "with a ledger"))


def _last(one: AttackResult) -> Share | None:
    return measured(one.attacked[-1])


def _over_time(world: str, results: Sequence[AttackResult]) -> Markup:
    """Attack success of every defence in one world, snapshot by snapshot."""
    shown = [one for one in results if one.world == world]
    lines = []
    for number, one in enumerate(shown):
        rates = [(step, rate.value) for step, rate in enumerate(one.attacked)]
        words = f"{one.contender}, snapshot"
        spots = [Spot(step, Share(value), words=f"{words} {step + 1}: {value:.0%}")
                 for step, value in rates if value is not None]  # fmt: skip
        lines.append((Series(one.contender, number), spots))
    steps = max((len(one.attacked) for one in shown), default=1)
    names = {float(step): str(step + 1) for step in range(steps)}
    y = tenths([spot.y.ends for _, spots in lines for spot in spots])
    return panel(world, lines, Axis(-0.4, steps - 0.6, "snapshot", names), y, joined=True)


SOURCES: Final = Kind(SourcesRecord, FILES, frame_of, scored, tables_of, view_of)
