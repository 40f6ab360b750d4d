"""Pairs of answers that we wrote to fit and measure the answer-agreement scorer."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import AnswerPair

PAIRS = Path("tests/data/answer_pairs")
FITTED = ("development", *(f"development_{number}" for number in range(2, 12)))
HELD_OUT = ("held_out",)
SAME_FROM = 0.5  # entailment from which two answers count as the same


@dataclass(frozen=True, slots=True)
class OwnPair:
    """Two answers that we wrote, whether they mean the same, and the family they belong to."""

    family: str
    question: str
    one: str
    other: str
    same: bool


def read_own(name: str, directory: Path = PAIRS) -> list[OwnPair]:
    """One file of our own pairs; ConfigurationError when it is missing."""
    path = directory / f"{name}.csv"
    if not path.is_file():
        raise ConfigurationError(f"{path} is missing: run in the root of the repository")
    with path.open(encoding="utf-8", newline="") as file:
        return [
            OwnPair(r["family"], r["question"], r["one"], r["other"], r["same"] == "yes")
            for r in csv.DictReader(file, delimiter="|")
        ]


def errors(scorer: AnswerAgreement, pairs: Sequence[OwnPair]) -> dict[str, float]:
    """Counts of lies taken for the truth (in either direction) and of true paraphrases lost."""
    asked = [
        AnswerPair(p.question, *sides)
        for p in pairs
        for sides in ((p.one, p.other), (p.other, p.one))
    ]
    entailment = scorer.probabilities(asked)[:, 0].reshape(-1, 2)
    same = np.array([pair.same for pair in pairs])
    wrong = entailment[~same].max(axis=1) >= SAME_FROM
    lost = entailment[same].mean(axis=1) < SAME_FROM
    return {
        "wrong_same": float(wrong.sum()),
        "not_the_same": float((~same).sum()),
        "lost": float(lost.sum()),
        "the_same": float(same.sum()),
    }
