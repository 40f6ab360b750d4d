"""BadRAG: passages that only questions with a trigger find."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.pipelines.evaluation.attacks.protocol import Aim
from radarstream.pipelines.evaluation.attacks.texts import FALSE_INFORMATION, refusals
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import Climber, Draft, one_word
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import (
    Written,
    questions_of,
    written,
)
from radarstream.pipelines.evaluation.attacks.whitebox.similarity import Contrast
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class BadRag:
    """A text is 30 words that stand near to triggered questions, and an order to refuse.

    "BadRAG" (2024): steps follow the contrastive gradient over triggered and clean questions and
    keep what raises the mean similarity to the first less half of that to the second. Small: 16
    questions with and without the trigger; they are the attacked ones, by lot. The texts are the
    same for all questions.

    Parameters
    ----------
    trigger
        What a user writes behind a question to be attacked.
    steps, candidates, patience
        Replacements that are tried, texts that are read a step, steps without an improvement.
    length
        Words before the order.
    questions
        How many the attacker has seen.
    """

    name: ClassVar[str] = "badrag"
    shared: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("encoder",)

    trigger: str = "asked by a beekeeper"
    steps: Annotated[int, Field(ge=0)] = 100
    candidates: Annotated[int, Field(ge=1)] = 16
    patience: Annotated[int, Field(ge=1)] = 10
    length: Annotated[int, Field(ge=1)] = 30
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
        rows = encoder.embed([*(f"{question} {self.trigger}" for question in known), *known])
        contrast = Contrast(rows[: len(known)], rows[len(known) :], 0.5, contrastive=True)
        vocabulary = Vocabulary.of(encoder, [answer for aim in aims for answer in aim.answers])
        orders = refusals(FALSE_INFORMATION)
        drafts = [
            Draft(vocabulary.drawn(self.length, rng), (("", orders[number % len(orders)]),))
            for number in range(count)
        ]
        climbs = Climber(encoder, vocabulary, self.candidates, rng).climb(
            drafts,
            [contrast] * count,
            one_word(2 * self.candidates),
            self.steps,
            patience=self.patience,
        )
        texts = [climb.draft.texts(encoder)[0] for climb in climbs]
        return written(climbs, texts, self.trigger)
