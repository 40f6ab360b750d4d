from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.radar import bayes

probabilities = st.floats(0.0, 1.0)
inner = st.floats(1e-5, 1 - 1e-5)


@pytest.mark.parametrize(
    ("prior", "likelihood", "posterior"),
    [
        (0.8, 0.7, 0.903226),
        (0.2, 0.3, 0.096774),
        (0.9, 0.1, 0.5),
        (0.5, 0.37, 0.37),
        (0.37, 0.5, 0.37),
        (0.3, 0.4, 0.222222),
        (0.6, 0.9, 0.931034),
        (0.0, 1.0, 0.5),
        (1.0, 0.0, 0.5),
        (0.0, 0.7, 2.333e-6),
        (1.0, 0.3, 0.999998),
    ],
)
def test_g_a11(prior: float, likelihood: float, posterior: float):
    assert bayes(prior, likelihood) == pytest.approx(posterior, abs=1e-6)


def test_clamped_certainty_keeps_its_digits():
    assert bayes(0.0, 0.7) == pytest.approx(2.333e-6, abs=5e-10)


@given(probabilities, probabilities)
def test_symmetric_and_a_probability(prior: float, likelihood: float):
    assert bayes(prior, likelihood) == pytest.approx(bayes(likelihood, prior), abs=1e-12)
    assert 0.0 < bayes(prior, likelihood) < 1.0


@given(inner, inner)
def test_log_odds_add(prior: float, likelihood: float):
    def logit(p: float) -> float:
        return log(p) - log(1 - p)

    total = logit(prior) + logit(likelihood)
    assert logit(bayes(prior, likelihood)) == pytest.approx(total, abs=1e-4)
