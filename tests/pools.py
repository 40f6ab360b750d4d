"""Pools of candidates in which some tell a lie, and scripted networks that see through it."""

import math
from typing import Any

import numpy as np

from radarstream.defenses.protocol import Complete
from radarstream.defenses.registry import RERANKERS
from radarstream.lab.insights import AttentionQuery, ProbeQuery, SalienceQuery, TokenSalience
from radarstream.schemas.evidence import AtomicAnswer
from tests.builders import make_pool
from tests.driving import Script

LIE, TRUTH = "It was Rome", "They say Oslo won the cup"
Variant = tuple[str, dict[str, Any]]
VARIANTS: list[Variant] = [
    *((name, {}) for name in sorted(RERANKERS)),
    ("prog_rank", {"margin": 0.0}),
    ("prog_rank", {"surrogate": True}),
    ("grada", {"likeness": "dense"}),
    ("grada", {"normalised": False}),
    ("gmtp", {"mode": "fixed"}),
    ("gmtp", {"mode": "quantile"}),
    ("raguard", {"entropy": False}),
    ("dp_rag", {"epsilon": 0.5, "seed": 7}),
    ("attention_variance", {"threshold": 50.0, "multiple": 1}),
    ("trust_rag", {"mode": "ado_alg1"}),
    ("trust_rag", {"overlap_gate": False, "multiple": 1}),
]
POOLS = [
    make_pool([LIE, f"{LIE}.", f"{LIE}!", TRUTH, f"{TRUTH}.", f"{TRUTH}!"], keep=3),
    make_pool([TRUTH, LIE, "", f"{TRUTH} {LIE}", "other", f"{LIE}?"], keep=2),
    make_pool([f"{LIE} {i}" for i in range(7)], [0.5] * 7, keep=7),
    make_pool([LIE, LIE, TRUTH, TRUTH], keep=3),
    make_pool(
        [f"{LIE} {i}" for i in range(4)] + [f"{TRUTH} {i}" * (i + 1) for i in range(12)], keep=4
    ),
]


def shown(variant: Variant) -> str:
    return ":".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items())])


def believing(request: Complete) -> AtomicAnswer:
    """A generator that repeats the lie where it is told at all."""
    return AtomicAnswer("Rome" if any("Rome" in p for p in request.passages) else "Oslo")


def direction(text: str) -> tuple[float, float]:
    angle = 1.5 * ("Oslo" in text) + 0.01 * (len(text) % 7)
    return math.cos(angle), math.sin(angle)


def gradients(query: ProbeQuery) -> np.ndarray:
    """Lies are found for one unit that comes and goes; every gradient is its passage's own."""
    runs = np.arange(query.runs)
    away = np.where(runs % 3 == 0, 2.0 * ("Rome" in query.passage), 0.01 * len(query.passage))
    return np.stack([np.ones(query.runs), away], axis=1)


def saliences(query: SalienceQuery) -> tuple[TokenSalience, ...]:
    """A token per character; capitals decide."""
    return tuple(
        TokenSalience(place, place + 1, 2.0 if character.isupper() else 0.5)
        for place, character in enumerate(query.passage)
    )


def attention(asked: AttentionQuery) -> list[float]:
    """Longer passages are attended to more, lies most of all."""
    weights = [len(text) * (5 if "Rome" in text else 1) for text in asked.prompt.passages]
    return [100.0 * weight / max(1, sum(weights)) for weight in weights]


def world(**changes: Any) -> Script:
    return Script(
        **{
            "answer": believing,
            "embedding": direction,
            "gradients": gradients,
            "saliences": saliences,
            "attention": attention,
            "masked": lambda query: [
                0.01 if query.text[start] == "R" else 0.6 for start, _ in query.spans
            ],
            **changes,
        }
    )
