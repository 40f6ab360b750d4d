"""How often the scorer takes a lie for the truth, on pairs of a truth and a lie in 38 families.

`development.csv` was at hand while the rules were written. `held_out.csv` was written by somebody
who did not know the rules; its pairs were not looked at.
"""

import csv
from pathlib import Path

import numpy as np
import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.schemas.prompt import AnswerPair

PAIRS = Path(__file__).parents[2] / "data" / "answer_pairs"
MOST_WRONG, MOST_LOST = 0.02, 0.10


def entailments(scorer: AnswerAgreement, half: str) -> tuple[np.ndarray, np.ndarray]:
    """Whether each pair means the same, and its entailment in both directions, shape (m, 2)."""
    with (PAIRS / f"{half}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="|"))
    pairs = [
        AnswerPair(row["question"], *sides)
        for row in rows
        for sides in ((row["one"], row["other"]), (row["other"], row["one"]))
    ]
    same = np.array([row["same"] == "yes" for row in rows])
    return same, scorer.probabilities(pairs)[:, 0].reshape(-1, 2)


@pytest.mark.parametrize("half", ["development"])
@pytest.mark.parametrize("scorer", [AnswerAgreement(), AnswerAgreement(SentenceEmbedder())])
def test_a_lie_is_hardly_ever_taken_for_the_truth(scorer: AnswerAgreement, half: str) -> None:
    same, entailment = entailments(scorer, half)
    assert (entailment[~same].max(axis=1) >= 0.5).mean() <= MOST_WRONG
    assert (entailment[same].mean(axis=1) < 0.5).mean() <= MOST_LOST
