"""Curves over whole numbers, such as that of planted pages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from radarstream.lab.defences.scoreboard import Estimate, Point
from radarstream.lab.pages.charts import panel
from radarstream.lab.pages.scales import Axis, Series, Share, Spot, share, tenths

ASIDE: Final = 0.05  # of the distance between two places, so that intervals stay apart


def measured(estimate: Estimate) -> Share | None:
    """A rate with its interval for a chart; None where it was not measured."""
    return share(estimate.value, estimate.low, estimate.high)


def planted_plots(title: str, found: Mapping[str, Sequence[Point]]) -> Iterator[Markup]:
    """Attack success, accuracy and silence of each contender by the number of planted pages."""
    for quantity in ("attack_success", "accuracy", "silence"):
        lines = [
            (name, [(p.planted, measured(getattr(p, quantity))) for p in points])
            for name, points in found.items()
        ]
        places = sorted({at for _, spots in lines for at, _ in spots})
        if len(places) > 1:
            named = f"{title}{quantity.replace('_', ' ')}"
            yield from curves(named, places, lines, "planted pages")


def curves(
    title: str,
    places: Sequence[int],
    lines: Sequence[tuple[str, Sequence[tuple[int, Share | None]]]],
    along: str = "",
) -> Iterator[Markup]:
    """A line for each contender over whole numbers; nothing without a point."""
    drawn = [
        (
            Series(name, number),
            [
                Spot(at + ASIDE * (number - len(lines) / 2), y, words=f"{name}, {at}: {y}")
                for at, y in spots
                if y is not None
            ],
        )
        for number, (name, spots) in enumerate(lines)
    ]
    ends = [spot.y.ends for _, spots in drawn for spot in spots]
    if ends:
        names = {float(at): str(at) for at in places}
        x = Axis(places[0] - 0.4, places[-1] + 0.4, along, names)
        yield panel(title, drawn, x, tenths(ends), joined=True)
