"""The attacker who knows the reranker: HotFlip on similarity less the expected penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, cast

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import ProbeGradients
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.retrieval.registry import build_reranker
from radarstream.pipelines.evaluation.attacks.protocol import Aim, wanted
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import (
    Climber,
    Draft,
    Texts,
    one_word,
)
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import Written, payloads, written
from radarstream.pipelines.evaluation.attacks.whitebox.similarity import Nearness
from radarstream.pipelines.signals.ports import GradientEncoder
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.snapshot import STRICT, Document, Query

_OPEN: Final = 1e9  # a gate temperature at which the gate is the same for every similarity,
_SHARE: Final = 0.5  # and lets through this share of the penalty


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Evasive:
    """A text as HotFlip's that also keeps its gradient steady, so that ProGRank trusts it.

    The paper asks for such an attack and gives none; this one is ours. The objective is the
    similarity less `weight` times P_dr + P_rep, estimated from `runs` disturbed passes with a seed
    of the attacker's own. Replacements are proposed by the gradient of the similarity; the penalty
    is asked for of the most similar ones.

    Parameters
    ----------
    weight
        Lambda, what a unit of the penalty costs.
    runs
        R' of the attacker; the defence makes more.
    steps, candidates, probed
        Replacements that are tried, texts that are read a step, and of these the most similar
        ones whose penalty is asked for.
    seed
        Of the attacker's disturbances; he does not know that of the defence.
    """

    name: ClassVar[str] = "evasive"
    shared: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("encoder", "gradients")

    weight: Annotated[float, Field(ge=0.0)] = 0.5
    runs: Annotated[int, Field(ge=2)] = 4
    steps: Annotated[int, Field(ge=0)] = 15
    candidates: Annotated[int, Field(ge=1)] = 8
    probed: Annotated[int, Field(ge=1)] = 4
    seed: Annotated[int, Field(ge=0)] = 1_000_003

    def target(self, aim: Aim) -> str:
        """The target that the data name."""
        return wanted(aim)

    def write(
        self, aims: Sequence[Aim], count: int, tools: Tools, rng: np.random.Generator
    ) -> Written:
        """Texts on one question, as `WhiteBox.write`."""
        if tools.gradients is None:
            raise ConfigurationError(
                f"{self.name} needs gradients, which no configured model tells"
            )
        (aim,) = aims
        encoder = tools.encoder
        behind = payloads(aim, count)
        (start,) = encoder.tokens([aim.question])
        drafts = [Draft(start, (("", passage),)) for passage in behind]
        near = Nearness(encoder.embed([aim.question])[0])
        options = {"runs": self.runs, "seed": self.seed, "gate_temperature": _OPEN}
        penalty = Penalty(build_reranker("prog_rank", options), tools.gradients, aim.question)
        objective = Evading(near, penalty, self.weight / _SHARE, self.probed)
        climber = Climber(encoder, Vocabulary.of(encoder, aim.answers), self.candidates, rng)
        climbs = climber.climb(
            drafts, [objective] * count, one_word(2 * self.candidates), self.steps
        )
        return written(climbs, [climb.draft.texts(encoder)[0] for climb in climbs])


@dataclass(frozen=True, slots=True)
class Penalty:
    """What a reranker takes off the similarity of texts to a question; each is judged once."""

    method: RetrievalDefense
    gradients: GradientEncoder
    question: str
    _known: dict[str, float] = field(default_factory=dict, init=False)

    def of(self, texts: Sequence[str]) -> FloatArray:
        """(m,) Raises ModelError."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            # Rerankers leave a single candidate alone, so that one gets company.
            judged = new if len(new) > 1 else [*new, self.question]
            for candidate in self._reranked(judged).candidates:
                text = judged[candidate.found_rank - 1]
                self._known[text] = candidate.penalty or 0.0
        return np.array([self._known[text] for text in texts])

    def _reranked(self, texts: Sequence[str]) -> Reranking:
        pool = CandidatePool(
            Query("evaded", self.question),
            tuple(Document(rank, text) for rank, text in enumerate(texts, start=1)),
            (0.0,) * len(texts),
            len(texts),
        )
        asking = self.method.rerank(pool)
        try:
            request = next(asking)
            while True:
                if not isinstance(request, ProbeGradients):
                    raise ConfigurationError("an evasive attacker answers requests for gradients")
                request = asking.send(self.gradients.probe(request.queries))
        except StopIteration as stop:
            return cast("Reranking", stop.value)


@dataclass(frozen=True, slots=True)
class Evading:
    """Similarity less the weighted penalty; the penalty of the present text and of the `probed`
    most similar ones, the others are out of the question.
    """

    near: Nearness
    penalty: Penalty
    weight: float
    probed: int

    def directions(self, rows: FloatArray) -> FloatArray:
        """Those of the similarity."""
        return self.near.directions(rows)

    def values(self, texts: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,), minus infinity for texts that are not tested."""
        similar = self.near.values(texts, rows)
        nearest = 1 + np.argsort(-similar[1:], kind="stable")[: self.probed]
        tested = [0, *(int(place) for place in nearest)]
        found = np.full(len(texts), -np.inf)
        penalties = self.penalty.of([texts[place][0] for place in tested])
        found[tested] = similar[tested] - self.weight * penalties
        return found
