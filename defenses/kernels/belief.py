"""Bayesian update of one probability by one likelihood."""

CERTAINTY = 1e-6  # no probability is taken to be closer to 0 or 1 than this


def bayes(prior: float, likelihood: float) -> float:
    """Posterior under symmetric likelihoods P(E|H) = l, P(E|not H) = 1 - l (RADAR, Eq. 14, 16).

    Symmetric in its arguments; 0.5 is neutral. Both are clamped away from 0 and 1, so certainty
    met by opposite certainty gives 0.5 where the formula has 0/0.

    >>> round(bayes(0.8, 0.7), 6)
    0.903226
    """
    p = min(max(prior, CERTAINTY), 1.0 - CERTAINTY)
    q = min(max(likelihood, CERTAINTY), 1.0 - CERTAINTY)
    return p * q / (p * q + (1.0 - p) * (1.0 - q))
