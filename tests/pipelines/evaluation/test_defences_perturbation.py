"""Wrong relations on purpose: rates, symmetry, nesting, golden draws."""

from collections.abc import Sequence

import numpy as np
import pytest

from radarstream.connectors.models.scripted import ScriptedRelations
from radarstream.defenses.kernels.radar import symmetrise
from radarstream.pipelines.evaluation.defences.scorers import (
    Perturbation,
    perturbed_relations,
)
from radarstream.pipelines.signals.ports import RelationScorer
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import AnswerPair
from tests.builders import claims_evidence

GOLDEN = (0.022348562050809706, 0.24965866717465623)
CLAIMS = ["Rome", "Rome", "Bern", None, "Oslo", "Rome", "Bern", "Cork"] * 3


def evidence() -> Evidence:
    return claims_evidence(CLAIMS)


def changed(before: Evidence, after: Evidence) -> np.ndarray:
    assert before.relations is not None
    assert after.relations is not None
    different = before.relations.entailment != after.relations.entailment
    return np.asarray(different)


def test_golden_draws() -> None:
    """PCG64 seeded by BLAKE2b of seed and key: .39962 decides, then come the two values."""
    assert Perturbation(1.0, 0).draw("Who?", "Bern", "Rome") == pytest.approx(GOLDEN)
    assert Perturbation(0.3997, 0).draw("Who?", "Bern", "Rome") == pytest.approx(GOLDEN)
    assert Perturbation(0.3996, 0).draw("Who?", "Bern", "Rome") is None
    assert Perturbation(1.0, 1).draw("Who?", "Bern", "Rome") != pytest.approx(GOLDEN)


def test_rate_0_changes_nothing_and_rate_1_everything_off_the_diagonal() -> None:
    before = evidence()
    assert not changed(before, Perturbation(0.0, 0).perturbed(before)).any()
    after = changed(before, Perturbation(1.0, 0).perturbed(before))
    n = len(after)
    assert after.sum() == n * (n - 1)
    assert not after.diagonal().any()


def test_both_directions_get_the_same_values() -> None:
    relations = Perturbation(0.5, 3).perturbed(evidence()).relations
    assert relations is not None
    for matrix in (relations.entailment, relations.contradiction):
        np.testing.assert_array_equal(matrix, matrix.T)
    off = ~np.eye(len(relations), dtype=bool)
    np.testing.assert_allclose(
        symmetrise(relations.entailment)[off], relations.entailment[off], atol=1e-15
    )


def test_higher_rates_replace_the_same_and_more() -> None:
    before = evidence()
    masks = [changed(before, Perturbation(r, 0).perturbed(before)) for r in (0.1, 0.3, 0.5)]
    assert masks[0].any()
    for fewer, more in zip(masks, masks[1:], strict=False):
        assert (more | ~fewer).all()
        assert more.sum() > fewer.sum()
    # 210 pairs: four standard deviations round the rate
    pairs = [mask.sum() / (len(mask) * (len(mask) - 1)) for mask in masks]
    for rate, share in zip((0.1, 0.3, 0.5), pairs, strict=True):
        assert abs(share - rate) < 4 * np.sqrt(rate * (1 - rate) / 210)


def test_values_are_uniform() -> None:
    noisy = Perturbation(1.0, 0)
    drawn = np.array([noisy.draw("q", str(i)) for i in range(2000)])
    for column in drawn.T:
        counts, _ = np.histogram(column, bins=10, range=(0.0, 1.0))
        assert (abs(counts - 200) < 5 * np.sqrt(180)).all()
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.1


def rows(scorer: RelationScorer, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    return np.asarray(scorer.probabilities([AnswerPair("Who?", *pair) for pair in pairs]))


def test_what_a_defence_asks_by_itself_is_perturbed_too() -> None:
    inner = ScriptedRelations()
    scorer = perturbed_relations(inner, Perturbation(1.0, 0))
    one, other, repeated = rows(scorer, [("Rome", "Bern"), ("Bern", "Rome"), ("Rome", "Bern")])
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, repeated)
    assert tuple(one[[0, 2]]) == pytest.approx(GOLDEN)
    assert one.min() >= 0.0
    assert one.max() <= 1.0
    same = perturbed_relations(inner, Perturbation(0.0, 0))
    assert rows(same, [("Rome", "Bern")]).tolist() == [[0.02, 0.03, 0.95]]
    assert scorer.model_id != same.model_id != inner.model_id
    assert perturbed_relations(inner, Perturbation(0.5, 0)).probabilities([]).shape == (0, 3)
