"""What a question costs of a privacy budget, and what a user may see of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.orchestration.privacy import (
    PrivacyCost,
    affordable,
    composed,
    cost_of,
    unspent,
)
from radarstream.schemas.orchestration import PrivacyMethod, PrivacyPlan

costs = st.builds(PrivacyCost, st.floats(0, 9), st.floats(0, 0.3), st.booleans())


@pytest.mark.parametrize(
    ("method", "epsilon", "delta", "proved"),
    [
        (PrivacyMethod.EXPONENTIAL, 3.0, 0.0, True),
        (PrivacyMethod.LEGACY_OFFBY2, 3.0, 0.0, True),
        (PrivacyMethod.NOISY_SCORES, 3.0, 0.0, True),
        (PrivacyMethod.GAUSSIAN, 0.5, 0.01, True),
        (PrivacyMethod.GAUSSIAN, 3.0, 0.01, False),
    ],
)
def test_cost_of_one_question(method: PrivacyMethod, epsilon: float, delta: float, proved: bool):
    plan = PrivacyPlan(True, epsilon, 0.01, method)
    assert cost_of(plan, full_scan=True) == PrivacyCost(epsilon, delta, proved)
    assert cost_of(plan) == PrivacyCost(epsilon, delta, proved=False)


def test_a_question_without_noise_is_charged_nothing_and_proves_nothing():
    assert cost_of(PrivacyPlan(), full_scan=True) == PrivacyCost(0.0, 0.0, proved=False)


@given(st.lists(costs, max_size=6), st.lists(costs, max_size=6))
def test_costs_add_up_whatever_the_grouping(some, others):
    together, apart = composed(some + others), composed([composed(some), composed(others)])
    assert (together.epsilon, together.delta) == pytest.approx((apart.epsilon, apart.delta))
    assert together.proved is apart.proved
    assert together.delta <= 1.0


def test_nothing_costs_nothing():
    assert composed([]) == PrivacyCost()


class TestBudget:
    @given(st.integers(1, 200), st.floats(0.01, 5.0))
    def test_so_many_questions_as_the_budget_has(self, questions: int, epsilon: float):
        """Rounding neither takes a question away nor gives one more."""
        budget, spent, asked = questions * epsilon, 0.0, 0
        while affordable(spent, epsilon, budget):
            spent, asked = spent + epsilon, asked + 1
        assert asked == questions

    def test_what_is_free_is_allowed_when_all_is_spent(self):
        assert affordable(100.0, 0.0, 100.0)
        assert not affordable(100.0, 0.1, 100.0)

    def test_what_is_left(self):
        assert unspent(97.0, 100.0) == pytest.approx(3.0)
        assert unspent(100.00000001, 100.0) == 0.0
