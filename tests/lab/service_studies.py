"""Small studies of a service for tests: towns, a proxy of known ranks, models that log."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from radarstream.connectors.models.scripted import (
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.connectors.state_table.database.engine import open_engine, sqlite_url
from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.attacks.service.protocol import MaskedDocument, World
from radarstream.lab.attacks.service.registry import parse_streams
from radarstream.lab.service.policies import parse_policies
from radarstream.lab.service.study import Services
from radarstream.lab.study.datasets import Dataset, digest_of
from radarstream.lab.study.harness import Study
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.prompt import ContinuationQuery, Prompt
from radarstream.schemas.snapshot import Document
from tests.lab.attribution_studies import WordEmbedder, asked, obedient, towns

TEXT = "alpha bravo charlie dover echo foxtrot golf hotel india juliett kilo lima mike november"
RIVER = (
    "water",
    "flows",
    "between",
    "meadows",
    "towards",
    "distant",
    "harbours",
    "slowly",
    "north",
)
SPANS = ((0, 5), (20, 25), (39, 43), (56, 63))


def masked_document(id_: str = "d-1", *, member: bool = True) -> MaskedDocument:
    """A document with four hidden words: alpha, dover, golf and juliett."""
    return MaskedDocument(id_, TEXT, SPANS, member)


def world(**more: Any) -> World:
    """Three towns and two documents to probe for."""
    documents = (masked_document(), masked_document("d-2", member=False))
    return World(Questions.of(towns()), **{"masked": documents, **more})


@dataclass
class LengthProxy:
    """A proxy that ranks words by their length."""

    model_id: str = "length"
    asked: list[str] = field(default_factory=list)

    def ranks(self, queries: Sequence[ContinuationQuery]) -> list[np.ndarray]:
        """The length of the word."""
        self.asked += [prompt.passages[0] for query in queries for prompt in query.prompts]
        return [np.full(len(q.prompts), float(len(q.continuation))) for q in queries]


def leaky(prompt: Prompt) -> str:
    """Fills in the first hidden word from a passage with the text before it; else `obedient`."""
    _, asked, text = prompt.question.partition("The text is: ")
    before = text.partition("[Mask_")[0]
    if not asked:
        return obedient(prompt)
    for passage in prompt.passages:
        if before and before in passage:
            return passage.split(before, 1)[1].split()[0].strip(".,:")
    return "I don't know"


def lands() -> Dataset:
    """The towns, and pages about rivers, each with words of its own, that answer no question."""
    histories = []
    for number, (snapshot,) in enumerate(towns().histories):
        pages = [
            Document(7 + page, " ".join(f"{word}{'xyz'[number]}{'abcdef'[page]}" for word in RIVER))
            for page in range(6)
        ]
        histories.append((replace(snapshot, documents=(*snapshot.documents, *pages)),))
    return Dataset("lands", tuple(histories), digest_of(histories))


@dataclass
class Bench:
    """A directory and models that log what reaches them."""

    out: Path
    generator: ScriptedGenerator = field(default_factory=lambda: ScriptedGenerator(script=leaky))
    embedder: WordEmbedder = field(default_factory=WordEmbedder)
    proxy: Any = field(default_factory=LengthProxy)

    @property
    def models(self) -> Models:
        tokens = ScriptedTokens(ScriptedGenerator(script=obedient))
        return Models(self.generator, ScriptedRelations(), self.embedder, tokens)

    def study(self, attacks: str = "", policies: str = "", **options: Any) -> Study:
        self.out.mkdir(exist_ok=True)
        settings = load_settings(
            profile="scripted", defense={"name": "vanilla"}, reading={"windows": 0}
        )
        request, own = asked(options, settings, {"k": 3, "members": 2, "others": 2})
        kind = Services(
            request,
            self.models,
            open_engine(sqlite_url(self.out / "state.sqlite")),
            streams=parse_streams(attacks),
            policies=parse_policies(policies),
            proxy=self.proxy,
            **own,
        )
        return Study(kind, self.out)

    def run(self, attacks: str = "", policies: str = "", **options: Any) -> Study:
        study = self.study(attacks, policies, **options)
        study.run()
        return study


def all_of(study: Study, kind: type[Any]) -> list[Any]:
    return list(study.store.of(kind).values())
