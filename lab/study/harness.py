"""Runs a study into a directory, which may hold earlier runs of the same study.

Rows are appended batch by batch, so that what is done is on disk however a run ends. The plug-in
asks again only what is missing or had failed; what models answered is kept by their caches.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Generic

from radarstream.connectors.files.directories import hold_directory
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.lab.study.judging import (
    JUDGED_BY,
    JUDGEMENTS,
    JudgedAnswer,
    judge_rows,
)
from radarstream.lab.study.plugin import Plugin
from radarstream.lab.study.record import (
    RECORD,
    WAYS_OUT,
    RecordT,
    check_code,
    read_record,
    write_record,
)
from radarstream.lab.study.rows import EVIDENCE_WORK, RowStore, encode_line
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Generator, Models
from radarstream.pipelines.signals.prompts import noting_use, prompt_digests
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import Task

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


@dataclass
class Study(Generic[RecordT]):
    """One run of a plug-in into a directory, beside the rows of earlier runs.

    `models` are those that the plug-in asks: they note the wording of every task in the record.
    Raises ConfigurationError, saying what differs, when the directory holds another study, or rows
    of other code or without a record.
    """

    plugin: Plugin[RecordT]
    models: Models
    out: Path
    record: RecordT = field(init=False)

    def __post_init__(self) -> None:
        self.progress = Progress()
        now = self.plugin.describe()
        code = {name: digest for name, digest in self.plugin.code(now).items() if digest}
        now = replace(now, code=code)
        self.record = now
        earlier = read_record(self.out, type(now))
        self.store = RowStore(self.out, self.plugin.files)
        self.answers = self.store.of(next(iter(self.plugin.files)))
        if earlier is not None:
            self.record = now.continuing(earlier)
            check_code(earlier, self.authors(), self.plugin.code(earlier))
        elif any(self.store.rows.values()):
            raise ConfigurationError(f"{self.out} holds rows without their {RECORD}. {WAYS_OUT}")
        self.models = noting_use(self.models, self.note_use)
        self.batches = self.plugin.plan(self)

    def authors(self) -> list[str]:
        """Everyone with a row that did not fail, whose code is on record, in the order of rows."""
        rows = (row for kind in self.plugin.files for row in self.store.of(kind).values())
        return list(dict.fromkeys(row.author for row in rows if row.error is None))

    def run(self) -> None:
        """Do what is left. The record holds the seconds even of a run that was stopped."""
        started = perf_counter()
        self.write_record()
        answers = self.answers
        try:
            with self.store.appending() as append:
                since = perf_counter()
                for batch in self.batches:
                    before = len(answers)
                    append(batch.rows)
                    self.progress.answered += len(answers) - before
                    now = perf_counter()
                    self.progress.record(batch.kind, batch.units, now - since)
                    since = now
        finally:
            self.update(seconds=self.record.seconds + perf_counter() - started)
            self.write_record()

    def note(self, notes: Iterable[str]) -> None:
        """Add to the notes on what was left out and why."""
        self.update(notes=tuple(dict.fromkeys((*self.record.notes, *notes))))

    def judge(
        self,
        answers: Iterable[JudgedAnswer],
        questions: Mapping[str, str],
        judge: Generator,
        long_form: Collection[str] = (),
    ) -> None:
        """What a judge says of answers, written down one a line; asked again at no cost."""
        found = judge_rows(answers, questions, judge, long_form=long_form)
        (self.out / JUDGEMENTS).write_bytes(b"".join(map(encode_line, found)))
        notes = (note for note in self.record.notes if not note.startswith(JUDGED_BY))
        self.update(notes=(*notes, JUDGED_BY + judge.model_id))
        self.write_record()

    def update(self, **changes: Any) -> None:
        """Change fields of the record; `run` writes it before the first batch and at the end."""
        self.record = replace(self.record, **changes)

    def write_record(self) -> None:
        """Store the record; whole or not at all."""
        write_record(self.out, self.record)

    def note_use(self, task: Task) -> None:
        """Write down the wording of a task before the first row that depends on it."""
        prompts = self.record.prompts | {task.value: prompt_digests()[task.value]}
        if prompts != self.record.prompts:
            self.update(prompts=prompts)
            self.write_record()

    def failed(self, names: Iterable[str]) -> list[str]:
        """Those of the contenders none of whose answers of the questions asked is without an error,
        though some were tried.
        """
        rows = [row for row in self.answers.values() if row.query_id in self.record.asked]
        tried = {row.author for row in rows}
        sound = {row.author for row in rows if row.error is None}
        return [name for name in names if name in tried - sound]

    @property
    def uncounted(self) -> int:
        """How many questions have answers there and are not asked now. Rows that are about no
        question of the data have an empty id.
        """
        return len({row.query_id for row in self.answers.values()} - {*self.record.asked, ""})


def start_over(out: Path, plugin: Plugin[Any]) -> None:
    """Forget the rows of earlier runs, but not what their models answered."""
    for name in (*plugin.files.values(), JUDGEMENTS, RECORD, RESULTS, TABLES, REPORT):
        (out / name).unlink(missing_ok=True)


def kept_in(out: Path, settings: Settings) -> Settings:
    """The settings of a study. Unless they name a database, the models' answers are kept in OUT."""
    if "database" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"database": sqlite_url(out / STATE)})


@contextmanager
def opened(
    plugin: Plugin[RecordT], models: Models, out: Path, *, resume: bool
) -> Iterator[Study[RecordT]]:
    """The study in the directory, which no other run may use meanwhile; earlier rows are deleted
    unless it is to be resumed.
    """
    with hold_directory(out):
        if not resume:
            start_over(out, plugin)
        yield Study(plugin, models, out)
