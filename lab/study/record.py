"""What a directory of results is results of: two runs that share one must agree on all of it."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from pydantic import TypeAdapter

from radarstream.connectors.files.directories import write_json
from radarstream.lab.study.halves import Half
from radarstream.lab.study.rows import ADVICE, summary
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.job.replaying.record import ANSWERING, differing, reworded
from radarstream.schemas.errors import ConfigurationError

RECORD = "study.json"
JUDGED_BY: Final = "judged by "  # start of a note that names the judge
# Folders of the code behind rows.
COMPUTING = (*ANSWERING, "pipelines/asking", "lab/attacks", "lab/attribution", "lab/defences",
             "lab/retrieval", "lab/service")  # fmt: skip
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

    `kind` is that of the study, `facts` are, by their words, what else all of its runs must share.
    Later runs may add to `conditions` and `methods`. Differences are to the method `reference`.
    `command`, `revision`, `versions` and `settings` are the last run's, `runs` all that differ.
    `code` is a digest of the code that rows depend on; `prompts` one per task that was asked;
    `thresholds` are those that methods were given, `data` says more about the data. `asked` are the
    ids of the questions asked last, of this `half`: rows of others may lie beside theirs. `left` is
    how much work a run that was cut short left, `notes` what was left out and why.
    """

    kind: str
    dataset: str
    dataset_digest: str
    k: int
    seed: int
    models: dict[str, str]
    settings: dict[str, Any]
    command: str
    revision: str
    versions: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    methods: tuple[Spec, ...] = ()
    reference: str = ""
    code: str = ""
    prompts: dict[str, str] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    half: Half = Half.ALL
    left: int = 0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    runs: tuple[Run, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(spec.name for spec in self.methods)

    @property
    def asked_in_words(self) -> str:
        """Which questions were asked."""
        return f"Asked: {self.half.described(len(self.asked))}."

    def shared_with(self, other: Self) -> dict[str, Any]:
        """What both runs must agree on, by its words: a model where both ask one of that name."""
        models = {n: id_ for n, id_ in self.models.items() if n in other.models}
        same = {"data set (its content)": self.dataset_digest, "k": self.k, "seed": self.seed}
        return {**same, **models, **self.facts}

    def continuing(self, earlier: Self) -> Self:
        """The record of both runs together. What was noted about other questions than those asked
        now is left out, but for who judged the answers. Raises ConfigurationError, naming what
        differs, when they are not one study.
        """
        found = [
            *differing(earlier.shared_with(self), self.shared_with(earlier)),
            *reworded(earlier.prompts),
        ]
        known = {spec.name: spec for spec in earlier.methods}
        for spec in self.methods:  # that share a name and not its meaning
            if (before := known.get(spec.name, spec)) != spec:
                changes = differing(asdict(before), asdict(spec), colon="")
                found.append(f"{spec.name}: {', '.join(changes)}")
        if found:
            raise ConfigurationError(
                f"the results there are of another study: {'; '.join(found)}. {WAYS_OUT}"
            )
        same = earlier.asked == self.asked
        notes = [note for note in earlier.notes if same or note.startswith(JUDGED_BY)]
        return replace(
            self,
            models=earlier.models | self.models,
            conditions=tuple(dict.fromkeys((*earlier.conditions, *self.conditions))),
            methods=tuple(dict.fromkeys((*earlier.methods, *self.methods))),
            prompts=earlier.prompts,
            thresholds=earlier.thresholds,
            notes=tuple(dict.fromkeys((*notes, *self.notes))),
            seconds=earlier.seconds,
            runs=(*earlier.runs, *(run for run in self.runs if run not in earlier.runs)),
        )


def write_record(directory: Path, record: StudyRecord) -> None:
    """Store what the study is; whole or not at all."""
    write_json(directory / RECORD, asdict(record))


def read_record(directory: Path) -> StudyRecord | None:
    """What an earlier run in the directory was; None if there was none. Raises ConfigurationError
    for a damaged record.
    """
    path = directory / RECORD
    if not path.exists():
        return None
    try:
        return TypeAdapter(StudyRecord).validate_python(json.loads(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is damaged ({summary(error)}); {ADVICE}") from None
