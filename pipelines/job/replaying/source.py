"""The input of a replay: every record of the given files, changed by an attack if one is given."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from radarstream.connectors.files.reader import read_records
from radarstream.schemas.codec import decoded, encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.wording import counted_noun


@dataclass(slots=True)
class Planting:
    """Counts of one clause of an attack: snapshots `due`, of them `attacked` or `skipped`, and the
    `reason` of the first skipped one.
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
    """Raise ConfigurationError for a clause without a due snapshot, or if nothing is attacked."""
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
        """Zero counts, one for every clause, which `poison` increments."""

    def poison(
        self, snapshots: Iterable[SearchSnapshot], plantings: Sequence[Planting] = ()
    ) -> Iterator[SearchSnapshot]:
        """Yield the snapshots in the same order, some attacked; `plantings` count them."""


class NoAttack:
    """Leaves every snapshot as it is."""

    def plantings(self) -> tuple[Planting, ...]:
        """No counts."""
        return ()

    def poison(
        self,
        snapshots: Iterable[SearchSnapshot],
        plantings: Sequence[Planting] = (),  # noqa: ARG002
    ) -> Iterator[SearchSnapshot]:
        """The same snapshots."""
        return iter(snapshots)


@dataclass(frozen=True)
class ReplayInput:
    """A bounded, repeatable source of raw records; picklable."""

    paths: tuple[Path, ...]
    limits: Limits
    attack: Attack = NoAttack()

    def __call__(self, plantings: Sequence[Planting] = ()) -> Iterator[RawRecord]:
        """Read and decode all records; `plantings`, one per clause of the attack, count changes."""
        slot: list[SearchSnapshot] = []
        poisoned = self.attack.poison(iter(slot.pop, None), plantings)
        for path in self.paths:
            for read in read_records(path, self.limits):
                record = decoded(read, limits=self.limits)
                if record.snapshot is None:
                    yield record
                    continue
                slot.append(record.snapshot)
                attacked = next(poisoned)
                if attacked is record.snapshot:
                    yield record
                else:
                    planted = RawRecord(record.source, record.position, encode(attacked))
                    yield decoded(planted, limits=self.limits)


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of a first pass over the input: counts, a digest, and what is attacked."""

    records: int
    snapshots: int
    documents: int
    digest: str
    attacks: tuple[Planting, ...] = ()


def survey(source: ReplayInput, keep: Path, *, resumes: Collection[str] = ()) -> Survey:
    """Count the input, and write every usable snapshot to `keep`, one per line. Raises
    ConfigurationError, without changing `keep`, for an empty input, an attack that matches nothing,
    and an input with another digest than those it `resumes`.
    """
    attacks = source.attack.plantings()
    records = snapshots = documents = 0
    digest = sha256()
    partial = keep.with_name(keep.name + ".part")
    with partial.open("wb") as lines:
        for record in source(attacks):
            records += 1
            digest.update(sha256(record.payload).digest())
            if record.snapshot is not None:
                snapshots += 1
                documents += len(record.snapshot.documents)
                lines.write(encode(record.snapshot) + b"\n")
    if records == 0:
        raise ConfigurationError("the given files hold no record")
    if snapshots:
        check_plantings(attacks)
    if resumes and digest.hexdigest() not in resumes:
        raise ConfigurationError(
            "the interrupted replay read other files or another attack: repeat its command, or "
            "start over without --resume"
        )
    partial.replace(keep)
    return Survey(records, snapshots, documents, digest.hexdigest(), attacks)
