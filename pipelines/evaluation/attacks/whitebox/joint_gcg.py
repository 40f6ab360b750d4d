"""Joint-GCG: one tag for retriever and generator, weighed by how well the text is retrieved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.pipelines.evaluation.attacks.protocol import Aim, wanted
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import (
    Climber,
    Draft,
    Texts,
    several_words,
)
from radarstream.pipelines.evaluation.attacks.whitebox.persuasion import Persuasion
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import Written, payloads
from radarstream.pipelines.evaluation.attacks.whitebox.similarity import Nearness
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import STRICT

_FILLER = "!"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class JointGcg:
    """A text is a tag of exclamation marks that change into words, the question, a false passage.

    "Joint-GCG" without its joint gradient, which needs one vocabulary for both models: words are
    proposed by the retriever's gradient alone, and both models judge the proposals. The weight of
    the retriever adapts to its scores. Published: 64 epochs of 128 proposals. Without a model that
    tells token probabilities only the retriever is attacked.

    Parameters
    ----------
    steps
        Epochs. Epoch i changes max(tag / 2^(i + 1), 2) words at once, counted from 0.
    candidates
        Proposals an epoch.
    top
        Words that a place may change to.
    tag
        Words of the tag.
    keep
        K: a text that is not among so many nearest benign passages is not retrieved.
    """

    name: ClassVar[str] = "joint-gcg"
    shared: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("encoder", "tokens")

    steps: Annotated[int, Field(ge=0)] = 32
    candidates: Annotated[int, Field(ge=1)] = 8
    top: Annotated[int, Field(ge=1)] = 16
    tag: Annotated[int, Field(ge=1)] = 32
    keep: Annotated[int, Field(ge=1)] = 5

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
        others = sorted((float(row @ question) for row in benign), reverse=True)[: self.keep]
        (filler,) = encoder.tokens([_FILLER])
        start = [
            Draft(filler * self.tag, (("", f"{aim.question} {passage}"),)) for passage in behind
        ]
        drafts = list(start)
        near = Nearness(question)
        objectives = [
            near
            if tools.tokens is None
            else Joint(near, Persuasion(tools.tokens, aim.question, aim.target), tuple(others))
            for _ in drafts
        ]
        climber = Climber(encoder, Vocabulary.of(encoder, aim.answers), self.candidates, rng)
        for epoch in range(self.steps):
            changed = max(self.tag // 2 ** (epoch + 1), 2)
            proposals = several_words(self.candidates, changed, self.top)
            climbs = climber.climb(drafts, objectives, proposals, 1)
            drafts = [climb.draft for climb in climbs]
        texts = [draft.texts(encoder)[0] for draft in drafts]
        rows = encoder.embed([draft.texts(encoder)[0] for draft in start] + texts)
        values = (rows @ question).tolist()
        return Written(tuple(texts), tuple(values[:count]), tuple(values[count:]))


@dataclass(frozen=True, slots=True)
class Joint:
    """What both models make of each text, weighed; each brought to the range of the proposals."""

    near: Nearness
    persuasion: Persuasion
    others: tuple[float, ...]

    def directions(self, rows: FloatArray) -> FloatArray:
        """The retriever's."""
        return self.near.directions(rows)

    def values(self, texts: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,)"""
        similar = self.near.values(texts, rows)
        weight = adaptive_weight(float(similar[0]), self.others)
        persuading = self.persuasion.values(texts, rows)
        return np.asarray(weight * _in_range(similar) + (1.0 - weight) * _in_range(persuading))


def adaptive_weight(poison: float, others: Sequence[float]) -> float:
    """The retriever's share r of an objective.

    1 - sigmoid((poison - best other) / mean gap between neighbouring others), where `others` are
    the similarities of the benign passages that are retrieved; 1 where the poison is below all of
    them, and not retrieved. Without a gap the poison is ahead or not: 0, or 1.

    >>> round(adaptive_weight(0.80, (0.70, 0.66, 0.60, 0.56)), 6)
    0.105001
    """
    ranked = sorted(others, reverse=True)
    if not ranked:
        return 0.0
    if poison < ranked[-1]:
        return 1.0
    gap = (ranked[0] - ranked[-1]) / max(1, len(ranked) - 1)
    ahead = poison - ranked[0]
    if gap <= 0.0:
        return 0.0 if ahead > 0.0 else 1.0
    return float(1.0 / (1.0 + np.exp(np.clip(ahead / gap, -50.0, 50.0))))


def _in_range(values: FloatArray) -> FloatArray:
    """(x - mean) / (max - min); zeros where all are equal."""
    spread = values.max() - values.min()
    if spread <= 0.0:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread)
