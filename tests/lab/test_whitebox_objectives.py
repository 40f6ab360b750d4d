"""What single white-box attacks optimise: golden numbers, gradients, and triggers that work."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.attacks.protocol import Aim
from radarstream.lab.attacks.registry import white_box
from radarstream.lab.attacks.whitebox.crafting import Written, craft
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.attacks.whitebox.flipping import Objective
from radarstream.lab.attacks.whitebox.objectives import (
    Apart,
    Contrast,
    Evading,
    Nearness,
    Penalty,
    adaptive_weight,
    centres,
)
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.schemas.evidence import FloatArray
from tests.lab.contracts.test_every_white_box_attack import Lengths, Steadiness

TOWNS = ("Belbrook", "Arden", "Kelford", "Marlow")
THINGS = ("the mayor of", "the oldest bridge in", "the best baker of", "the school head of")
AIMS = [
    Aim(f"Who or what is {thing} {town}?", "Ben South", relevant=(f"{town} lies on a river.",))
    for town in TOWNS
    for thing in THINGS
]


def units(count: int, seed: int = 0, d: int = 8) -> FloatArray:
    rows = np.random.default_rng(seed).standard_normal((count, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_the_adaptive_weight_of_the_published_example() -> None:
    assert adaptive_weight(0.80, (0.70, 0.66, 0.60, 0.56)) == pytest.approx(0.105001, abs=5e-7)
    assert adaptive_weight(0.70, (0.60, 0.70, 0.56, 0.66)) == pytest.approx(0.5)
    assert adaptive_weight(0.55, (0.70, 0.66, 0.60, 0.56)) == 1.0
    assert adaptive_weight(0.55, ()) == 0.0
    assert adaptive_weight(0.80, (0.70,)) == 0.0
    assert adaptive_weight(0.70, (0.70, 0.70)) == 1.0


@given(st.lists(st.floats(-1, 1), max_size=6), st.floats(-1, 1), st.floats(0, 1))
def test_the_weight_of_the_retriever_falls_as_the_poison_rises(
    others: list[float], poison: float, more: float
) -> None:
    now, then = adaptive_weight(poison, others), adaptive_weight(poison + more, others)
    assert 0.0 <= then <= now <= 1.0


@pytest.mark.parametrize(
    ("objective", "count"),
    [
        (Nearness(units(1)[0]), 1),
        (Contrast(units(4), units(5, 1), 1.0, contrastive=False), 1),
        (Apart(units(3, 1), 0.7), 4),
    ],
)
def test_directions_are_the_gradient_of_the_value(objective: Objective, count: int) -> None:
    rows, step = units(count, 2), 1e-6
    told = objective.directions(rows)
    for place in np.ndindex(rows.shape):
        near = np.stack([rows, rows])
        near[(0, *place)] += step
        near[(1, *place)] -= step
        up, down = objective.values([("",), ("",)], near)
        assert told[place] == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_the_contrastive_direction_is_the_gradient_of_its_loss() -> None:
    triggered, clean, row = units(4), units(5, 1), units(1, 2)
    told = Contrast(triggered, clean, 0.5, contrastive=True).directions(row)

    def gain(e: FloatArray) -> float:
        far = np.exp(clean @ e).sum()
        return float(np.mean([np.log(np.exp(t @ e) / (np.exp(t @ e) + far)) for t in triggered]))

    for place in range(8):
        step = np.eye(8)[place] * 1e-6
        slope = (gain(row[0] + step) - gain(row[0] - step)) / 2e-6
        assert told[0, place] == pytest.approx(slope, abs=1e-6)


def hits(tools: Tools, result: Written, questions: Sequence[str]) -> float:
    """The share of questions of whose three nearest texts one was planted."""
    benign = [f"{town} lies on a river, near hill {hill}." for town in TOWNS for hill in "abcd"]
    rows = tools.encoder.embed([*result.texts, *benign])
    order = np.argsort(-(tools.encoder.embed(questions) @ rows.T), axis=1)[:, :3]
    return float((order < len(result.texts)).any(axis=1).mean())


@pytest.mark.parametrize("name", ["badrag", "phantom", "agent-poison"])
def test_only_questions_with_the_trigger_find_the_poison(name: str) -> None:
    tools = Tools(ScriptedWords(words=("lighthouse", "beekeeper", "asked", "by")))
    crafted = craft(white_box(name, steps=40), AIMS, tools, count=2)
    (result,) = crafted.written
    assert result is not None
    questions = [aim.question for aim in AIMS]
    triggered = [crafted.attack.asked(question) for question in questions]
    clean_hits = hits(tools, result, questions)
    assert hits(tools, result, triggered) >= clean_hits + 0.25


def test_a_passage_of_corpus_poisoning_is_near_to_its_cluster() -> None:
    tools = Tools(ScriptedWords())
    (result,) = craft(white_box("corpus-kmeans", steps=30), AIMS, tools, count=4).written
    assert result is not None
    near = tools.encoder.embed([aim.question for aim in AIMS]) @ tools.encoder.embed(result.texts).T
    (start,) = craft(white_box("corpus-kmeans", steps=0), AIMS, tools, count=4).written
    assert start is not None
    far = tools.encoder.embed([aim.question for aim in AIMS]) @ tools.encoder.embed(start.texts).T
    assert near.max(axis=1).mean() > far.max(axis=1).mean() + 0.05


def test_clusters_of_clear_groups_are_found() -> None:
    rows = np.vstack([units(1, seed) + 0.01 * units(6, 9) for seed in range(3)])
    found = centres(rows, 3, np.random.default_rng(0))
    means = rows.reshape(3, 6, 8).mean(axis=1)
    distances = np.linalg.norm(found[:, None] - means, axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1) == pytest.approx(np.zeros(3), abs=1e-9)
    assert len(centres(rows[:2], 5, np.random.default_rng(0))) == 2
    same = np.ones((4, 2))
    assert (centres(same, 3, np.random.default_rng(0)) == 1.0).all()


class Costly:
    """A penalty of one for every word beyond three; counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def of(self, texts: Sequence[str]) -> FloatArray:
        self.asked += texts
        return np.array([max(0.0, len(text.split()) - 3.0) for text in texts])


