"""What a kind of study brings to the harness: its work, its rows, its record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.halves import Half
from radarstream.lab.study.record import RecordT, Run
from radarstream.lab.study.rows import Stored
from radarstream.pipelines.job.replaying.provenance import code_revision
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.snapshot import SearchSnapshot

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

ItemT = TypeVar("ItemT")


PACKAGES = ("radarstream", "numpy", "ortools", "pydantic", "sentence-transformers", "torch",
            "transformers", "xllamacpp")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for, in every kind of study.

    `half` says which questions are asked, and `limit` how many of these, None for all of them; a
    limit is for the questions that are searched, too.
    """

    dataset: Dataset
    k: int
    half: Half = Half.ALL
    limit: int | None = None
    seed: int = 0
    command: str = ""
    notes: tuple[str, ...] = ()

    def common(self, models: Models, settings: Settings) -> dict[str, Any]:
        """The fields that all records share, for the constructor of a record."""
        stored = settings.model_dump(mode="json")
        run = Run(self.command, code_revision(), package_versions(), stored)
        return {
            "dataset": self.dataset.name,
            "dataset_digest": self.dataset.digest,
            "k": self.k,
            "seed": self.seed,
            "half": self.half,
            "models": models.ids,
            "runs": (run,),
            **asdict(run),
        }

    def asking(self, asked: Sequence[SearchSnapshot]) -> dict[str, Any]:
        """The fields of a record that say what is asked, and what is to be said about that."""
        return {
            "asked": tuple(snapshot.query.id for snapshot in asked),
            "notes": tuple(filter(None, [self.dataset.complaint, *self.notes])),
        }


@dataclass(frozen=True, slots=True)
class Batch:
    """A piece of work that is done: rows to keep, and what they were worth in units.

    The harness learns from each `kind` (a contender's name, or `EVIDENCE_WORK`) how long a unit
    takes. The rows of a batch are written together, before the next batch is begun.
    """

    kind: str
    units: int
    rows: Sequence[Stored] = ()


class Plugin(Protocol[RecordT]):
    """One kind of study."""

    @property
    def models(self) -> Models:
        """The models that rows are asked of."""

    @property
    def files(self) -> Mapping[type[Any], str]:
        """The types of rows and the name of the file of each; progress counts the first."""

    def describe(self) -> RecordT:
        """The record of this run alone."""

    def code(self, record: RecordT) -> Mapping[str, str | None]:
        """One digest per author of `record`, of the code that their rows depend on, as it is now.
        None for an author that can no longer be built. Rows of others are not checked.
        """

    def plan(self, study: "Study[RecordT]") -> Iterator[Batch]:
        """Count the work that is left in `study.progress`, and return an iterator that does it.

        Called once, after rows were read. The iterator asks `study.models` and may be left after
        any batch; the rows of a batch are on disk and in `study.store` when the next is asked for.
        """


def batched(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Consecutive parts of at most `size` items."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide a result, those that are installed."""
    found = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
