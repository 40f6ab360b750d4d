"""Small experiments for tests: questions about cups, models by rule, one directory each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.lab.attacks.conditions import parse_condition
from radarstream.lab.defences.contenders import parse_contenders
from radarstream.lab.defences.records import FILES, EvidenceRow, Key, Row, counted
from radarstream.lab.defences.scores import DefenceResults
from radarstream.lab.defences.study import Defences
from radarstream.lab.pages.defences import DEFENCES
from radarstream.lab.study.datasets import Dataset, History, digest_of
from radarstream.lab.study.harness import Study
from radarstream.lab.study.kind import Request
from radarstream.lab.study.record import StudyRecord, read_record
from radarstream.lab.study.rows import RowStore
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.signals.ports import Generator, Model, Models, TokenScorer
from radarstream.schemas.snapshot import Labels
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import last_words

WINNERS = ("Rome", "Bern", "Oslo", "Cork", "Graz")


def make_history(number: int, winners: Sequence[str], *, said: int = 3) -> History:
    """A question whose right answer at each step is in `winners`; `said` documents say so."""
    lies = (f"The winner of {number}: Faro.",)
    return tuple(
        make_snapshot(
            [f"Page {page} of {number}: {winner}." for page in range(said)],
            question=f"Who won cup {number}?",
            query_id=f"cup-{number}",
            observed_at=OBSERVED_AT + timedelta(days=365 * step),
            labels=Labels((winner,), target="Faro", false_passages=lies),
        )
        for step, winner in enumerate(winners)
    )


def make_dataset(*histories: History) -> Dataset:
    """A data set of these histories."""
    return Dataset("cups", histories, digest_of(histories))


def static_dataset(questions: int = 4, said: int = 3) -> Dataset:
    """Questions that are asked once."""
    return make_dataset(
        *(make_history(n, [WINNERS[n % len(WINNERS)]], said=said) for n in range(questions))
    )


class Experiment(Study):
    """A study of defences, with its rows at hand."""

    @property
    def answered(self) -> list[Row]:
        return counted(self.store, self.record, Row)

    @property
    def evidence(self) -> list[EvidenceRow]:
        return counted(self.store, self.record, EvidenceRow)

    def results(self, judge: Generator | None = None) -> DefenceResults:
        if judge is not None:
            self.judge(judge)
        return DEFENCES.report(self.out, self.record, self.store).results


@dataclass
class Bench:
    """A directory, models that log what reaches them, and a cache that outlives each run."""

    out: Path
    generator: ScriptedGenerator = field(
        default_factory=lambda: ScriptedGenerator(script=last_words)
    )
    relations: ScriptedRelations = field(default_factory=ScriptedRelations)
    embedder: ScriptedEmbedder = field(default_factory=ScriptedEmbedder)
    tokens: TokenScorer | None = None
    reading: dict[str, int] = field(default_factory=dict)
    retrieval: dict[str, Any] = field(default_factory=dict)
    gradients: Model | None = None

    @property
    def settings(self) -> Settings:
        return load_settings(
            profile="scripted",
            database=f"sqlite:///{self.out / 'state.sqlite'}",
            batch={"snapshots": 2, "queries": 3},
            reading=self.reading,
            retrieval=self.retrieval,
        )

    def experiment(
        self,
        dataset: Dataset,
        contenders: str | Sequence[Spec] = "radar,vanilla",
        conditions: Sequence[str] = ("benign", "pia@1"),
        **options: Any,
    ) -> Experiment:
        self.out.mkdir(parents=True, exist_ok=True)
        listed = parse_contenders(contenders) if isinstance(contenders, str) else contenders
        of_kind = {"reference": listed[0].name, "k": 10, "insisted": contenders, "reader": None}
        of_kind = {name: options.pop(name, value) for name, value in of_kind.items()}
        if not isinstance(of_kind["insisted"], str):
            of_kind["insisted"] = "all"
        request = Request(dataset=dataset, settings=self.settings, **options)
        cache = ResponseCache(open_engine(self.settings.database))
        models = Models(
            Cached(self.generator, cache),
            Cached(self.relations, cache),
            Cached(self.embedder, cache),
            tokens=self.tokens,
            plugins={} if self.gradients is None else {"gradients": self.gradients},
        )
        conditions = [*map(parse_condition, conditions)]
        kind = Defences(request, conditions, listed, models=models, **of_kind)
        return Experiment(kind, self.out)

    def run(self, *arguments: Any, **options: Any) -> Experiment:
        experiment = self.experiment(*arguments, **options)
        experiment.run()
        return experiment

    def calls(self) -> int:
        """Requests that reached a model so far."""
        logs: list[list[Any]] = [self.generator.log, self.relations.log, self.embedder.log]
        return sum(len(batch) for log in logs for batch in log)


def answers(experiment: Experiment, contender: str, condition: str) -> list[str | None]:
    """The responses of one cell in the order of questions and steps."""
    rows = cell_rows(experiment, contender, condition)
    return [row.response for row in rows]


def cell_rows(experiment: Experiment, contender: str, condition: str) -> list[Row]:
    rows = [r for r in experiment.answered if (r.contender, r.condition) == (contender, condition)]
    return sorted(rows, key=lambda row: (row.query_id, row.step))


def read_rows(out: Path) -> dict[Key, Row]:
    """The stored rows of a study."""
    return RowStore(out, FILES).of(Row)


def read_evidence(out: Path) -> dict[tuple[str, str, int], EvidenceRow]:
    """The stored evidence of a study."""
    return RowStore(out, FILES).of(EvidenceRow)


def stored_record(out: Path) -> StudyRecord:
    """The stored record of a study."""
    record = read_record(out)
    assert record is not None
    return record
