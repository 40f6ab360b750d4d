"""Runs a study into a directory, which may hold earlier runs of the same study.

Rows are appended batch by batch, so that what is done is on disk however a run ends. Only what is
missing or had failed is asked again; what models answered is kept by their caches.
"""

from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from radarstream.connectors.files.directories import hold_directory
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.lab.study.judging import JUDGEMENTS, judge_rows
from radarstream.lab.study.kind import Keys, Kind, Rows, batched
from radarstream.lab.study.record import (
    JUDGED_BY,
    RECORD,
    WAYS_OUT,
    StudyRecord,
    read_record,
    write_record,
)
from radarstream.lab.study.rows import EVIDENCE_WORK, Material, RowStore, StudyRow, encode_line
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Generator
from radarstream.pipelines.signals.prompts import prompt_digests
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import Prompt

RESULTS, TABLES, REPORT = "results.json", "tables.md", "report.html"
STATE = "state.sqlite"


@dataclass
class Progress:
    """Work by kind, in units that take about the same time each.

    `doing` says what is being done, `wanted` how many answers the study is for and `answered`
    how many of them there are, both with those of earlier runs. `seconds_left` learns from each
    kind how long one unit takes, so that a contender of twelve calls does not count like one of a
    single call.
    """

    doing: str = ""
    wanted: int = 0
    answered: int = 0
    expected: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All units of work."""
        return self.expected.total()

    @property
    def done(self) -> int:
        """Units that are finished."""
        return self.finished.total()

    def record(self, kind: str, units: int, seconds: float) -> None:
        """Note that so many units of a kind were finished in that time."""
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        self.finished[kind] += units

    def seconds_left(self) -> float | None:
        """An estimate; None while nothing is known."""
        if not self.done:
            return None
        known = {k: self.seconds[k] / n for k, n in self.finished.items() if n}
        rows = [seconds for kind, seconds in known.items() if kind != EVIDENCE_WORK]
        usual = sum(rows) / len(rows) if rows else 2.0 * known[EVIDENCE_WORK]
        return sum(
            (self.expected[kind] - self.finished[kind]) * known.get(kind, usual)
            for kind in tuple(self.expected)
        )


# A piece of work that is done: its kind (a method's name, or `EVIDENCE_WORK`), from which progress
# learns how long a unit takes, its units, and rows, which are written before more is begun.
Batch = tuple[str, int, Rows]
PREPARED: Batch = ("preparation", 0, ())  # ends work whose time says nothing about what is left


@dataclass
class Study:
    """One run of a kind of study into a directory, beside the rows of earlier runs.

    `models` are those that the kind asks: they note the wording of every task in the record.
    Raises ConfigurationError, saying what differs, when the directory holds another study, or rows
    of other code or without a record.
    """

    kind: Kind
    out: Path

    def __post_init__(self) -> None:
        kind, self.progress = self.kind, Progress()
        now = kind.describe()
        self.record = now
        earlier = read_record(self.out)
        if earlier is not None and earlier.kind != kind.name:
            raise ConfigurationError(f"{self.out} holds a study of {earlier.kind}. {WAYS_OUT}")
        self.store = RowStore(self.out, kind.files)
        answers = [self.store.of(one) for one in kind.files if issubclass(one, StudyRow)]
        self.rows: ChainMap[Any, StudyRow] = ChainMap(*answers)
        if earlier is not None:
            self.record = now.continuing(earlier)
            self.check_code(earlier)
        elif any(self.store.rows.values()):
            raise ConfigurationError(f"{self.out} holds rows without their {RECORD}. {WAYS_OUT}")
        self.models = kind.models.wrapped(lambda call: call.ask_with(self.note_use))
        kind.begin(self)
        self.counted: dict[tuple[str, str], tuple[int, int, int]] = {}
        for condition in kind.conditions:
            self.progress.expected[EVIDENCE_WORK] += len(kind.missing(condition))
            for method in kind.methods:
                self.count(method, condition)

    def check_code(self, earlier: StudyRecord) -> None:
        """Raise ConfigurationError if other code computed rows. What it gathered may stay."""
        rows = (row for one in self.kind.files for row in self.store.of(one).values())
        sound = any(row.error is None and not isinstance(row, Material) for row in rows)
        if sound and earlier.code != self.record.code:
            raise ConfigurationError(
                f"the rows in {self.out} were computed by other code. To compute them again say "
                "--no-resume, which keeps the answers of the models; or choose another --out"
            )

    @property
    def held(self) -> int:
        """How many answers there are."""
        return sum(map(len, self.rows.maps))

    def is_done(self, key: Any) -> bool:
        """Whether a row is there, without an error."""
        return key in self.rows and self.rows[key].error is None

    def due(self, owed: Keys) -> dict[Any, int]:
        """The items with a row that is missing or failed, and how many rows each is worth."""
        return {item: len(keys) for item, keys in owed.items() if not all(map(self.is_done, keys))}

    def count(self, method: Spec, condition: str) -> dict[Any, int]:
        """What a method owes, counted in the progress in place of what was counted before."""
        owed = self.kind.owed(method, condition)
        due, keys = self.due(owed), [key for each in owed.values() for key in each]
        now = len(keys), sum(key in self.rows for key in keys), sum(due.values())
        before = self.counted.get((method.name, condition), (0, 0, 0))
        self.counted[method.name, condition] = now
        self.progress.wanted += now[0] - before[0]
        self.progress.answered += now[1] - before[1]
        self.progress.expected[method.name] += now[2] - before[2]
        return due

    def work(self) -> Iterator[Batch]:
        """Everything that is left: under each condition what is gathered, then every method."""
        kind, progress = self.kind, self.progress
        if not progress.total:
            return
        for units, rows in kind.prepare():
            yield EVIDENCE_WORK, units, rows
        yield PREPARED
        for condition in kind.conditions:
            if not kind.missing(condition) and not any(
                self.due(kind.owed(method, condition)) for method in kind.methods
            ):
                continue
            progress.doing = f"{condition}: {kind.gathers}"
            kind.stage(condition)
            yield PREPARED
            for part in batched(kind.missing(condition), kind.request.settings.batch.snapshots):
                yield EVIDENCE_WORK, len(part), kind.gather(condition, part)
            for method in kind.methods:
                yield from self.answers(method, condition)

    def answers(self, method: Spec, condition: str) -> Iterator[Batch]:
        """What a method owes under a condition."""
        if due := self.count(method, condition):
            self.progress.doing = f"{condition}: {method.name}"
            self.kind.ready(method)
            yield PREPARED
            for units, rows in self.kind.answer(method, condition, list(due)):
                yield method.name, units, rows

    def run(self) -> None:
        """Do what is left. The record holds the seconds even of a run that was stopped."""
        started = perf_counter()
        self.update(left=self.progress.total)
        try:
            with self.store.appending() as append:
                since = perf_counter()
                for kind, units, rows in self.work():
                    before = self.held
                    append(rows)
                    self.progress.answered += self.held - before
                    now = perf_counter()
                    self.progress.record(kind, units, now - since)
                    since = now
        finally:
            left = self.progress.total - self.progress.done
            self.update(left=left, seconds=self.record.seconds + perf_counter() - started)

    def note(self, notes: Iterable[str]) -> None:
        """Add to the notes on what was left out and why; written with the next change."""
        notes = tuple(dict.fromkeys((*self.record.notes, *notes)))
        self.record = replace(self.record, notes=notes)

    def judge(self, judge: Generator) -> None:
        """What a judge says of answers, written down one a line; asked again at no cost."""
        answers, questions, long_form = self.kind.judged()
        found = judge_rows(answers, questions, judge, long_form={*long_form})
        (self.out / JUDGEMENTS).write_bytes(b"".join(map(encode_line, found)))
        notes = (note for note in self.record.notes if not note.startswith(JUDGED_BY))
        self.update(notes=(*notes, JUDGED_BY + judge.model_id))

    def threshold(self, name: str, measure: Callable[[], float | None]) -> float | None:
        """The threshold of a method, measured once in the life of the directory."""
        thresholds = self.record.thresholds
        if name not in thresholds and (found := measure()) is not None:
            self.update(thresholds=thresholds | {name: found})
        return self.record.thresholds.get(name)

    def update(self, **changes: Any) -> None:
        """Change fields of the record, and store it, whole or not at all."""
        self.record = replace(self.record, **changes)
        write_record(self.out, self.record)

    def note_use(self, prompt: Prompt) -> Prompt:
        """Write down the wording of a task before the first row that depends on it."""
        task, prompts = prompt.task.value, self.record.prompts
        if task not in prompts:
            self.update(prompts=prompts | {task: prompt_digests()[task]})
        return prompt

    @property
    def failed(self) -> list[str]:
        """Those of the methods none of whose answers to the questions asked is without an error,
        though some were tried.
        """
        rows = [row for row in self.rows.values() if row.query_id in self.record.asked]
        tried = {row.contender for row in rows}
        sound = {row.contender for row in rows if row.error is None}
        return [spec.name for spec in self.kind.methods if spec.name in tried - sound]

    @property
    def uncounted(self) -> int:
        """How many questions have answers there and are not asked now. Rows that are about no
        question of the data have an empty id.
        """
        return len({row.query_id for row in self.rows.values()} - {*self.record.asked, ""})


def start_over(out: Path, kind: Kind) -> None:
    """Forget the rows of earlier runs, but not what their models answered."""
    for name in (*kind.files.values(), JUDGEMENTS, RECORD, RESULTS, TABLES, REPORT):
        (out / name).unlink(missing_ok=True)


def kept_in(out: Path, settings: Settings) -> Settings:
    """The settings of a study. Unless they name a database, the models' answers are kept in OUT."""
    if "database" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"database": sqlite_url(out / STATE)})


@contextmanager
def opened(kind: Kind, out: Path, *, resume: bool) -> Iterator[Study]:
    """The study in the directory, which no other run may use meanwhile; earlier rows are deleted
    unless it is to be resumed.
    """
    with hold_directory(out):
        if not resume:
            start_over(out, kind)
        yield Study(kind, out)
