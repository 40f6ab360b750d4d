"""Bars that a study must reach, for continuous integration: `--fail-under`, `--junit`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from radarstream.lab.study.results import Results
from radarstream.lab.study.rows import BENIGN
from radarstream.schemas.errors import ConfigurationError, RadarstreamError

# The column of each metric, and whether the bar is the most that it may be.
METRICS: Final = {
    "accuracy": ("correct", False),
    "attack_success": ("fooled", True),
    "abstention": ("abstained", True),
}
Bars = Mapping[str, float]  # the share in [0, 1] that a metric must reach, or may reach at most


class BarMissedError(RadarstreamError):
    """A study ended below a bar."""


class Outcome(NamedTuple):
    """Whether a bar is met under one condition; what nothing was scored for is not."""

    name: str
    held: bool
    words: str


def parse_bars(text: str) -> dict[str, float]:
    """Read METRIC=SHARE, separated by commas. Raises ConfigurationError.

    >>> parse_bars("accuracy=0.6")
    {'accuracy': 0.6}
    """
    bars: dict[str, float] = {}
    for part in text.split(","):
        metric, _, share = part.strip().partition("=")
        if metric not in METRICS:
            raise ConfigurationError(
                f"--fail-under: no metric {metric!r}; there are {', '.join(METRICS)}"
            )
        try:
            bars[metric] = float(share)
        except ValueError:
            bars[metric] = -1.0
        if not 0.0 <= bars[metric] <= 1.0:
            raise ConfigurationError(f"--fail-under: {metric} takes a share in [0, 1], such as 0.6")
    return bars


def outcomes_of(bars: Bars, results: Results) -> Iterator[Outcome]:
    """What the reference of a study reached under each condition; attacks succeed under attack
    alone. Raises ConfigurationError for a bar that nothing was measured for.
    """
    mine = [cell for cell in results.alone if cell.contender == results.reference]
    for metric, share in bars.items():
        column, at_most = METRICS[metric]
        cells = [c for c in mine if column != "fooled" or c.condition != BENIGN]
        if not cells or any(column not in cell.rates for cell in cells):
            raise ConfigurationError(f"--fail-under: this study measures no {metric}")
        for cell in cells:
            rate, value = cell.rates[column], cell.rates[column].value
            held = value is not None and (value <= share if at_most else value >= share)
            said = "nothing" if value is None else f"{100 * value:.1f} % of {rate.trials}"
            bar = f"the bar is at {'most' if at_most else 'least'} {100 * share:.1f} %"
            yield Outcome(
                f"{metric} {cell.condition}", held, f"{metric}, {cell.condition}: {said}, {bar}"
            )


def judge(bars: Bars, results: Results, junit: Path | None) -> None:
    """Write one JUnit test case a bar and condition where that is wanted. Raises BarMissedError,
    naming each bar that is missed, and ConfigurationError for an unusable path.
    """
    outcomes = list(outcomes_of(bars, results))
    missed = [outcome.words for outcome in outcomes if not outcome.held]
    if junit is not None:
        counts = {"tests": str(len(outcomes)), "failures": str(len(missed))}
        named = f"radarstream evaluate {results.reference}"
        suite = ElementTree.Element("testsuite", {"name": named, **counts})
        for one in outcomes:
            attributes = {"classname": results.reference, "name": one.name}
            case = ElementTree.SubElement(suite, "testcase", attributes)
            if not one.held:
                ElementTree.SubElement(case, "failure", {"message": one.words})
        try:
            ElementTree.ElementTree(suite).write(junit, "utf-8", xml_declaration=True)
        except OSError as error:
            raise ConfigurationError(f"cannot write {junit}: {error.strerror}") from None
    if missed:
        raise BarMissedError(f"{results.reference} misses its bar: {'; '.join(missed)}")
