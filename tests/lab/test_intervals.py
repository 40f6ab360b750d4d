"""Intervals of rates and paired differences: known values, and how often they hold the truth."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from radarstream.lab.study.comparison import Z, difference_interval, score_interval
from radarstream.lab.study.rates import Clustered, exact_interval

NOMINAL_ENOUGH = 0.93


def rate_interval(hits, trials):
    sample = Clustered(hits, hits, trials)
    return exact_interval(sample.mean, sample.effective())


RATES = (0.02, 0.05, 0.1, 0.5, 0.98)
SIZES = {  # trials of a cluster
    "one answer": lambda clusters: np.ones(clusters, dtype=int),
    "four conditions": lambda clusters: np.full(clusters, 4),
    "ten steps": lambda clusters: np.full(clusters, 10),
    "unequal": lambda clusters: np.resize([1, 2, 4, 8, 16], clusters),
}


@pytest.mark.parametrize(("hits", "trials"), [(0, 50), (1, 50), (7, 50), (50, 50), (3, 4)])
def test_independent_trials_have_clopper_and_pearsons_interval(hits, trials):
    known = stats.binomtest(hits, trials).proportion_ci(method="exact")
    flags = (np.arange(trials) < hits).astype(float)
    assert rate_interval(flags, np.ones(trials)).tolist() == pytest.approx(tuple(known), abs=1e-9)
    assert exact_interval(hits / trials, trials).tolist() == pytest.approx(tuple(known), abs=1e-9)


@pytest.mark.parametrize("hits", [0.0, 8.0])
def test_clusters_all_alike_count_as_one_trial_each(hits):
    known = stats.binomtest(25 if hits else 0, 25).proportion_ci(method="exact")
    found = rate_interval(np.full(25, hits), np.full(25, 8.0)).tolist()
    assert found == pytest.approx(tuple(known), abs=1e-9)


def test_steps_that_stand_or_fall_together_are_worth_one():
    hits, trials = np.array([10.0] * 14 + [0.0] * 6), np.full(20, 10.0)
    assert float(Clustered(hits, hits, trials).effective()) == pytest.approx(20.0, rel=0.06)


def test_without_trials_nothing_is_known():
    none = np.empty(0)
    assert rate_interval(none, none).tolist() == [0.0, 1.0]
    assert difference_interval(none, none, none).tolist() == [-1.0, 1.0]
    zero = np.zeros((3, 2))
    assert rate_interval(zero, zero).tolist() == [[0.0, 1.0]] * 2
    assert difference_interval(zero, zero, zero).tolist() == [[-1.0, 1.0]] * 2


def test_one_question_tells_little():
    low, high = rate_interval(np.array([3.0]), np.array([4.0])).tolist()
    assert low < 0.1
    assert high > 0.99


def counts(draw, clusters):
    trials = draw(st.lists(st.integers(0, 9), min_size=clusters, max_size=clusters))
    hits = [draw(st.integers(0, trial)) for trial in trials]
    return np.array(hits, dtype=float), np.array(trials, dtype=float)


@given(st.data(), st.integers(1, 12))
def test_a_rate_lies_in_its_interval_which_mirrors_and_counts_no_more_than_its_trials(data, size):
    hits, trials = counts(data.draw, size)
    low, high = rate_interval(hits, trials).tolist()
    if trials.sum():
        assert 0.0 <= low <= hits.sum() / trials.sum() <= high <= 1.0
    mirrored = rate_interval(trials - hits, trials).tolist()
    assert mirrored == pytest.approx([1.0 - high, 1.0 - low], abs=1e-9)
    assert Clustered(hits, hits, trials).effective() <= trials.sum() + 1e-9


@given(st.data(), st.integers(1, 12))
def test_empty_clusters_and_the_order_of_clusters_change_nothing(data, size):
    hits, trials = counts(data.draw, size)
    order = data.draw(st.permutations(range(size)))
    more = [np.append(values[order], [0.0, 0.0]) for values in (hits, trials)]
    assert rate_interval(*more).tolist() == pytest.approx(rate_interval(hits, trials).tolist())


@given(st.data(), st.integers(1, 12))
def test_a_difference_lies_in_its_interval_which_changes_sign_with_the_sides(data, size):
    gains, trials = counts(data.draw, size)
    losses = np.array(
        [data.draw(st.integers(0, int(n - g))) for g, n in zip(gains, trials, strict=True)]
    )
    low, high = difference_interval(gains, losses.astype(float), trials).tolist()
    if trials.sum():
        value = (gains - losses).sum() / trials.sum()
        assert -1.0 <= low <= value + 1e-9
        assert value - 1e-9 <= high <= 1.0
    turned = difference_interval(losses.astype(float), gains, trials).tolist()
    assert turned == pytest.approx([-high, -low], abs=1e-6)


def scored(gains, losses, n, difference):
    """Tango's statistic with the other probability found by maximising the likelihood."""

    def unlikely(q):
        p = q + difference
        return -(
            gains * np.log(p + 1e-300)
            + losses * np.log(q + 1e-300)
            + (n - gains - losses) * np.log(max(1.0 - p - q, 1e-300))
        )

    bounds = (max(0.0, -difference), (1.0 - difference) / 2.0)
    q = optimize.minimize_scalar(
        unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12}
    ).x
    return (gains - losses - n * difference) / np.sqrt(n * (2 * q + difference * (1 - difference)))


