"""PoisonedRAG, white box: words before a false passage bring it next to the question."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.pipelines.evaluation.attacks.protocol import Aim, wanted
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import (
    Climber,
    Draft,
    one_word,
)
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import Written, payloads, written
from radarstream.pipelines.evaluation.attacks.whitebox.similarity import Nearness
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class HotFlip:
    """A text is the question, of which words are replaced, and a false passage behind it.

    "PoisonedRAG" (USENIX Security 2025), white box, after HotFlip (ACL 2018). Each step replaces
    one word at random so that the cosine of text and question grows. The published attack reads
    100 candidates a step; the default here is what two processor cores can do. Candidates are
    read anew as text, which the public code does not do, and hold no word of the right answer.

    Parameters
    ----------
    steps
        Replacements that are tried; with 0 the text is the question and the false passage.
    candidates
        Texts that are read a step.
    margin
        Stop where the similarity is so far above that of the nearest benign passage; None never
        stops.
    """

    name: ClassVar[str] = "hotflip"
    shared: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("encoder",)

    steps: Annotated[int, Field(ge=0)] = 30
    candidates: Annotated[int, Field(ge=1)] = 8
    margin: float | None = None

    def target(self, aim: Aim) -> str:
        """The target that the data name."""
        return wanted(aim)

    def write(
        self, aims: Sequence[Aim], count: int, tools: Tools, rng: np.random.Generator
    ) -> Written:
        """Texts on one question, as `WhiteBox.write`."""
        (aim,) = aims
        encoder = tools.encoder
        behind = payloads(aim, count)
        question, *benign = encoder.embed([aim.question, *aim.relevant])
        nearest = max((float(row @ question) for row in benign), default=-1.0)
        (start,) = encoder.tokens([aim.question])
        drafts = [Draft(start, (("", passage),)) for passage in behind]
        climber = Climber(encoder, Vocabulary.of(encoder, aim.answers), self.candidates, rng)
        climbs = climber.climb(
            drafts,
            [Nearness(question)] * count,
            one_word(2 * self.candidates),
            self.steps,
            enough=lambda value: self.margin is not None and value > nearest + self.margin,
        )
        return written(climbs, [climb.draft.texts(encoder)[0] for climb in climbs])
