"""Bars that a study must reach, for continuous integration: `--fail-under`, `--junit`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
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


class BarMissedError(RadarstreamError):
    """A study ended below a bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The share, in [0, 1], that a metric must reach, or for `attack_success` and `abstention` may
    reach at most.
    """

    metric: str
    share: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a bar's metric was under one condition; None where nothing was scored."""

    bar: Bar
    condition: str
    value: float | None
    trials: int

    @property
    def held(self) -> bool:
        """Whether the bar is reached; what nothing was scored for is not."""
        if self.value is None:
            return False
        at_most = METRICS[self.bar.metric][1]
        return self.value <= self.bar.share if at_most else self.value >= self.bar.share

    @property
    def words(self) -> str:
        """The metric, the condition, the value and the bar.

        >>> Outcome(Bar("accuracy", 0.6), "benign", 0.5, 40).words
        'accuracy, benign: 50.0 % of 40, the bar is at least 60.0 %'
        """
        bound = "most" if METRICS[self.bar.metric][1] else "least"
        value = "nothing" if self.value is None else f"{100 * self.value:.1f} % of {self.trials}"
        bar = f"the bar is at {bound} {100 * self.bar.share:.1f} %"
        return f"{self.bar.metric}, {self.condition}: {value}, {bar}"


def parse_bars(text: str) -> tuple[Bar, ...]:
    """Read METRIC=SHARE, separated by commas. Raises ConfigurationError.

    >>> parse_bars("accuracy=0.6")
    (Bar(metric='accuracy', share=0.6),)
    """
    return tuple(parse_bar(part.strip()) for part in text.split(","))


def parse_bar(text: str) -> Bar:
    """Read one METRIC=SHARE."""
    metric, _, share = text.partition("=")
    if metric not in METRICS:
        raise ConfigurationError(
            f"--fail-under: no metric {metric!r}; there are {', '.join(METRICS)}"
        )
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ConfigurationError(f"--fail-under: {metric} takes a share in [0, 1], such as 0.6")
    return Bar(metric, value)


def outcomes_of(bars: Sequence[Bar], results: Results) -> Iterator[Outcome]:
    """What the reference of a study reached under each condition; attacks succeed under attack
    alone. Raises ConfigurationError for a bar that nothing was measured for.
    """
    for bar in bars:
        column = METRICS[bar.metric][0]
        cells = [
            cell
            for cell in results.alone
            if cell.contender == results.reference
            and not (column == "fooled" and cell.condition == BENIGN)
        ]
        if not cells or any(column not in cell.rates for cell in cells):
            raise ConfigurationError(f"--fail-under: this study measures no {bar.metric}")
        for cell in cells:
            rate = cell.rates[column]
            yield Outcome(bar, cell.condition, rate.value, rate.trials)


def write_junit(path: Path, method: str, outcomes: Sequence[Outcome]) -> None:
    """Write one test case a bar and condition. Raises ConfigurationError for an unusable path."""
    missed = [outcome for outcome in outcomes if not outcome.held]
    counts = {"tests": str(len(outcomes)), "failures": str(len(missed))}
    suite = ElementTree.Element("testsuite", {"name": f"radarstream evaluate {method}", **counts})
    for outcome in outcomes:
        named = {"classname": method, "name": f"{outcome.bar.metric} {outcome.condition}"}
        case = ElementTree.SubElement(suite, "testcase", named)
        if not outcome.held:
            ElementTree.SubElement(case, "failure", {"message": outcome.words})
    try:
        ElementTree.ElementTree(suite).write(path, "utf-8", xml_declaration=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror}") from None


def judge(bars: Sequence[Bar], results: Results, junit: Path | None) -> None:
    """Write the outcomes where that is wanted. Raises BarMissedError, naming each bar that is
    missed.
    """
    outcomes = list(outcomes_of(bars, results))
    if junit is not None:
        write_junit(junit, results.reference, outcomes)
    if missed := [outcome.words for outcome in outcomes if not outcome.held]:
        raise BarMissedError(f"{results.reference} misses its bar: {'; '.join(missed)}")
