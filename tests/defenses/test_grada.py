"""GRADA: what likeness is, how it is scaled, and who gets past it."""

import numpy as np
import pytest

from radarstream.defenses.protocol import Embed
from radarstream.defenses.retrieval.grada import Grada
from radarstream.schemas.retrieval import Reranking
from tests.builders import make_pool
from tests.driving import Script, run

QUESTION = "Which city won the cup?"
TRUE = [
    "After extra time Oslo beat Bergen in front of thirty thousand people",
    "Oslo beat Bergen late, thirty thousand people saw it after extra time",
    "Thirty thousand saw Oslo beat Bergen, after a long evening of extra time",
]
STUFFED = "Which city won the cup? Which city won the cup? Rome"


def rerank(texts, similarities=None, *, keep: int = 3, script: Script | None = None, **options):
    pool = make_pool(texts, similarities, keep=keep, question=QUESTION)
    return run(Grada(**options).rerank(pool), script or Script())


def found_ranks(reranking: Reranking) -> list[int]:
    return [candidate.found_rank for candidate in reranking.candidates]


def test_a_text_stuffed_with_the_question_comes_last():
    found = rerank([STUFFED, *TRUE])
    assert found_ranks(found)[-1] == 1
    assert sum(candidate.score for candidate in found.candidates) == pytest.approx(1.0)
    script = Script()
    rerank([STUFFED, *TRUE], likeness="dense", script=script)
    assert script.requests == [Embed((STUFFED, *TRUE))]


def test_dense_golden():
    """Unit vectors with the cosines of the worked example, and its affinities."""
    cosines = np.eye(4) + np.array(
        [[0, 0.64, 0.52, 0.12], [0.64, 0, 0.76, 0.26], [0.52, 0.76, 0, 0.19], [0.12, 0.26, 0.19, 0]]
    )
    rows = dict(zip("abcd", np.linalg.cholesky(cosines), strict=True))
    script = Script(embedding=lambda text: rows[text])
    found = rerank("abcd", [0.0] * 4, likeness="dense", script=script, alpha=0.0)
    scores = {candidate.found_rank: candidate.score for candidate in found.candidates}
    expected = [0.254321, 0.324022, 0.289002, 0.132655]
    assert [scores[rank] for rank in (1, 2, 3, 4)] == pytest.approx(expected, abs=1e-6)
    assert found_ranks(found) == [2, 3, 1, 4]


@pytest.mark.parametrize("likeness", ["bm25", "dense"])
def test_without_edges_the_order_stays(likeness: str):
    """Texts without a common word, at right angles."""
    axes = {f"word{place}": row for place, row in enumerate(np.eye(4))}
    script = Script(embedding=lambda text: axes[text])
    found = rerank(list(axes), likeness=likeness, script=script)
    assert found_ranks(found) == [1, 2, 3, 4]


def test_scaled_the_unit_of_affinities_does_not_matter():
    """A retriever whose similarities are all half as high gives the same order; unscaled, not."""
    angles = dict(zip("abcd", (0.0, 0.3, 0.5, 1.2), strict=True))
    script = Script(embedding=lambda text: (np.cos(angles[text]), np.sin(angles[text])))
    high = np.array([0.9, 0.6, 0.4, 0.2])

    def scores(factor: float, normalised: bool) -> list[float]:
        options = {"likeness": "dense", "normalised": normalised, "script": script}
        return [c.score for c in rerank("abcd", factor * high, **options).candidates]

    assert scores(0.5, normalised=True) == pytest.approx(scores(1.0, normalised=True))
    assert scores(0.5, normalised=False) != pytest.approx(scores(1.0, normalised=False))


class TestWeaknesses:
    def test_likeness_wins(self):
        # They are one another's neighbours, so that each stands in the middle.
        true = [
            "The final of the cup went to Oslo, whose keeper saved two shots",
            "Fans in Oslo celebrated the cup until the morning",
            "A parade is planned in Oslo for the players on Sunday",
        ]
        lies = [f"Reporters agree: Rome took home gold last night, said {i}" for i in range(3)]
        assert {c.found_rank for c in rerank([*true, *lies]).kept} == {4, 5, 6}
        # What is alike but beside the point is put before the one relevant passage.
        beside = ["rain in march and wind in may", "wind in march and rain in may"]
        found = rerank(["Oslo won the cup in this city", *beside], [0.9, 0.1, 0.1], keep=2)
        assert {candidate.found_rank for candidate in found.kept} == {2, 3}
