"""Eigenvector centrality by power iteration (RADAR, Algorithm 2)."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

EQUAL = 1e-6  # centralities closer than this are equal


def eigenvector_centrality(
    weights: FloatArray, *, epsilon: float = 0.01, iterations: int = 10, delta: float = 1e-8
) -> FloatArray:
    """Approximate the principal eigenvector of weights + epsilon * I (RADAR, Eq. 32-35).

    Parameters
    ----------
    weights
        (n, n), >= 0; n = 0 is allowed. RADAR's are symmetric with a zero diagonal.
    epsilon
        Self-loop of every node.
    iterations
        Power steps from the uniform vector. Ten do not converge on star-like graphs: the hub's
        share then alternates, but its order among the nodes does not.
    delta
        Keeps the normalisation away from 0/0.

    Returns
    -------
    (n,) values >= 0 of Euclidean length about 1.
    """
    n = len(weights)
    matrix = weights + epsilon * np.eye(n)
    vector = np.full(n, 1.0 / n) if n else np.zeros(0)
    for _ in range(iterations):
        vector = matrix @ vector
        vector = vector / (np.linalg.norm(vector) + delta)
    return vector


def rescaled(raw: FloatArray, *, delta: float = 1e-8) -> FloatArray:
    """Centralities moved to [0, 1] (RADAR, Eq. 36); all 1 when they are equal.

    Eq. 36 read literally makes equal centralities 0, which would take all support away from
    unanimous documents, from any two documents and from a single one.
    """
    if len(raw) == 0:
        return raw.copy()
    spread = raw.max() - raw.min()
    if spread < EQUAL:
        return np.ones_like(raw)
    return np.asarray((raw - raw.min()) / (spread + delta))
