"""Runs a search history through the pipeline into a directory, and reads the results from it."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from radarstream.connectors.files.directories import write_json
from radarstream.connectors.files.jsonl_sink import FILES, JsonlSink
from radarstream.connectors.state_table.queries.memory import clear_run, log_epochs
from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.pipelines.build import shared_engine, shared_pipeline
from radarstream.pipelines.job.replaying.record import RunRecord, StageCost, begun, check_resumable
from radarstream.pipelines.job.replaying.source import Planting, ReplayInput, Survey, survey
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.metering import CallCounts
from radarstream.schemas.codec import decode_answer, decode_dead_letter, decode_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import UNLIMITED, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

ANSWERS, DEAD_LETTERS = FILES["answers.defended"], FILES["snapshots.deadletter"]
SNAPSHOTS, RUN = "snapshots.jsonl", "run.json"
REPORT, BASELINES = "report.html", "baselines.jsonl"  # written by the lab
STATE = "state.sqlite"
T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """The results of a run, by question and time; documents have the ranks of the answers."""

    run: RunRecord
    answers: list[AnswerEvent]
    snapshots: dict[str, SearchSnapshot]
    dead_reasons: dict[str, int]

    def seen(self, answer: AnswerEvent) -> SearchSnapshot:
        """The snapshot of an answer without the documents that a reranker dropped."""
        snapshot, reranking = self.snapshots[answer.snapshot_id], answer.reranking
        return snapshot if reranking is None else reranking.without_dropped(snapshot)

    def summary(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {"run": asdict(self.run), "dead_letters": self.dead_reasons}


def read_results(directory: Path) -> Results:
    """Read a run's results. Raises ConfigurationError if the directory has no finished run."""
    decode = partial(decode_record, limits=UNLIMITED, now=None)
    snapshots = {found.id: found for found in _decoded(directory / SNAPSHOTS, decode)}
    run = read_run(directory / RUN)
    if not run.finished:
        raise ConfigurationError(
            f"{directory} holds no finished replay: its command with --resume goes on from there"
        )
    queries = dict.fromkeys(snapshot.query.id for snapshot in snapshots.values())
    order = {query_id: place for place, query_id in enumerate(queries)}  # the input's order
    found = _decoded(directory / ANSWERS, lambda record: decode_answer(record.payload))
    answers = [answer for answer in found if answer.snapshot_id in snapshots]
    for answer in answers:
        if answer.reranking is not None:
            found_there = snapshots[answer.snapshot_id]
            snapshots[answer.snapshot_id] = answer.reranking.renumbered(found_there)
    answers.sort(key=lambda answer: (order[answer.query_id], answer.step))
    reasons = Counter(letter.reason.value for letter in _dead_letters(directory)).most_common()
    return Results(run, answers, snapshots, dict(reasons))


def _decoded(file: Path, decode: Callable[[RawRecord], T]) -> Iterator[T]:
    """Decode the lines of a file. Raises ConfigurationError with the number of a damaged line."""
    for number, line in enumerate(_lines_of(file), start=1):
        try:
            yield decode(RawRecord(file.name, number, line))
        except InputError as error:
            raise ConfigurationError(
                f"{file} line {number} is damaged ({error}); replay again"
            ) from None


def _lines_of(file: Path) -> Iterator[bytes]:
    """Yield a file's lines. Raises ConfigurationError if there is no such file."""
    try:
        with file.open("rb") as stream:
            yield from stream
    except FileNotFoundError:
        raise ConfigurationError(
            f"{file.parent} holds no finished replay: no {file.name}"
        ) from None


def _dead_letters(directory: Path) -> Iterator[DeadLetter]:
    return _decoded(directory / DEAD_LETTERS, lambda record: decode_dead_letter(record.payload))


def first_dead_letter(directory: Path) -> str:
    """Describe a run's first dead letter and its reason; empty if there is none."""
    letter = next(_dead_letters(directory), None)
    if letter is None:
        return ""
    where = f"{letter.source} record {letter.position}"
    return f"; the first dead letter: {where}: {letter.reason.value}: {letter.detail}"


