"""What the page of every study says and draws first: what attackers get under each method, and what
users keep.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from radarstream.lab.pages.charts import Axis, Place, Share, before_after, measured, scatter
from radarstream.lab.study.results import Result, Results
from radarstream.lab.study.rows import BENIGN
from radarstream.pipelines.pages.safe_text import shorten

MOST_CHANGES: Final = 12  # rows of the opening plot
SAID: Final = 3  # leads in words
NAME_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Lead:
    """What attackers get (`bad`) and what users keep (`good`) under each method in one group of
    conditions; `words` name the two. `before` is what attackers get without any method, that of the
    reference where it is None. `moved` are the methods whose `bad` differs significantly from the
    reference.
    """

    where: str
    words: tuple[str, str]
    bad: Mapping[str, Share]
    good: Mapping[str, Share]
    before: Share | None = None
    moved: frozenset[str] = frozenset()

    def best(self, reference: str) -> str:
        """The method with most good less bad; the reference among equals."""

        def worth(name: str) -> tuple[float, bool]:
            good, bad = self.good.get(name), self.bad.get(name)
            value = (good.value if good else 0.0) - (bad.value if bad else 0.0)
            return value, name == reference

        return max({**self.good, **self.bad}, key=worth, default=reference)

    def said(self, reference: str) -> str:
        """The lead in one sentence."""
        best = self.best(reference)
        told = [f"{shorten(self.where, NAME_CHARACTERS).capitalize()}: {self._of(reference)}"]
        if best != reference:
            chance = "" if best in self.moved else "no "
            known = f", with {chance}significant difference in the first" if self.bad else ""
            told.append(f"the best is {self._of(best)}{known}")
        return f"{'; '.join(told)}."

    def _of(self, name: str) -> str:
        sides = zip(self.words, (self.bad.get(name), self.good.get(name)), strict=True)
        found = ", ".join(f"{words} {share}" for words, share in sides if share is not None)
        return f"{shorten(name, NAME_CHARACTERS)} ({found or 'no answer'})"


def share_of(cell: Result, column: str) -> Share | None:
    """A rate with its interval, or a mean; None where it was not measured."""
    if column in cell.rates:
        return measured(cell.rates[column])
    value = cell.means[column]
    return None if value is None else Share(value)


def lead_of(
    cells: Sequence[Result],
    where: str,
    columns: tuple[str, str],
    words: tuple[str, str],
    before: Share | None = None,
) -> Lead:
    """The lead of cells, from a column of what attackers get and one of what users keep."""
    bad, good = (
        {c.contender: share for c in cells if (share := share_of(c, column)) is not None}
        for column in columns
    )
    moved = (c.contender for c in cells if (d := c.differences.get(columns[0])) and d.significant)
    return Lead(where, words, bad, good, before, frozenset(moved))


def leads_of(
    results: Results, columns: tuple[str, str], words: tuple[str, str], before: Share | None = None
) -> list[Lead]:
    """A lead for each group under attack; where nobody attacks, of what users keep."""
    found = [lead_of(results.on(g), g, columns, words, before) for g in results.attacked]
    clean = lead_of(results.on(BENIGN), BENIGN, columns, words)
    bare = Lead(BENIGN, words, {}, clean.good)
    return [lead for lead in found if lead.bad] or [bare]


def opening(leads: Sequence[Lead], reference: str) -> Markup | None:
    """What attackers get before and after, in the first groups."""
    words, start = leads[0].words[0], "before" if leads[0].before else reference
    changes = [
        (f"{name}, {lead.where}", before, after)
        for lead in leads[:SAID]
        if lead.words[0] == words
        for name, after in lead.bad.items()
        if name != reference or lead.before is not None
        for before in [lead.before or lead.bad.get(reference)]
    ]
    title = f"{words.capitalize()}: {shorten(start, NAME_CHARACTERS)} ○, the others ●"
    return before_after(title, changes[:MOST_CHANGES], (start, "after"))


def trade_offs(leads: Sequence[Lead], names: Sequence[str]) -> Iterator[Markup]:
    """What attackers get against what users keep, a point per method."""
    for lead in leads:
        places = [
            Place(name, names.index(name), x, lead.good[name], f"{name}: {x}, {lead.good[name]}")
            for name, x in lead.bad.items()
            if name in lead.good
        ]
        axis = Axis(0.0, 1.0, lead.words[0], percent=True)
        yield from scatter(lead.where, places, axis, lead.words[1])


def costs(results: Results, lead: Lead) -> Iterator[Markup]:
    """Seconds against what users keep, a point per method."""
    group = results.whole if lead.where in results.attacked else lead.where
    places = [
        Place(c.contender, results.methods.index(c.contender), Share(seconds), kept, words)
        for c in results.on(group)
        if (seconds := c.means["seconds"]) is not None
        and (kept := lead.good.get(c.contender)) is not None
        for words in [f"{c.contender}: {seconds:.2f} seconds, {lead.words[1]} {kept}"]
    ]
    most = max((place.x.value for place in places), default=0.0)
    axis = Axis(0.0, max(1.1 * most, 0.01), "seconds")
    yield from scatter("What it costs", places, axis, lead.words[1])
