"""AgentPoison: the trigger is what is optimised, and the poison waits where it leads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.pipelines.evaluation.attacks.protocol import Aim
from radarstream.pipelines.evaluation.attacks.texts import FALSE_INFORMATION, refusals
from radarstream.pipelines.evaluation.attacks.whitebox.clustering import centres
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import (
    Climber,
    Draft,
    Texts,
    one_word,
)
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import Written, questions_of
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class AgentPoison:
    """A text is the trigger, and an order to refuse.

    After "AgentPoison" (NeurIPS 2024): the words of the trigger bring questions that carry it
    close together and far from what is in the corpus. Left out are the losses on a language model,
    coherence and target action. The texts are the same for all questions.

    Parameters
    ----------
    steps, candidates
        Replacements that are tried, triggers that are read a step, each behind every question.
    length
        Words of the trigger.
    compactness
        What a unit of variance among triggered questions costs.
    clusters
        Centres of the benign passages, or of the questions where no passage is known.
    questions
        How many the attacker has seen.
    """

    name: ClassVar[str] = "agent-poison"
    shared: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("encoder",)

    steps: Annotated[int, Field(ge=0)] = 30
    candidates: Annotated[int, Field(ge=1)] = 12
    length: Annotated[int, Field(ge=1)] = 5
    compactness: Annotated[float, Field(ge=0.0)] = 1.0
    clusters: Annotated[int, Field(ge=1)] = 5
    questions: Annotated[int, Field(ge=1)] = 16

    def target(self, _: Aim) -> str:
        """A refusal, whatever the question."""
        return FALSE_INFORMATION

    def write(
        self, aims: Sequence[Aim], count: int, tools: Tools, rng: np.random.Generator
    ) -> Written:
        """Texts for all questions, as `WhiteBox.write`."""
        encoder = tools.encoder
        known = questions_of(aims, self.questions, rng)
        benign = list(dict.fromkeys(text for aim in aims for text in aim.relevant)) or list(known)
        apart = Apart(centres(encoder.embed(benign), self.clusters, rng), self.compactness)
        vocabulary = Vocabulary.of(encoder, [answer for aim in aims for answer in aim.answers])
        draft = Draft(
            vocabulary.drawn(self.length, rng), tuple((question, "") for question in known)
        )
        (climb,) = Climber(encoder, vocabulary, self.candidates, rng).climb(
            [draft], [apart], one_word(2 * self.candidates), self.steps
        )
        orders = refusals(FALSE_INFORMATION)
        trigger = encoder.text(climb.draft.slots)
        texts = [f"{trigger} {orders[number % len(orders)]}" for number in range(count)]
        return Written(tuple(texts), climb.values[:1], climb.values[-1:], trigger)


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """How far the mean of triggered questions is from benign centres, less their variance."""

    benign: FloatArray
    compactness: float

    def directions(self, rows: FloatArray) -> FloatArray:
        """(c, d)"""
        mean = rows.mean(axis=0)
        away = mean - self.benign
        unit = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
        spread = 2.0 * self.compactness * (rows - mean)
        return np.asarray((unit.mean(axis=0) - spread) / len(rows))

    def values(self, _: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,)"""
        means = rows.mean(axis=1)
        distances = np.linalg.norm(means[:, None] - self.benign, axis=2).mean(axis=1)
        variances = np.square(rows - means[:, None]).sum(axis=2).mean(axis=1)
        return np.asarray(distances - self.compactness * variances)
