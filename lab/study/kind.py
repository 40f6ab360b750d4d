"""What a kind of study declares: its data, its conditions, its methods, and how one trial runs.
`harness.Study` enumerates them, goes on where an earlier run ended, and writes everything down.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.halves import Half
from radarstream.lab.study.judging import JudgedAnswer
from radarstream.lab.study.record import COMPUTING, Run, StudyRecord
from radarstream.lab.study.rows import Stored
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.job.replaying.record import code_digest, code_revision
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

ItemT = TypeVar("ItemT")
Keys = Mapping[Any, Sequence[Hashable]]  # the keys of the rows that are owed, by item
Rows = Sequence[Stored]

AT_ONCE = 4  # items in lockstep, and lost when a run is stopped
PACKAGES = ("radarstream", "numpy", "ortools", "pydantic", "sentence-transformers", "torch",
            "transformers", "xllamacpp")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for, in every kind of study.

    `half` says which questions are asked, and `limit` how many of these, None for all of them; a
    limit is for the questions that are searched, too.
    """

    dataset: Dataset
    settings: Settings
    half: Half = Half.ALL
    limit: int | None = None
    seed: int = 0
    command: str = ""


class Kind(ABC):
    """One kind of study, and what one run of it asks. A subclass sets every attribute.

    `files` are the types of rows with the name of the file of each: those that methods owe first,
    and what these rest on. `models` are those that are asked. `asked` are the ids of the questions.
    `facts` are what runs must share besides data, k and seed, by its words; `notes` say what was
    left out and why. Differences are to the method `reference`.
    """

    name: ClassVar[str]
    files: ClassVar[Mapping[type[Any], str]]
    gathers: ClassVar[str]  # what is done before methods answer, in words

    request: Request
    k: int
    models: Models
    conditions: tuple[str, ...]
    methods: tuple[Spec, ...]
    reference: str
    asked: tuple[str, ...]
    facts: dict[str, Any]
    notes: tuple[str, ...] = ()
    study: "Study"

    def describe(self) -> StudyRecord:
        """The record of this run alone."""
        request, stored = self.request, self.request.settings.model_dump(mode="json")
        versions = {}  # of the packages that decide a result, those that are installed
        for package in PACKAGES:
            with suppress(PackageNotFoundError):
                versions[package] = version(package)
        run = Run(request.command, code_revision(), versions, stored)
        return StudyRecord(
            **asdict(run),
            kind=self.name,
            dataset=request.dataset.name,
            dataset_digest=request.dataset.digest,
            k=self.k,
            seed=request.seed,
            half=request.half,
            models=self.models.ids,
            runs=(run,),
            code=code_digest(COMPUTING),
            facts=self.facts,
            conditions=self.conditions,
            methods=self.methods,
            reference=self.reference,
            asked=self.asked,
            notes=tuple(filter(None, [request.dataset.complaint, *self.notes])),
        )

    def begin(self, study: "Study") -> None:
        """Called once, after rows were read and before work is counted."""
        self.study = study

    def prepare(self) -> Iterator[tuple[int, Rows]]:
        """Work before the first condition: units that are done, and rows."""
        return iter(())

    @abstractmethod
    def missing(self, condition: str) -> Sequence[Any]:
        """The items that are still to be gathered before methods answer under a condition."""

    def stage(self, condition: str) -> None:  # noqa: B027 most kinds need none
        """Called before anything is done under a condition."""

    @abstractmethod
    def gather(self, condition: str, items: Sequence[Any]) -> Rows:
        """What methods need of a few items."""

    @abstractmethod
    def owed(self, method: Spec, condition: str) -> Keys:
        """The rows that a method owes under a condition, as far as is known before gathering."""

    def ready(self, method: Spec) -> None:  # noqa: B027 most kinds need none
        """Called before a method answers: threshold and models are made."""

    @abstractmethod
    def answer(
        self, method: Spec, condition: str, items: Sequence[Any]
    ) -> Iterator[tuple[int, Rows]]:
        """What a method makes of items: rows, and how many of those owed are done with them."""

    def judged(self) -> tuple[Iterable[JudgedAnswer], Mapping[str, str], Iterable[str]]:
        """For a judge: answers, questions by id, and the ids of those that want a long answer."""
        raise NotImplementedError


def batched(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Consecutive parts of at most `size` items."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
