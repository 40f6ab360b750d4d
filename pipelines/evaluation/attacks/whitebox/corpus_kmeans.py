"""Corpus poisoning: one passage a cluster of questions, near to all of them."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.pipelines.evaluation.attacks.protocol import Aim
from radarstream.pipelines.evaluation.attacks.texts import FALSE_INFORMATION, refusals
from radarstream.pipelines.evaluation.attacks.whitebox.clustering import centres
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import Climber, Draft, one_word
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import (
    Written,
    questions_of,
    written,
)
from radarstream.pipelines.evaluation.attacks.whitebox.similarity import Nearness
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class CorpusKmeans:
    """A text is words that stand near to a cluster of questions, and an order to refuse.

    Zhong et al., "Poisoning Retrieval Corpora by Injecting Adversarial Passages" (EMNLP 2023):
    questions are clustered by k-means, and HotFlip raises the mean similarity of a passage to
    those of one cluster. Published passages are 50 words without an order and take 5,000 steps.
    The attacked questions are the known ones. The texts are the same for all.

    Parameters
    ----------
    steps, candidates, length
        Replacements that are tried, texts that are read a step, words before the order.
    questions
        How many the attacker has seen.
    """

    name: ClassVar[str] = "corpus-kmeans"
    shared: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("encoder",)

    steps: Annotated[int, Field(ge=0)] = 100
    candidates: Annotated[int, Field(ge=1)] = 16
    length: Annotated[int, Field(ge=1)] = 30
    questions: Annotated[int, Field(ge=1)] = 1_000

    def target(self, _: Aim) -> str:
        """A refusal, whatever the question."""
        return FALSE_INFORMATION

    def write(
        self, aims: Sequence[Aim], count: int, tools: Tools, rng: np.random.Generator
    ) -> Written:
        """One text a cluster, as `WhiteBox.write`."""
        encoder = tools.encoder
        known = questions_of(aims, self.questions, rng)
        found = centres(encoder.embed(known), count, rng)
        vocabulary = Vocabulary.of(encoder, [answer for aim in aims for answer in aim.answers])
        orders = refusals(FALSE_INFORMATION)
        drafts = [
            Draft(vocabulary.drawn(self.length, rng), (("", orders[number % len(orders)]),))
            for number in range(count)
        ]
        near = [Nearness(found[number % len(found)]) for number in range(count)]
        climbs = Climber(encoder, vocabulary, self.candidates, rng).climb(
            drafts, near, one_word(2 * self.candidates), self.steps
        )
        return written(climbs, [climb.draft.texts(encoder)[0] for climb in climbs])
