"""An experiment from its data set to its results: what `radarstream evaluate` does."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter

from sqlalchemy import Engine

from radarstream.defenses.protocol import Signal
from radarstream.pipelines.evaluation.dataset_statistics import describe
from radarstream.pipelines.evaluation.datasets import Dataset, is_long_form
from radarstream.pipelines.evaluation.experiment.answering_code import code_digest
from radarstream.pipelines.evaluation.experiment.contenders import needs_of
from radarstream.pipelines.evaluation.experiment.identity import (
    JUDGED_BY,
    check_code,
    continued,
    noting_use,
    package_versions,
    prompt_digests,
)
from radarstream.pipelines.evaluation.experiment.planning import Plan, truncated
from radarstream.pipelines.evaluation.experiment.progress import Progress
from radarstream.pipelines.evaluation.experiment.records import (
    Condition,
    Contender,
    EvidenceRow,
    ExperimentRecord,
    Row,
    Run,
)
from radarstream.pipelines.evaluation.experiment.row_files import (
    EVIDENCE,
    JUDGEMENTS,
    RECORD,
    RESULTS,
    ROWS,
    read_judgements,
    read_record,
    read_rows,
    write_json,
    write_record,
)
from radarstream.pipelines.evaluation.experiment.running import Runner
from radarstream.pipelines.evaluation.experiment.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.experiment.scores import score_cells
from radarstream.pipelines.evaluation.judging import Judgement, judge_rows
from radarstream.pipelines.evaluation.provenance import code_revision
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Generator, Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import Task


@dataclass(frozen=True)
class Request:
    """What the user asked for. `limit` is how many questions, None for all of them; `reference`
    is whom the others are compared with, None for RADAR if it takes part.
    """

    dataset: Dataset
    conditions: tuple[Condition, ...]
    contenders: tuple[Contender, ...]
    reference: str | None
    k: int
    limit: int | None = None
    seed: int = 0
    surface: str = "list"
    command: str = ""
    notes: tuple[str, ...] = ()

    def plan(self) -> Plan:
        """The questions that are asked, each snapshot cut to its first k documents."""
        histories = self.dataset.histories[: self.limit]
        cut = tuple(truncated(history, self.k) for history in histories)
        return Plan(
            histories=cut,
            everything=self.dataset.histories,
            conditions=self.conditions,
            contenders=self.contenders,
            k=self.k,
            seed=self.seed,
        )


@dataclass
class Experiment:
    """One run into a directory, which may hold earlier runs of the same experiment."""

    request: Request
    settings: Settings
    engine: Engine
    models: Models
    out: Path

    def __post_init__(self) -> None:
        self.plan = self.request.plan()
        self.progress = Progress()
        now = self.described()
        earlier, rows = read_record(self.out), read_rows(self.out)
        record = continued(earlier, now) if earlier else now
        if earlier:
            check_code(earlier, {row.contender for row in rows.values() if row.error is None})
        reference = reference_among(record.contenders, self.request.reference)
        self.record = replace(record, reference=reference)
        models = noting_use(self.models, self.note_use)
        self.runner = Runner(
            self.plan, self.settings, self.engine, models, self.out, rows, self.progress
        )
        prepared = self.runner.prepared
        owed = {c.name: prepared.snapshots(c) for c in self.plan.conditions}
        self.record = replace(self.record, owed=self.record.owed | owed)

    def described(self) -> ExperimentRecord:
        """The record of this run alone."""
        request, models = self.request, self.models
        run = Run(
            command=request.command,
            revision=code_revision(),
            versions=package_versions(),
            settings=self.settings.model_dump(mode="json"),
        )
        return ExperimentRecord(
            dataset=request.dataset.name,
            dataset_digest=request.dataset.digest,
            questions=len(self.plan.histories),
            snapshots=sum(map(len, self.plan.histories)),
            k=request.k,
            conditions=request.conditions,
            contenders=request.contenders,
            reference="",
            seed=request.seed,
            settings=run.settings,
            models=models.ids,
            revision=run.revision,
            command=run.command,
            statistics=describe(request.dataset),
            surface=request.surface,
            versions=run.versions,
            notes=(*request.notes, *notes_on_cost(request.contenders)),
            asked=tuple(history[0].query.id for history in self.plan.histories),
            code={contender.name: code_digest(contender) for contender in request.contenders},
            runs=(run,),
        )

    def note_use(self, task: Task) -> None:
        """Write down the wording of a task before the first row that depends on it."""
        prompts = self.record.prompts | {task.value: prompt_digests()[task.value]}
        if prompts != self.record.prompts:
            self.record = replace(self.record, prompts=prompts)
            write_record(self.out, self.record)

    def run(self) -> None:
        """Answer what is missing; the record tells the seconds even of a run that was stopped."""
        started = perf_counter()
        write_record(self.out, self.record)
        statistics = dict(self.record.statistics)
        exposures = self.runner.prepared.exposures
        if exposures:
            found = {name: asdict(scores) for name, scores in exposures.items()}
            statistics["exposure"] = statistics.get("exposure", {}) | found
        self.record = replace(self.record, statistics=statistics)
        try:
            self.runner.run()
        finally:
            self.record = replace(
                self.record,
                seconds=self.record.seconds + perf_counter() - started,
                notes=tuple(dict.fromkeys((*self.record.notes, *self.progress.notes))),
            )
            write_record(self.out, self.record)

    def results(self, judge: Generator | None = None) -> Scoreboard:
        """Score the rows and write the results down; also by a judge model if there is one, else
        by what one said in an earlier run.
        """
        judgements = self.judged(judge) if judge else read_judgements(self.out)
        board = score_cells(self.rows, self.record, self.evidence, judgements)
        write_json(self.out / RESULTS, asdict(board))
        return board

    def judged(self, judge: Generator) -> list[Judgement]:
        """What the judge says of every answer, written down one a line; asked again at no cost."""
        questions = {history[0].query.id: history[0].query.text for history in self.plan.histories}
        long_form = {h[0].query.id for h in self.plan.histories if is_long_form(h[0])}
        judgements = judge_rows(self.rows, questions, judge, long_form=long_form)
        text = "".join(json.dumps(asdict(judgement)) + "\n" for judgement in judgements)
        (self.out / JUDGEMENTS).write_text(text, encoding="ascii")
        notes = (note for note in self.record.notes if not note.startswith(JUDGED_BY))
        self.record = replace(self.record, notes=(*notes, JUDGED_BY + judge.model_id))
        write_record(self.out, self.record)
        return judgements

    @property
    def rows(self) -> list[Row]:
        """The rows that count: of the questions asked now, whoever answered them."""
        asked = {history[0].query.id for history in self.plan.histories}
        return [row for row in self.runner.rows.values() if row.query_id in asked]

    @property
    def evidence(self) -> list[EvidenceRow]:
        """The evidence of the questions asked now."""
        asked = {history[0].query.id for history in self.plan.histories}
        return [row for row in self.runner.evidence.values() if row.query_id in asked]

    @property
    def uncounted(self) -> int:
        """How many questions have rows there and are not asked now."""
        asked = {history[0].query.id for history in self.plan.histories}
        return len({row.query_id for row in self.runner.rows.values()} - asked)

    def failed_contenders(self) -> list[str]:
        """Contenders of this run none of whose answers came without an error."""
        answered = {row.contender for row in self.rows if row.error is None}
        tried = {row.contender for row in self.rows}
        return [c.name for c in self.request.contenders if c.name in tried - answered]


def notes_on_cost(contenders: Sequence[Contender]) -> tuple[str, ...]:
    """What the costs of defences that choose tokens by themselves leave out."""
    names = [c.name for c in contenders if Signal.TOKEN_PROBABILITIES in needs_of(c)]
    if not names:
        return ()
    return (
        f"{', '.join(names)}: tokens of prompts whose next token is asked for are not counted, "
        "such a prompt is one call however long the reply gets, and these calls are not kept: an "
        "answer that is computed anew asks them again",
    )


def start_over(out: Path) -> None:
    """Forget the rows of earlier runs, but not what their models answered."""
    for name in (ROWS, EVIDENCE, RECORD, RESULTS, JUDGEMENTS, "report.html", "tables.md"):
        (out / name).unlink(missing_ok=True)


def reference_among(contenders: Sequence[Contender], wanted: str | None) -> str:
    """The contender that the others are compared with: RADAR unless another is wanted.

    Raises ConfigurationError for one that does not take part.
    """
    names = [contender.name for contender in contenders]
    if wanted is None:
        return "radar" if "radar" in names else names[0]
    if wanted not in names:
        raise ConfigurationError(
            f"no contender {wanted!r} to compare with; there are {', '.join(names)}"
        )
    return wanted
