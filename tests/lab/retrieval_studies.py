"""Small studies of rerankers for tests: towns, a retriever of words, rerankers of the tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from radarstream.connectors.models.scripted import (
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.defenses.protocol import Complete, Reordering
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.models.scripted_networks import (
    ScriptedAttention,
    ScriptedGradients,
    ScriptedMasked,
)
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.lab.retrieval.pools import parse_conditions
from radarstream.lab.retrieval.rerankers import parse_rerankers
from radarstream.lab.retrieval.scoring import RetrievalResults, frame_of, scored
from radarstream.lab.retrieval.study import Retrieval
from radarstream.lab.study.halves import Split
from radarstream.lab.study.harness import Study
from radarstream.lab.study.results import Result
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import CandidatePool
from tests.lab.attribution_studies import WordEmbedder, asked, obedient


@dataclass(frozen=True, slots=True)
class DropSaying:
    """Drops candidates that hold a word; with `asks` it asks the language model first."""

    word: str = "Version"
    asks: bool = False

    needs: ClassVar[frozenset[str]] = frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        pool = checked_pool(pool)
        if self.asks:
            yield Complete(Task.ATOMIC_ANSWER, pool.query.text, (pool.documents[0].passage,))
        said = [self.word in document.passage for document in pool.documents]
        suspects = frozenset(place for place, found in enumerate(said) if found)
        return reranked("drop", pool, range(len(said)), suspects=suspects)


METHODS: dict[str, Any] = {"drop": DropSaying}


@dataclass
class Bench:
    """A directory and models that log what reaches them."""

    out: Path
    generator: ScriptedGenerator = field(default_factory=lambda: ScriptedGenerator(script=obedient))
    embedder: WordEmbedder = field(default_factory=WordEmbedder)
    gradients: ScriptedGradients = field(default_factory=ScriptedGradients)
    masked: ScriptedMasked = field(default_factory=ScriptedMasked)
    attention: ScriptedAttention = field(default_factory=ScriptedAttention)
    words: ScriptedWords | None = None  # the retriever as a white-box attacker knows it
    kept: Any = None

    @property
    def models(self) -> Models:
        tokens = ScriptedTokens(ScriptedGenerator(script=obedient))
        return Models(
            self.generator,
            ScriptedRelations(),
            self.embedder,
            tokens,
            {"gradients": self.gradients, "masked": self.masked, "attention": self.attention},
        )

    def study(self, attacks: str = "injection", rerankers: str = "drop", **options: Any) -> Study:
        self.out.mkdir(exist_ok=True)
        settings = load_settings(profile="scripted", batch={"snapshots": 2, "queries": 2})
        request, own = asked(options, settings, {"k": 3, "pool": 8, "split": Split.ALL})
        words = self.words
        kind = Retrieval(
            request,
            self.models,
            conditions=parse_conditions(attacks),
            rerankers=parse_rerankers(rerankers),
            tools=None if words is None else lambda: Tools(words),
            texts=self.kept,
            **own,
        )
        return Study(kind, self.out)

    def run(self, attacks: str = "injection", rerankers: str = "drop", **options: Any) -> Study:
        study = self.study(attacks, rerankers, **options)
        study.run()
        return study


def results(study: Study) -> RetrievalResults:
    return scored(study.record, study.store, frame_of(study.record, study.store))


def cell(study: Study, name: str, condition: str, before: str = "") -> Result:
    found = results(study)
    cells = found.answers[before] if before else found.cells
    return next(c for c in cells if (c.contender, c.condition) == (name, condition))


def all_of(study: Study, kind: type[Any]) -> Sequence[Any]:
    return list(study.store.of(kind).values())
