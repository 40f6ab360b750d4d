"""LIAR: one tag of words for the retriever, one for the generator, in turn."""

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
    words_by_lot,
)
from radarstream.pipelines.evaluation.attacks.whitebox.persuasion import Persuasion
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import Written, payloads
from radarstream.pipelines.evaluation.attacks.whitebox.similarity import Nearness
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Liar:
    """A text is a tag for the generator, a tag for the retriever, the question, a false passage.

    LIAR-RAG as the ProGRank paper sets it up: tags of 16 words each, improved in turn. The steps
    for the retriever are HotFlip on the similarity. Those for the generator replace words by lot
    and keep what makes the target more probable, where the published attack follows gradients of
    the language model; 128 epochs of 128 candidates there, `cycles` here. Without a model that
    tells token probabilities, or with `generator_steps` 0, only the retriever is attacked.

    Parameters
    ----------
    cycles
        How often the tags take turns.
    retriever_steps, generator_steps
        Steps for a tag in each turn.
    candidates, samples
        Texts that are read a step, by the retriever and by the generator.
    tag
        Words of each tag.
    """

    name: ClassVar[str] = "liar"
    shared: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("encoder", "tokens")

    cycles: Annotated[int, Field(ge=0)] = 4
    retriever_steps: Annotated[int, Field(ge=0)] = 8
    generator_steps: Annotated[int, Field(ge=0)] = 1
    candidates: Annotated[int, Field(ge=1)] = 8
    samples: Annotated[int, Field(ge=1)] = 4
    tag: Annotated[int, Field(ge=1)] = 16

    def target(self, aim: Aim) -> str:
        """The target that the data name."""
        return wanted(aim)

    def write(
        self, aims: Sequence[Aim], count: int, tools: Tools, rng: np.random.Generator
    ) -> Written:
        """Texts on one question, as `WhiteBox.write`."""
        (aim,) = aims
        encoder = tools.encoder
        vocabulary = Vocabulary.of(encoder, aim.answers)
        behind = payloads(aim, count)
        near = Nearness(encoder.embed([aim.question])[0])
        start = [
            Draft(vocabulary.drawn(2 * self.tag, rng), (("", f"{aim.question} {passage}"),))
            for passage in behind
        ]
        drafts = list(start)
        places = range(self.tag, 2 * self.tag)
        climber = Climber(encoder, vocabulary, self.candidates, rng)
        speaker = Climber(encoder, vocabulary, self.samples, rng)
        for _ in range(self.cycles):
            flips = one_word(2 * self.candidates, places)
            climbs = climber.climb(drafts, [near] * count, flips, self.retriever_steps)
            drafts = [climb.draft for climb in climbs]
            if tools.tokens is not None and self.generator_steps:
                persuasions = [Persuasion(tools.tokens, aim.question, aim.target) for _ in drafts]
                lots = words_by_lot(self.samples, range(self.tag))
                climbs = speaker.climb(drafts, persuasions, lots, self.generator_steps)
                drafts = [climb.draft for climb in climbs]
        texts = [draft.texts(encoder)[0] for draft in drafts]
        rows = encoder.embed([draft.texts(encoder)[0] for draft in start] + texts)
        values = (rows @ near.questions).tolist()
        return Written(tuple(texts), tuple(values[:count]), tuple(values[count:]))
