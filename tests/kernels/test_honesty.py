import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from radarstream.defenses.kernels.honesty import credible_interval, distrust
from radarstream.schemas.sources import NEUTRAL, Counts

inner = st.floats(1e-6, 1 - 1e-6)
counts = st.floats(0.0, 1e4)


@pytest.mark.parametrize(("lies", "term"), [(0, 0.0), (1, 0.5), (2, 2 / 3), (3, 0.75), (99, 0.99)])
def test_what_lies_of_an_unknown_source_cost(lies: int, term: float):
    honesty = np.array([Counts(0.0, lies).honesty])
    assert distrust(honesty, NEUTRAL) == pytest.approx(term)


def test_an_honest_past_outweighs_as_many_lies_as_it_grew():
    """16 honest counts on 4 are a factor of 5: 4 lies on 1 are one as well."""
    assert distrust(np.array([Counts(16.0, 4.0).honesty]), NEUTRAL) == pytest.approx(0.0)
    assert distrust(np.array([Counts(16.0, 9.0).honesty]), NEUTRAL) == pytest.approx(0.5)


@settings(deadline=None)
@given(inner, inner)
def test_never_certain_and_never_a_bonus(honesty: float, neutral: float):
    (term,) = distrust(np.array([honesty]), neutral)
    assert 0.0 <= term < 1.0
    assert (term == 0.0) == (honesty >= neutral) or abs(honesty - neutral) < 1e-9


@settings(deadline=None)
@given(counts, counts, st.floats(0.0, 10.0))
def test_more_lies_never_cost_less(honest: float, dishonest: float, more: float):
    terms = distrust(
        np.array([Counts(honest, d).honesty for d in (dishonest, dishonest + more)]), NEUTRAL
    )
    assert terms[0] <= terms[1] + 1e-12


@settings(deadline=None)
@given(st.floats(1.0, 1e5), st.floats(1.0, 1e5), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_the_interval_has_its_mass(honest: float, dishonest: float, mass: float):
    found = beta.cdf(credible_interval(honest, dishonest, mass), honest, dishonest)
    assert found == pytest.approx([(1 - mass) / 2, (1 + mass) / 2], abs=2e-6)


def test_the_interval_of_an_unknown_source_is_wide():
    assert credible_interval(*Counts().parameters) == pytest.approx((0.397635, 0.993691), abs=1e-6)
