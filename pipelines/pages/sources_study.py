"""The page of a study of sources: what a source ledger changes against a patient attacker."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup

from radarstream.pipelines.evaluation.sources.results import AttackResult
from radarstream.pipelines.evaluation.table import Table
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import before_after, panel
from radarstream.pipelines.pages.incidents.words import LEDGER
from radarstream.pipelines.pages.scales import Axis, Change, Series, Share, Spot, share, tenths

PAGE: Final = "report.html"
MOST_CHANGES = 8  # rows of the opening plot, those that change most
Pair = tuple[AttackResult, AttackResult]  # without a ledger, with one


def write_sources_study(
    out: Path,
    results: Sequence[AttackResult],
    tables: Sequence[Table],
    *,
    command: str,
    provenance: Sequence[tuple[str, object]],
    notes: Sequence[str] = (),
) -> Path:
    """Write the page of a study into its directory and return its path."""
    first: dict[tuple[str, str], AttackResult] = {}  # by the exact oracle, which comes first
    for one in results:
        first.setdefault((one.world, one.contender), one)
    exact = list(first.values())
    pairs = list(_pairs(exact))
    page = frame.Page(
        title="What a source ledger is worth",
        sentence=_sentence(pairs),
        plot=_before_after(pairs),
        links=[("#over-time", "Over time", True), ("#tables", "Tables", True)],
        words=LEDGER,
        heads=[("worlds", len({one.world for one in exact}))],
        provenance=provenance,
        notes=notes,
        command=command,
    )
    measured = [one for one in exact if any(rate.trials for rate in one.attacked)]
    worlds = dict.fromkeys(one.world for one in measured)
    plots = [_over_time(world, measured) for world in worlds]
    text = frame.render("sources_study.html.j2", page, plots=plots, found=tables)
    (out / PAGE).write_text(text, encoding="utf-8")
    return out / PAGE


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
    rate = one.attacked[-1]
    return share(rate.value, *rate.interval)


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