@pytest.mark.parametrize(("gains", "losses", "n"), [(9, 2, 50), (40, 20, 160), (3, 0, 30)])
def test_tangos_statistic_is_the_normal_quantile_at_both_ends(gains, losses, n):
    low, high = score_interval(*(np.array(float(x)) for x in (gains, losses, n))).tolist()
    assert scored(gains, losses, n, low) == pytest.approx(Z, abs=2e-3)
    assert scored(gains, losses, n, high) == pytest.approx(-Z, abs=2e-3)


def simulated(rng, rate, correlation, trials, runs):
    """Hits per cluster, (clusters, runs): beta-binomial with that intra-cluster correlation."""
    if correlation == 0.0 or trials.max() == 1:
        return rng.binomial(trials[:, None], rate, size=(len(trials), runs))
    scale = 1.0 / correlation - 1.0
    shares = rng.beta(rate * scale, (1.0 - rate) * scale, size=(len(trials), runs))
    return rng.binomial(trials[:, None], shares)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("clusters", [25, 50])
def test_nominal_95_percent_of_a_rate_hold_the_truth(sizes, clusters):
    """At every rate and intra-cluster correlation, of 4,000 simulated data sets each."""
    rng = np.random.default_rng(3)
    runs, trials = 4_000, SIZES[sizes](clusters)
    held = np.repeat(trials[:, None].astype(float), runs, axis=1)
    for rate, correlation in product(RATES, (0.0, 0.1, 0.3, 0.5)):
        hits = simulated(rng, rate, correlation, trials, runs).astype(float)
        low, high = rate_interval(hits, held).T
        covered = np.mean((low <= rate) & (rate <= high))
        assert covered >= NOMINAL_ENOUGH, (rate, correlation, covered)


def answers_of_two(rng, rates, correlation, trials, runs):
    """Values of yes and no of two contenders, (clusters, largest, runs) each, and which of them
    there are. Contenders share half of what decides an answer, and so do answers of a question.
    """
    shape = (len(trials), trials.max(), runs)
    question = (len(trials), 1, runs)
    common = rng.standard_normal(shape) * np.sqrt(1 - correlation)
    common += rng.standard_normal(question) * np.sqrt(correlation)
    there = (np.arange(trials.max()) < trials[:, None])[..., None]
    found = []
    for rate in rates:
        own = rng.standard_normal(shape) * np.sqrt(1 - correlation)
        own += rng.standard_normal(question) * np.sqrt(correlation)
        found.append(((common + own) / np.sqrt(2.0) < stats.norm.ppf(rate)) & there)
    return found


@pytest.mark.parametrize("sizes", SIZES)
def test_nominal_95_percent_of_a_difference_hold_the_truth(sizes):
    """At rare and usual rates, of 1,200 simulated pairs of contenders each."""
    rng = np.random.default_rng(5)
    runs = 1_200
    for clusters, rates, correlation in product(
        (25, 50), ((0.02, 0.02), (0.02, 0.06), (0.5, 0.36), (0.9, 0.98)), (0.0, 0.5)
    ):
        trials = SIZES[sizes](clusters)
        ours, theirs = answers_of_two(rng, rates, correlation, trials, runs)
        gains, losses = (
            (a & ~b).sum(axis=1, dtype=float) for a, b in ((ours, theirs), (theirs, ours))
        )
        held = np.repeat(trials[:, None].astype(float), runs, axis=1)
        low, high = difference_interval(gains, losses, held).T
        truth = rates[0] - rates[1]
        covered = np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9))
        assert covered >= NOMINAL_ENOUGH, (clusters, rates, correlation, covered)