def count_lines(file: Path) -> int:
    """Count a file's lines."""
    return sum(1 for _ in _lines_of(file))


def write_run(directory: Path, run: RunRecord) -> None:
    """Store the record of a run with its results."""
    write_json(directory / RUN, asdict(run))


def read_run(file: Path) -> RunRecord:
    """Read the record of a run. Raises ConfigurationError."""
    try:
        return TypeAdapter(RunRecord).validate_json(b"".join(_lines_of(file)))
    except ValidationError as error:
        raise ConfigurationError(f"{file} is damaged: {error.errors()[0]['msg']}") from None


LOG = logging.getLogger(__name__)
Note = Callable[[str], object]
Show = Callable[[str, int, Callable[[], int]], AbstractContextManager[None]]


def replayed(
    settings: Settings,
    source: ReplayInput,
    out: Path,
    *,
    resume: bool = False,
    note: Note = LOG.warning,
    show: Show = lambda *_: nullcontext(),
) -> Results:
    """Replay into a directory and read the results. `note` gets messages for the user; `show` gets
    a task's name, its total and a function that counts progress.
    """
    # Check settings and input before the results of an earlier replay are deleted.
    run = begun(settings, shared_pipeline(settings))
    resumes = _resumable_logs(settings, run, out) if resume else ()
    found = survey(source, out / SNAPSHOTS, resumes=resumes)
    note_skipped(found.attacks, note)
    if not resume:  # cached replies of models are kept
        clear_run(shared_engine(settings))
        for name in (*FILES.values(), RUN, REPORT, BASELINES):
            (out / name).unlink(missing_ok=True)
    run = replace(run, snapshots=found.snapshots, attacks=found.attacks)
    write_run(out, run)  # a later --resume compares with this
    try:
        run = _run_through(settings, source, found, out, run, show)
    except KeyboardInterrupt:
        note("interrupted: the same command with --resume goes on from here")
        raise
    write_run(out, run)
    return read_results(out)


def _resumable_logs(settings: Settings, run: RunRecord, out: Path) -> Collection[str]:
    """Ids of the inputs that the earlier replay read. Raises ConfigurationError if it differs."""
    logs = log_epochs(shared_engine(settings))
    if (out / RUN).exists():
        check_resumable(read_run(out / RUN), run)
    elif logs:
        raise ConfigurationError(
            f"no {RUN} in {out} says which models and settings answered there: start over "
            "without --resume"
        )
    return logs


def note_skipped(attacks: Iterable[Planting], note: Note) -> None:
    """Note which snapshots an attack skips."""
    for attack in attacks:
        if attack.skipped:
            note(f"note: {attack}")


def _run_through(
    settings: Settings, source: ReplayInput, found: Survey, out: Path, run: RunRecord, show: Show
) -> RunRecord:
    """Run the pipeline, publish its events and record what it cost."""
    from radarstream.pipelines.beam.graph import run_replay  # takes seconds

    guard, engine = shared_pipeline(settings), shared_engine(settings)
    generator = guard.models.generator
    # One generation per document, one for the undefended answer and one for the defended one.
    documents = found.documents
    if guard.reranker is not None:
        documents = min(documents, guard.keep * found.snapshots)
    total = documents + 2 * found.snapshots

    def done() -> int:
        return generator.calls + generator.hits if isinstance(generator, CallCounts) else 0

    started = perf_counter()
    with JsonlSink(out) as sink:
        publish_outbox(engine, sink)  # events that an interrupted run did not publish
        with show("model answers", total, done):
            run_replay(settings, source, found.digest)
        publish_outbox(engine, sink)
    return replace(
        run,
        stages=tuple(
            StageCost(name, t.calls + t.hits, t.calls, t.hits, t.seconds)
            for name, t in guard.meter.stages.items()
        ),
        answers=count_lines(out / ANSWERS),
        dead_letters=count_lines(out / DEAD_LETTERS),
        seconds=perf_counter() - started,
        finished=True,
    )
