"""What a replay reads: every record of the given files, attacked where an attack is given."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from radarstream.connectors.files.reader import read_records
from radarstream.pipelines.job.replaying import attacking
from radarstream.schemas.codec import decoded, encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot


@dataclass(frozen=True)
class ReplayInput:
    """A bounded, repeatable source of raw records; picklable."""

    paths: tuple[Path, ...]
    limits: Limits
    attack: attacking.Attack = attacking.NoAttack()

    def __call__(self, plantings: Sequence[attacking.Planting] = ()) -> Iterator[RawRecord]:
        """Read and decode everything; `plantings`, one a clause of the attack, count changes."""
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
    """A first pass over the input: how much there is, what is attacked, what identifies it."""

    records: int
    snapshots: int
    documents: int
    digest: str
    attacks: tuple[attacking.Planting, ...] = ()


def survey(source: ReplayInput, keep: Path, *, resumes: Collection[str] = ()) -> Survey:
    """Count the input, and keep every usable snapshot, one a line. Raises ConfigurationError,
    leaving `keep` alone, without input, for an attack that matches nothing, and for another input
    than it `resumes`.
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
        attacking.check_plantings(attacks)
    if resumes and digest.hexdigest() not in resumes:
        raise ConfigurationError(
            "the interrupted replay read other files or another attack: repeat its command, or "
            "start over without --resume"
        )
    partial.replace(keep)
    return Survey(records, snapshots, documents, digest.hexdigest(), attacks)
