"""The figures of a run: what was measured, against which target, on what."""

import operator
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from radarstream.pipelines.job.replaying.record import code_revision

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
Target = tuple[str, float]


@dataclass(frozen=True)
class Figure:
    """One measured value. A missed target is reported, never a failure: machines differ."""

    name: str
    value: float
    unit: str
    target: Target | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        comparison, bound = self.target
        return COMPARISONS[comparison](self.value, bound)


@dataclass
class Figures:
    """Collects the rows of the table and the models that they depend on."""

    rows: list[Figure] = field(default_factory=list)
    models: set[str] = field(default_factory=set)

    def add(self, name: str, value: float, unit: str, target: Target | None = None) -> None:
        self.rows.append(Figure(name, float(value), unit, target))

    def uses(self, *model_ids: str) -> None:
        self.models.update(model_ids)

    def record(self, *, passed: bool) -> dict[str, Any]:
        return {
            "revision": code_revision(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "models": sorted(self.models),
            "passed": passed,
            "figures": [
                asdict(row) | {"target": target_text(row), "met": row.met} for row in self.rows
            ],
        }

    def table(self) -> list[str]:
        met = {True: "yes", False: "no", None: ""}
        return [
            f"{row.name:<66}{shown(row.value):>10}  {row.unit:<20}{target_text(row) or '':<10}"
            + met[row.met]
            for row in self.rows
        ]


def target_text(figure: Figure) -> str | None:
    return None if figure.target is None else f"{figure.target[0]} {figure.target[1]:g}"


def shown(value: float) -> str:
    """Three digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
