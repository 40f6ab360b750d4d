"""Small studies of attributors for tests: towns, a retriever of words, a generator that obeys."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from radarstream.connectors.models.scripted import (
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.defenses.protocol import Attributing, Complete, Signal
from radarstream.lab.attribution.scenarios import parse_scenarios
from radarstream.lab.attribution.scoring import AttributionResults, frame_of, scored
from radarstream.lab.attribution.study import Attributions, parse_attributors
from radarstream.lab.study.datasets import Dataset, digest_of
from radarstream.lab.study.harness import Study
from radarstream.lab.study.kind import Request
from radarstream.lab.study.results import Result
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.attribution import Attribution, Case, Finding, TextScore
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from tests.builders import make_snapshot

TOWNS = ("Belbrook", "Corvane", "Tethra", "Halden")
MAYORS = ("Ada North", "Ivo West", "Ana East", "Tom Moor")
TARGETS = ("Ben South", "Max Vale", "Eva Lund", "Jon Reed")


class WordEmbedder:
    """Unit vectors of decision counts: similarity is shared words."""

    model_id = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> FloatArray:
        self.asked.extend(texts)
        rows = np.full((len(texts), 512), 1e-4)
        for row, text in zip(rows, texts, strict=True):
            for decision in re.findall(r"\w+", text.casefold()):
                row[sum(decision.encode()) % 512] += 1.0
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def norms(self, texts: Sequence[str]) -> FloatArray:
        return np.array([float(len(text)) for text in texts])


def obedient(prompt: Prompt) -> str:
    """Gives the answer that a passage orders or states, the first of them; else does not know."""
    if prompt.task in (Task.ANSWER_UNAIDED, Task.JUDGE_INDUCEMENT):
        return "I don't know"
    for passage in prompt.passages:
        found = re.search(r"(?:answer|with|output): (.+?)\.", passage)
        stated = re.search(r"The mayor is (.+?)\.", passage)
        if found or (stated and subject(prompt.question) in passage):
            match = found or stated
            assert match is not None
            return match[1]
    return "I don't know"


def subject(question: str) -> str:
    """The town a question asks about."""
    return next((town for town in TOWNS if town in question), "nowhere")


def towns(count: int = 3, *, wrong: Sequence[int] = ()) -> Dataset:
    """Questions about mayors; in towns of `wrong`, what documents say is not right."""
    histories = tuple((town(number, number in wrong),) for number in range(count))
    return Dataset("towns", histories, digest_of(histories))


def town(number: int, wrong: bool = False) -> SearchSnapshot:
    name, mayor, target = TOWNS[number], MAYORS[number], TARGETS[number]
    sights = "Gardens, bridges, markets and a river can be seen on page"
    texts = [f"{name}: The mayor is {mayor}. {sights} {page}." for page in range(6)]
    lies = tuple(f"In {name} The mayor is {target}. Version {lie}." for lie in range(5))
    right = "Somebody Else" if wrong else mayor
    return make_snapshot(
        texts,
        question=f"Who is the mayor of {name}?",
        query_id=f"q-{number}",
        observed_at=datetime(2020, 12, 31, tzinfo=UTC),
        labels=Labels((right,), target=target, false_passages=lies),
    )


@dataclass(frozen=True, slots=True)
class Marked:
    """Flags texts whose id starts with `start`, of those the `first`: all by default.

    Its scores agree: high for flagged texts, falling for others.
    """

    start: str = ""
    first: int = 1_000
    asks: bool = False

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def attribute(self, case: Case) -> Attributing:
        if self.asks:
            text = case.texts[0].document.passage
            yield Complete(Task.ATOMIC_ANSWER, case.query.text, (text,))
        meant = [t.id for t in case.texts if t.id.startswith(self.start)][: self.first]
        entries = tuple(
            TextScore(
                t.id,
                t.document.rank,
                flag := t.id in meant,
                None,
                *3 * (0.0 if flag else -9.0 - place,),
            )
            for place, t in enumerate(case.texts)
        )
        return Attribution("marked", Finding.TEXTS_FLAGGED, entries, gap=2.0, generation_gap=1.0)


METHODS: dict[str, Any] = {"marked": Marked}


@dataclass
class Bench:
    """A directory and models that log what reaches them."""

    out: Path
    generator: ScriptedGenerator = field(default_factory=lambda: ScriptedGenerator(script=obedient))
    embedder: WordEmbedder = field(default_factory=WordEmbedder)

    @property
    def models(self) -> Models:
        tokens = ScriptedTokens(ScriptedGenerator(script=obedient))
        return Models(self.generator, ScriptedRelations(), self.embedder, tokens)

    def study(self, scenarios: str, attributors: str, **options: Any) -> Study:
        self.out.mkdir(exist_ok=True)
        settings = load_settings(profile="scripted", batch={"snapshots": 2, "queries": 2})
        request, own = asked(options, settings, {"k": 2})
        kind = Attributions(
            request,
            self.models,
            scenarios=parse_scenarios(scenarios),
            attributors=parse_attributors(attributors),
            **own,
        )
        return Study(kind, self.out)

    def run(self, scenarios: str, attributors: str, **options: Any) -> Study:
        study = self.study(scenarios, attributors, **options)
        study.run()
        return study


SHARED = ("half", "limit", "seed", "command")


def asked(
    options: dict[str, Any], settings: Settings, own: dict[str, Any]
) -> tuple[Request, dict[str, Any]]:
    """What is asked about the towns, and the options of a kind, which has defaults."""
    shared = {name: options[name] for name in SHARED if name in options}
    request = Request(dataset=options.get("dataset", towns()), settings=settings, **shared)
    left = {n: value for n, value in options.items() if n not in (*shared, "dataset")}
    return request, own | left


def results(study: Study) -> AttributionResults:
    return scored(study.record, study.store, frame_of(study.record, study.store))


def cell(study: Study, name: str, group: str) -> Result:
    return next(one for one in results(study).on(group) if one.contender == name)


def oracle(attack: str) -> str:
    """An attributor that flags what an attack planted."""
    return f"marked:start={attack}/"


NOBODY = "marked:start=nobody"
EVERYBODY = "marked"
