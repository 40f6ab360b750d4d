"""The page of a study of sources: what a source ledger changes against a patient attacker."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from markupsafe import Markup

from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.table import Table
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import before_after, panel
from radarstream.pipelines.pages.incidents.words import LEDGER
from radarstream.pipelines.pages.scales import Axis, Change, Series, Share, Spot, tenths

PAGE: Final = "report.html"
MOST_CHANGES = 8  # rows of the opening plot, those that change most
Pair = tuple["Attacked", "Attacked"]  # without a ledger, with one


class Attacked(Protocol):
    """A defence in one world; `attacked` is the attack success at every step."""

    @property
    def world(self) -> str:
        """The world's name."""
        ...

    @property
    def contender(self) -> str:
        """The defence, and after a comma how it uses the ledger."""
        ...

    @property
    def oracle(self) -> str:
        """Who confirms wrong answers; the exact one comes first."""
        ...

    @property
    def attacked(self) -> Sequence[Rate]:
        """Attack success, step by step."""
        ...


def write_sources_study(
    out: Path,
    results: Sequence[Attacked],
    tables: Sequence[Table],
    *,
    command: str,
    provenance: Sequence[tuple[str, object]],
) -> Path:
    """Write the page of a study into its directory and return its path."""
    exact = _exact(results)
    pairs = list(_pairs(exact))
    page = frame.Page(
        title="What a source ledger is worth",
        sentence=_sentence(pairs),
        plot=_before_after(pairs),
        links=[("#over-time", "Over time", True), ("#tables", "Tables", True)],
        words=LEDGER,
        heads=[("worlds", len({one.world for one in exact}))],
        provenance=provenance,
        command=command,
    )
    measured = [one for one in exact if any(rate.trials for rate in one.attacked)]
    worlds = dict.fromkeys(one.world for one in measured)
    plots = [_over_time(world, measured) for world in worlds]
    text = frame.render("sources_study.html.j2", page, plots=plots, found=tables)
    (out / PAGE).write_text(text, encoding="utf-8")
    return out / PAGE


def _exact(results: Sequence[Attacked]) -> list[Attacked]:
    """The results of the oracle that comes first for each defence and world."""
    first: dict[tuple[str, str], Attacked] = {}
    for one in results:
        first.setdefault((one.world, one.contender), one)
    return list(first.values())


def _pairs(results: Sequence[Attacked]) -> Iterator[Pair]:
    """Every defence with a ledger, beside the same one without."""
    known = {(one.world, one.contender): one for one in results}
    for one in results:
        bare = known.get((one.world, one.contender.partition(",")[0]))
        if bare is not None and bare is not one and one.attacked and bare.attacked:
            yield bare, one


def _sentence(pairs: Sequence[Pair]) -> str:
    """What was found, in one sentence: the clearest change at the last snapshot."""
    found = [(bare.attacked[-1], one.attacked[-1], one) for bare, one in pairs]
    known = [(b.value, a.value, one) for b, a, one in found if None not in (b.value, a.value)]
    if not known:
        return "Nothing was compared with and without a ledger."
    before, after, best = max(known, key=lambda pair: (pair[0] or 0.0) - (pair[1] or 0.0))
    if (before or 0.0) <= (after or 0.0):
        return "With a ledger no attack succeeds less often at the last snapshot."
    return (
        f"With a source ledger ({best.contender}) the attack success at the last snapshot falls "
        f"from {before:.0%} to {after:.0%} in the world “{best.world}”."
    )


def _before_after(pairs: Sequence[Pair]) -> Markup | None:
    changes = [
        Change(f"{one.contender}, {one.world}", before, after, "fooled")
        for bare, one in pairs
        if (before := _share(bare.attacked[-1])) and (after := _share(one.attacked[-1]))
    ]
    changes.sort(key=lambda one: one.after.value - (one.before.value if one.before else 0.0))
    title = "Attack success at the last snapshot: without a ledger ○ and with one ●"
    return (
        before_after(title, changes[:MOST_CHANGES], ("without", "with a ledger"))
        if changes
        else None
    )


def _share(rate: Rate) -> Share | None:
    return None if rate.value is None else Share(rate.value, *rate.interval)


def _over_time(world: str, results: Sequence[Attacked]) -> Markup:
    """Attack success of every defence in one world, snapshot by snapshot."""
    shown = [one for one in results if one.world == world]
    lines = [
        (
            Series(one.contender, number),
            [
                Spot(step, Share(rate.value), words=f"{one.contender}, snapshot {step + 1}: "
                     f"{rate.value:.0%}")
                for step, rate in enumerate(one.attacked)
                if rate.value is not None
            ],
        )
        for number, one in enumerate(shown)
    ]  # fmt: skip
    steps = max((len(one.attacked) for one in shown), default=1)
    names = {float(step): str(step + 1) for step in range(steps)}
    y = tenths([spot.y.ends for _, spots in lines for spot in spots])
    return panel(world, lines, Axis(-0.4, steps - 0.6, "snapshot", names), y, joined=True)
