"""Optimised jamming: a blocker document found by queries to the system under attack alone.

A. Shafran et al., "Machine Against the RAG" (USENIX Security 2025), black-box optimisation: tokens
are exchanged one at a time so that the system's response comes nearer to a refusal. It asks the
system thousands of times and is therefore no part of the registry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.evidence import FloatArray

TOKENS = 50
CANDIDATES = 32
ITERATIONS = 1_000
PATIENCE = 100

# For each blocker text, what the system under attack responds when it retrieves that text.
Oracle = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Blocker:
    """The best text found, how near its response came to the refusal (cosine), and the cost."""

    text: str
    similarity: float
    iterations: int
    responses: int


@dataclass(frozen=True, slots=True)
class BlockerSearch:
    """What to look for, and the budget; the defaults are the paper's."""

    question: str
    refusal: str
    vocabulary: tuple[str, ...]
    tokens: int = TOKENS
    candidates: int = CANDIDATES
    iterations: int = ITERATIONS
    patience: int = PATIENCE
    mask: str = "[MASK]"

    def text(self, tokens: Sequence[str]) -> str:
        """The question, so that the document is found, and the tokens."""
        return f"{self.question} {' '.join(tokens)}"


def optimised_blocker(
    search: BlockerSearch, respond: Oracle, embedder: Embedder, rng: np.random.Generator
) -> Blocker:
    """Search for a text whose response resembles the refusal.

    Each iteration draws one position and `candidates` tokens of the vocabulary for it, and keeps
    the best exchange if it is strictly better than the present text; it stops after `patience`
    iterations without one. The similarity never falls. Raises what `respond` and `embedder` raise.
    """
    goal = embedder.embed([search.refusal])[0]
    tokens = [search.mask] * search.tokens

    def similarities(trials: Sequence[Sequence[str]]) -> FloatArray:
        responses = respond([search.text(trial) for trial in trials])
        return np.asarray(embedder.embed(responses) @ goal, dtype=np.float64)

    best = float(similarities([tokens])[0])
    unchanged = iterations = 0
    responses = 1
    size = min(search.candidates, len(search.vocabulary))
    while iterations < search.iterations and unchanged < search.patience:
        position = int(rng.integers(len(tokens)))
        drawn = rng.choice(len(search.vocabulary), size=size, replace=False)
        trials = [
            [*tokens[:position], search.vocabulary[word], *tokens[position + 1 :]] for word in drawn
        ]
        scores = similarities(trials)
        iterations, responses = iterations + 1, responses + size
        winner = int(np.argmax(scores))
        if scores[winner] > best:
            best, tokens, unchanged = float(scores[winner]), trials[winner], 0
        else:
            unchanged += 1
    return Blocker(search.text(tokens), best, iterations, responses)