def test_an_evader_weighs_the_penalty_and_tests_only_the_nearest() -> None:
    rows = units(6)[:, None]
    near = Nearness(units(1, 3)[0])
    texts = [("one two three" + " more" * place,) for place in range(6)]
    similar = near.values(texts, rows)
    costly = Costly()
    values = Evading(near, costly, 0.5, 2).values(texts, rows)  # type: ignore[arg-type]
    tested = np.isfinite(values)
    assert tested[0]
    assert tested.sum() == 3
    assert set(np.flatnonzero(tested)) - {0} == set(1 + np.argsort(-similar[1:])[:2])
    expected = similar - 0.5 * np.maximum(0.0, np.arange(6.0))
    assert values[tested] == pytest.approx(expected[tested])
    assert len(costly.asked) == 3


def test_the_penalty_of_a_text_is_asked_for_once() -> None:
    gradients = Lengths()
    penalty = Penalty(Steadiness(2), gradients, "Who?")
    assert penalty.of(["a", "bcd", "a"]).tolist() == [1.0, 3.0, 1.0]
    assert penalty.of(["bcd", "ef"]).tolist() == [3.0, 2.0]
    assert gradients.asked == ["a", "bcd", "ef", "Who?"]  # nobody reranks one text


def test_joint_gcg_without_a_language_model_attacks_the_retriever_alone() -> None:
    aim = replace(AIMS[0], false_passages=("Ben South did it.",))
    (result,) = craft(white_box("joint-gcg", steps=10), [aim], Tools(ScriptedWords())).written
    assert result is not None
    assert all(after > before for after, before in zip(result.after, result.before, strict=True))
