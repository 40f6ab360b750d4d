"""How often a separation of texts passes that nobody planted, and one that somebody did.

`noise`: three independent normal scores. `related`: they correlate by .5, as similarity and
likelihood of the question do on honest pages of different relevance. `planted`: five texts are 2.5
deviations above the others in every score.
"""

import numpy as np
import pytest

from radarstream.defenses.kernels.responsibility import (
    chance_of_separation,
    split_in_two,
    standard_scores,
)
from tests.benchmarks.figures import Figures

pytestmark = pytest.mark.bench

DRAWS = 400
TEXTS = (5, 10, 20, 50)
PLANTED, SHIFT, CORRELATION = 5, 2.5, 0.5


def scores(world: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Three scores of n texts, (3, n)."""
    own = rng.standard_normal((3, n))
    if world == "related":
        return np.sqrt(1.0 - CORRELATION) * own + np.sqrt(CORRELATION) * rng.standard_normal(n)
    return own + SHIFT * (np.arange(n) < PLANTED) if world == "planted" else own


def passes(rows: np.ndarray) -> tuple[bool, bool]:
    """Whether the groups are apart in distance and influence; whether not by chance either."""
    split = split_in_two(np.mean([standard_scores(row) for row in rows], axis=0))
    assert split is not None
    influence = rows[2][split.upper].mean() - rows[2][~split.upper].mean()
    apart = bool(split.gap >= 1.0 and influence > 0.0)
    return apart, apart and chance_of_separation(rows) <= 0.05


@pytest.mark.parametrize("world", ["noise", "related", "planted"])
def test_separation(world: str, figures: Figures) -> None:
    for n in TEXTS if world != "planted" else TEXTS[1:]:
        rng = np.random.default_rng(n)
        passed = np.array([passes(scores(world, n, rng)) for _ in range(DRAWS)])
        for rule, share in zip(("gap", "gap and chance"), passed.mean(axis=0), strict=True):
            figures.add(f"{world}, {n} texts, {rule}", 100 * share, "% pass")
