"""How long it takes to certify an answer, from its event."""

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest

from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.radar import Radar
from radarstream.defenses.registry import build_defense
from radarstream.schemas.certificate import Certificate
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Belief
from tests.benchmarks.figures import Figures
from tests.builders import claims_evidence
from tests.driving import Script, run, saying
from tests.flip_cases import Relating, event_of

pytestmark = pytest.mark.bench

CAMPS = {10: (7, 2, 1), 50: (36, 9, 5)}
REPEATS = 15
MOST_MS = 50.0


def remembered_event(k: int) -> AnswerEvent:
    """RADAR's event of k documents in three camps, with a memory."""
    side = np.repeat(np.arange(3), CAMPS[k])
    side = side[np.random.default_rng(0).permutation(k)]
    same = side[:, None] == side[None, :]
    entailment, contradiction = np.where(same, 0.95, 0.02), np.where(same, 0.0, 0.95)
    np.fill_diagonal(entailment, 0.0)
    np.fill_diagonal(contradiction, 0.0)
    recalled, denied = np.where(side == 0, 0.95, 0.02), np.where(side == 0, 0.0, 0.95)
    case = Relating(
        entailment,
        contradiction,
        np.arange(1, k + 1),
        k,
        Belief("old", 0.9, 0.05),
        recalled,
        denied,
    )
    return event_of(case.verdict(Radar()))


def median_ms(certify: Callable[[], Certificate]) -> float:
    """Median time of this process alone."""
    times = []
    for _ in range(REPEATS):
        start = process_time()
        certify()
        times.append(process_time() - start)
    return float(np.median(times) * 1e3)


@pytest.mark.parametrize("k", CAMPS)
def test_radar(figures: Figures, k: int) -> None:
    event = remembered_event(k)
    ms = median_ms(lambda: certified("radar", Radar(), event))
    figures.add(f"certificate and attack, radar, k={k}", ms, "ms per answer", ("<=", MOST_MS))


@pytest.mark.parametrize("name", ["majority", "reliability_rag", "robust_rag"])
def test_counting(figures: Figures, name: str) -> None:
    k = 20 if name == "reliability_rag" else 50
    defense, claims = build_defense(name), ["Rome"] * (k - 8) + ["Oslo"] * 5 + ["Bern"] * 3
    verdict, _ = run(defense.defend(claims_evidence(claims), None), Script(answer=saying("Rome")))
    event = event_of(verdict, name)
    ms = median_ms(lambda: certified(name, defense, event))
    figures.add(f"certificate, {name}, k={k}", ms, "ms per answer", ("<=", MOST_MS))
