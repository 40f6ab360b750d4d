"""Kernels of RADAR: centrality, weights of the cut graph, belief."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

EQUAL = 1e-6  # centralities closer than this are equal
NO_WEIGHT = 1e-12  # if centralities sum to less, every document weighs the same
CERTAINTY = 1e-6  # probabilities are clamped to this distance from 0 and 1


def eigenvector_centrality(
    weights: FloatArray, *, epsilon: float = 0.01, iterations: int = 10, delta: float = 1e-8
) -> FloatArray:
    """Approximate the principal eigenvector of weights + epsilon * I (RADAR, Eq. 32-35).

    `weights` are (n, n) and >= 0, n = 0 is allowed; RADAR's are symmetric with a zero diagonal.
    `epsilon` is the self-loop of every node, `delta` keeps the normalisation away from 0/0. Power
    iteration from the uniform vector: ten steps do not converge on star-like graphs, where the
    hub's share alternates, but its order among the nodes does not. Returns (n,) values >= 0 of
    Euclidean length about 1.
    """
    n = len(weights)
    matrix = weights + epsilon * np.eye(n)
    vector = np.full(n, 1.0 / n) if n else np.zeros(0)
    for _ in range(iterations):
        vector = matrix @ vector
        vector = vector / (np.linalg.norm(vector) + delta)
    return vector


def rescaled(raw: FloatArray, *, delta: float = 1e-8) -> FloatArray:
    """Rescale centralities to [0, 1] (RADAR, Eq. 36); all 1 if they are equal.

    Eq. 36 would make equal centralities 0, and so remove all support from unanimous documents, from
    two documents and from a single one.
    """
    if len(raw) == 0:
        return raw.copy()
    spread = raw.max() - raw.min()
    if spread < EQUAL:
        return np.ones_like(raw)
    return np.asarray((raw - raw.min()) / (spread + delta))


def keep_evidence(centrality: FloatArray, ranks: NDArray[np.int_], *, retrieved: int) -> FloatArray:
    """Return S_i = centrality times exp(-rank / k), (n,) (RADAR, Eq. 6).

    `ranks` are the original 1-based retrieval ranks, `retrieved` is k before any filtering.
    """
    return np.asarray(centrality * np.exp(-ranks / retrieved))


def reject_evidence(conflict: FloatArray, centrality: FloatArray) -> FloatArray:
    """Return F_i, (n,): the mean contradiction with the others (RADAR, Eq. 7).

    The mean is weighted by the others' centrality, unless that is 0. 0 for a single document.
    """
    n = len(centrality)
    others = np.where(np.eye(n, dtype=np.bool_), 0.0, 1.0)
    weights = others * centrality
    weightless = weights.sum(axis=1) < NO_WEIGHT
    weights[weightless] = others[weightless]
    total = np.maximum(weights.sum(axis=1), NO_WEIGHT)
    return np.asarray((conflict * weights).sum(axis=1) / total)


def both_ways(forward: FloatArray, backward: FloatArray) -> FloatArray:
    """Return the geometric mean of the two directions (RADAR, Eq. 29 and 30).

    >>> round(float(both_ways(np.array(0.9), np.array(0.4))), 6)
    0.6
    """
    return np.asarray(np.sqrt(forward * backward), dtype=np.float64)


def symmetrise(directed: FloatArray) -> FloatArray:
    """Turn (n, n) probabilities into symmetric weights in [0, 1] with a zero diagonal."""
    weights = both_ways(directed, directed.T)
    np.fill_diagonal(weights, 0.0)
    return weights


def bayes(prior: float, likelihood: float) -> float:
    """Return the posterior for likelihoods P(E|H) = l, P(E|not H) = 1 - l (RADAR, Eq. 14, 16).

    The arguments may be exchanged; 0.5 is neutral. Both are clamped away from 0 and 1, so that 0
    and 1 together give 0.5 instead of 0/0.

    >>> round(bayes(0.8, 0.7), 6)
    0.903226
    """
    p = min(max(prior, CERTAINTY), 1.0 - CERTAINTY)
    q = min(max(likelihood, CERTAINTY), 1.0 - CERTAINTY)
    return p * q / (p * q + (1.0 - p) * (1.0 - q))
