"""What a replay knows of an attack: which snapshots it changed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.wording import counted_noun


@dataclass(slots=True)
class Planting:
    """What became of one clause: `due` snapshots of which some were `attacked`, some `skipped` for
    lack of what the attack needs; `reason` is that of the first.
    """

    clause: str
    due: int = 0
    attacked: int = 0
    skipped: int = 0
    reason: str = ""

    def skip(self, reason: str) -> None:
        """Count a snapshot that cannot be attacked."""
        self.skipped += 1
        self.reason = self.reason or reason

    def __str__(self) -> str:
        attacked = f"{counted_noun(self.attacked, 'snapshot')} attacked"
        if not self.skipped:
            return f"{self.clause}: {attacked}"
        return f"{self.clause}: {attacked}, {self.skipped} skipped; the first: {self.reason}"


def check_plantings(plantings: Sequence[Planting]) -> None:
    """Raise ConfigurationError for a clause whose turn never came, and when nothing is attacked."""
    for planting in plantings:
        if not planting.due:
            raise ConfigurationError(
                f"the attack {planting.clause} matches no snapshot: check its years or steps"
            )
    if plantings and not any(planting.attacked for planting in plantings):
        reasons = "; ".join(p.reason or f"{p.clause} has nothing to plant" for p in plantings)
        raise ConfigurationError(f"no snapshot can be attacked: {reasons}")


class Attack(Protocol):
    """Changes some snapshots of a history."""

    def plantings(self) -> tuple[Planting, ...]:
        """A count of zero for every clause, for `poison` to add to."""

    def poison(
        self, snapshots: Iterable[SearchSnapshot], plantings: Sequence[Planting] = ()
    ) -> Iterator[SearchSnapshot]:
        """The snapshots in the same order, some attacked; `plantings` count them."""


class NoAttack:
    """Leaves every snapshot as it is."""

    def plantings(self) -> tuple[Planting, ...]:
        """Nothing to count."""
        return ()

    def poison(
        self,
        snapshots: Iterable[SearchSnapshot],
        plantings: Sequence[Planting] = (),  # noqa: ARG002
    ) -> Iterator[SearchSnapshot]:
        """The same snapshots."""
        return iter(snapshots)
