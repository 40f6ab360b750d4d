"""The study of defences: what `radarstream evaluate` runs on the harness."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Engine

from radarstream.lab.attacks.protocol import Surface
from radarstream.lab.defences.contenders import (
    code_digest,
    notes_on_production,
)
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.records import (
    FILES,
    Contender,
    DefencesRecord,
    DefencesRequest,
    Row,
    counted,
)
from radarstream.lab.defences.running import Runner
from radarstream.lab.study.datasets import describe
from radarstream.lab.study.harness import Study
from radarstream.lab.study.judging import JudgedAnswer
from radarstream.lab.study.plugin import Batch
from radarstream.pipelines.build import build_reranker_of
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Generator, Models
from radarstream.schemas.errors import ConfigurationError

DefenceStudy = Study[DefencesRecord]


@dataclass
class Defences:
    """The plug-in: every contender answers every question under every condition."""

    request: DefencesRequest
    settings: Settings
    engine: Engine
    models: Models

    files = FILES

    def describe(self) -> DefencesRecord:
        """The record of this run alone."""
        request = self.request
        searches = request.surface == Surface.CORPUS.value
        return DefencesRecord(
            **request.common(self.models, self.settings),
            questions=len(request.histories),
            snapshots=sum(map(len, request.histories)),
            conditions=request.conditions,
            contenders=request.contenders,
            statistics=describe(request.dataset),
            surface=request.surface,
            definition=request.definition,
            searched=len(request.searched) if searches else 0,
            reranker=choice_of(self.settings),
            notes=(
                *notes_on_production(request.contenders),
                *request.notes,
                *notes_on_reranking(self.settings),
            ),
            asked=tuple(history[0].query.id for history in request.histories),
            code={
                contender.name: code_digest(contender, build_reranker_of(self.settings))
                for contender in request.contenders
            },
        )

    def code(self, record: DefencesRecord) -> Mapping[str, str | None]:
        """One digest per contender; None for one that can no longer be built."""
        found: dict[str, str | None] = {}
        for contender in record.contenders:
            try:
                found[contender.name] = code_digest(contender, build_reranker_of(self.settings))
            except ConfigurationError:
                found[contender.name] = None
        return found

    def plan(self, study: DefenceStudy) -> Iterator[Batch]:
        """Attack the questions and count what is left to answer; the iterator answers it."""
        reference = reference_among(study.record.contenders, self.request.reference)
        runner = Runner(self.request, self.settings, self.engine, study)
        if isinstance(self.models.generator, LabelReader):
            self.models.generator.learn(chain.from_iterable(runner.histories.values()))
        owed = {c.name: sum(map(len, found)) for c, found in runner.histories.items()}
        study.update(reference=reference, owed=study.record.owed | owed)
        return runner.run()

    def judged(self, study: DefenceStudy, judge: Generator) -> None:
        """What the judge says of every answer, written down."""
        histories = self.request.histories
        questions = {history[0].query.id: history[0].query.text for history in histories}
        long_form = {history[0].query.id for history in histories if history[0].query.long_form}
        answers = [
            JudgedAnswer(
                row.contender,
                row.condition,
                row.query_id,
                row.labels,
                row.response,
                row.error,
                row.step,
            )
            for row in counted(study.store, study.record, Row)
        ]
        study.judge(answers, questions, judge, long_form)


def choice_of(settings: Settings) -> str:
    """Who chooses the documents that contenders see, with the options; empty for nobody."""
    return settings.retrieval.model_dump_json() if settings.retrieval.name else ""


def notes_on_reranking(settings: Settings) -> tuple[str, ...]:
    """That contenders do not see all documents, where a reranker chooses."""
    retrieval = settings.retrieval
    if not retrieval.name:
        return ()
    return (
        f"the reranker {retrieval.name} chose at most {retrieval.keep} documents of each snapshot: "
        "all contenders saw these, attacked steps included, at their new ranks; what it asked is "
        "in no contender's cost",
    )


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
