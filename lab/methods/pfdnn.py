"""PFDNN: the cluster of texts that is nearest to the wrong answer."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.responsibility import LEAST_SPREAD
from radarstream.defenses.kernels.two_means import two_means
from radarstream.defenses.protocol import Embed, ask
from radarstream.lab.methods.attribution_baseline import Baseline, Judging
from radarstream.schemas.attribution import Case
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Pfdnn(Baseline):
    """Splits the texts' embeddings in two and flags the cluster closer to the wrong answer.

    "Poison Forensics: Traceback of Data Poisoning Attacks in Neural Networks" (USENIX Security
    2022) clusters training data and prunes it cluster by cluster; this is what "Who Taught the
    Lie?" (RAGOrigin, section 6.1.3) makes of it for texts: embeddings, 2-means, and the cluster
    whose mean is nearer to the embedding of the answer. Equally near clusters, and equal texts,
    flag nothing. `score` is the negative distance of the text's cluster.

    Parameters
    ----------
    seed
        Of the clustering's starts, for more than 12 texts.
    """

    seed: Annotated[int, Field(ge=0)] = 0

    method: ClassVar[str] = "pfdnn"
    compares: ClassVar[bool] = True

    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Embed, split, compare."""
        rows = yield from ask(Embed((case.answer, *shown)))
        answer, points = rows[0], rows[1:]
        second = two_means(points, np.random.default_rng(self.seed))
        distances = [
            float(np.linalg.norm(points[members].mean(axis=0) - answer))
            for members in (~second, second)
        ]
        if abs(distances[0] - distances[1]) < LEAST_SPREAD:
            return self.unseparated(case.texts)
        nearer = second if distances[1] < distances[0] else ~second
        scores = -np.where(second, distances[1], distances[0])
        return self.flagged(nearer, case.texts, scores)
