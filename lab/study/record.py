"""What a directory of results is results of: two runs that share one must agree on all of it."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pydantic import TypeAdapter

from radarstream.connectors.files.directories import write_json
from radarstream.lab.study.halves import Half
from radarstream.lab.study.rows import ADVICE, summary
from radarstream.pipelines.job.replaying import answering_code
from radarstream.pipelines.job.replaying.provenance import differing, reworded
from radarstream.schemas.errors import ConfigurationError

RECORD = "study.json"
# The code behind every row, besides its author's.
SHARED = (
    *answering_code.SHARED,
    "radarstream.lab.methods.temporal",
)
WAYS_OUT = "choose another --out, or --no-resume to start over (answers of the models are kept)"


@dataclass(frozen=True, slots=True)
class Run:
    """One use of a directory: what was typed, with which code, packages and settings."""

    command: str
    revision: str
    versions: dict[str, str]
    settings: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class StudyRecord:
    """Provenance of a directory of rows: enough to repeat it, stored beside them.

    `command`, `revision`, `versions` and `settings` are the last run's, `runs` all that differ.
    `code` has one digest per author of rows, of the code that the rows depend on; `prompts` one per
    task that was asked. `asked` are the ids of the questions asked last, `half` is where they were
    taken from: rows of others may lie beside theirs. `notes` say what was left
    out and why.

    `SAME` names the fields that all runs must share, each with its words. `MEMBERS` names the
    fields that later runs may add to: tuples of things with a `name`, or of names.
    """

    KIND: ClassVar[str]
    SAME: ClassVar[Mapping[str, str]] = {
        "dataset_digest": "data set (its content)",
        "k": "k",
        "seed": "seed",
        "models": "models",
    }
    MEMBERS: ClassVar[tuple[str, ...]] = ()

    kind: str = ""
    dataset: str
    dataset_digest: str
    k: int
    seed: int
    models: dict[str, str]
    settings: dict[str, Any]
    command: str
    revision: str
    versions: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    half: Half = Half.ALL
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    runs: tuple[Run, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.KIND)

    @property
    def asked_in_words(self) -> str:
        """Which questions were asked."""
        return f"Asked: {self.half.described(len(self.asked))}."

    def continuing(self, earlier: Self) -> Self:
        """The record of both runs together: members are added to. What was noted about other
        questions than those asked now is left out.

        Raises ConfigurationError, naming what differs, when they are not one study.
        """
        before, now = (
            {words: getattr(record, name) for name, words in self.SAME.items()}
            for record in (earlier, self)
        )
        found = [
            *differing(before, now),
            *reworded(earlier.prompts),
            *(text for name in self.MEMBERS for text in redefined(earlier, self, name)),
        ]
        if found:
            raise ConfigurationError(
                f"the results there are of another study: {'; '.join(found)}. {WAYS_OUT}"
            )
        members: dict[str, Any] = {
            name: tuple(dict.fromkeys((*getattr(earlier, name), *getattr(self, name))))
            for name in self.MEMBERS
        }
        notes = earlier.notes if earlier.asked == self.asked else ()
        return replace(
            self,
            **members,
            prompts=earlier.prompts,
            notes=tuple(dict.fromkeys((*notes, *self.notes))),
            seconds=earlier.seconds,
            code=earlier.code | self.code,
            runs=(*earlier.runs, *(run for run in self.runs if run not in earlier.runs)),
        )


@dataclass(frozen=True, kw_only=True)
class CorpusRecord(StudyRecord):
    """Provenance of a study over a corpus, which has so many `texts` without an attack."""

    SAME: ClassVar[Mapping[str, str]] = {
        **StudyRecord.SAME,
        "texts": "texts of the corpus",
        "half": "half of the questions",
        "questions": "questions",
    }

    texts: int

    @property
    def questions(self) -> int:
        """How many questions are asked."""
        return len(self.asked)


RecordT = TypeVar("RecordT", bound=StudyRecord)


def check_code(
    earlier: StudyRecord, authors: Collection[str], code: Mapping[str, str | None]
) -> None:
    """Raise ConfigurationError, naming them, when `authors` of sound rows had other code then.

    All authors there count, as all are shown.
    """
    changed = [
        name
        for name in dict.fromkeys(authors)
        if name in code and (code[name] is None or code[name] != earlier.code.get(name))
    ]
    if changed:
        raise ConfigurationError(
            f"the answers there of {', '.join(changed)} were computed by other code. To compute "
            "them again say --no-resume, which keeps the answers of the models and is quick; or "
            "choose another --out"
        )


def digests(roots: Mapping[str, Callable[[], Iterable[str]]]) -> dict[str, str | None]:
    """A digest per author of the modules that their rows depend on, which are computed by `roots`;
    None where that raises ConfigurationError, because the author can no longer be built.
    """
    found: dict[str, str | None] = {}
    for author, modules in roots.items():
        try:
            found[author] = answering_code.digest_of(modules())
        except ConfigurationError:
            found[author] = None
    return found


def redefined(earlier: StudyRecord, now: StudyRecord, members: str) -> Iterator[str]:
    """Members that share a name and not their meaning, in words."""
    known = {getattr(member, "name", member): member for member in getattr(earlier, members)}
    for member in getattr(now, members):
        name = getattr(member, "name", member)
        before = known.get(name, member)
        if before != member:
            there, here = (
                {f.name: getattr(m, f.name) for f in fields(m)} for m in (before, member)
            )
            yield f"{name}: {', '.join(differing(there, here, colon=''))}"


def write_record(directory: Path, record: StudyRecord) -> None:
    """Store what the study is; whole or not at all."""
    write_json(directory / RECORD, asdict(record))


def read_record(directory: Path, kind: type[RecordT]) -> RecordT | None:
    """What an earlier run in the directory was; None if there was none.

    Raises ConfigurationError for a damaged record and for one of another kind of study.
    """
    data = stored(directory)
    if data is None:
        return None
    if data["kind"] != kind.KIND:
        raise ConfigurationError(f"{directory} holds a study of {data['kind']}. {WAYS_OUT}")
    try:
        return TypeAdapter(kind).validate_python(data)
    except (ValueError, RecursionError) as error:
        raise damaged(directory, summary(error)) from None


def kind_of(directory: Path) -> str | None:
    """Which kind of study a directory holds; None where it holds none."""
    data = stored(directory)
    return None if data is None else str(data["kind"])


def stored(directory: Path) -> dict[str, Any] | None:
    """What the record of a directory holds, its kind among it; None where there is none."""
    path = directory / RECORD
    if not path.exists():
        return None
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise damaged(directory, summary(error)) from None
    if not isinstance(data, dict) or "kind" not in data:
        raise damaged(directory, "no kind of study")
    return data


def damaged(directory: Path, why: str) -> ConfigurationError:
    """That the record of a directory cannot be read."""
    return ConfigurationError(f"{directory / RECORD} is damaged ({why}); {ADVICE}")
