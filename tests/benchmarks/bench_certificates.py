"""How long it takes to certify an answer, from its event."""

from collections.abc import Callable
from datetime import timedelta
from time import process_time

import numpy as np
import pytest

from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.radar import Radar
from radarstream.defenses.radar_plus import RadarPlus
from radarstream.defenses.registry import build_defense
from radarstream.schemas.certificate import Certificate
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Belief
from tests.benchmarks.figures import Figures
from tests.builders import OBSERVED_AT, claims_evidence
from tests.driving import Script, run, saying
from tests.flip_cases import Relating, event_of

pytestmark = pytest.mark.bench

CAMPS = {
    (10, "unanimous"): (10,),
    (10, "mixed"): (7, 2, 1),
    (10, "noisy"): (7, 2, 1),
    (50, "unanimous"): (50,),
    (50, "mixed"): (36, 9, 5),
    (50, "noisy"): (36, 9, 5),
}
NOISE = 0.3  # what is taken off an entailment on a noisy list, or put on, at most
WEEK = timedelta(days=7)
REPEATS = 15
MOST_MS = 50.0


def relating(k: int, kind: str, *, remembering: bool) -> Relating:
    """k documents in camps that contradict each other, with a memory that is of the first."""
    rng = np.random.default_rng(0)
    side = np.repeat(np.arange(len(CAMPS[k, kind])), CAMPS[k, kind])
    side = side[rng.permutation(k)]
    same = side[:, None] == side[None, :]
    noise = NOISE * rng.random((k + 1, k)) if kind == "noisy" else np.zeros((k + 1, k))
    between = np.sqrt(noise[:k] * noise[:k].T)
    entailment = np.where(same, 0.95 - between, 0.02 + between)
    contradiction = np.where(same, 0.0, 0.95 - between)
    np.fill_diagonal(entailment, 0.0)
    np.fill_diagonal(contradiction, 0.0)
    state = Belief("old", 0.9, 0.05, 8.0, 8.0, OBSERVED_AT - WEEK) if remembering else None
    recalled = np.where(side == 0, 0.95 - noise[k], 0.02 + noise[k])
    denied = np.where(side == 0, 0.0, 0.95 - noise[k])
    return Relating(entailment, contradiction, np.arange(1, k + 1), k, state, recalled, denied)


def median_ms(certify: Callable[[], Certificate]) -> float:
    """Median time of this process alone."""
    times = []
    for _ in range(REPEATS):
        start = process_time()
        certify()
        times.append(process_time() - start)
    return float(np.median(times) * 1e3)


def add_figure(
    figures: Figures, label: str, name: str, defense: object, event: AnswerEvent
) -> None:
    ms = median_ms(lambda: certified(name, defense, event))
    figures.add(label, ms, "ms per answer", ("<=", MOST_MS))


@pytest.mark.parametrize(("k", "kind"), CAMPS)
@pytest.mark.parametrize("remembering", [False, True])
def test_radar(figures: Figures, k: int, kind: str, remembering: bool) -> None:
    event = event_of(relating(k, kind, remembering=remembering).verdict(Radar()))
    memory = ", memory" if remembering else ""
    label = f"certificate and attack, radar, {kind}{memory}, k={k}"
    add_figure(figures, label, "radar", Radar(), event)


@pytest.mark.parametrize(("k", "kind"), CAMPS)
@pytest.mark.parametrize("remembering", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_radar_plus(figures: Figures, k: int, kind: str, remembering: bool, shared: bool) -> None:
    """Each page on a site of its own, or five on each."""
    urls = [f"https://s{i // 5 if shared else i}.example/" for i in range(k)]
    case = relating(k, kind, remembering=remembering)
    event = event_of(case.verdict(RadarPlus(), urls), "radar_plus", urls)
    memory, sites = ", memory" * remembering, ", shared sites" * shared
    label = f"certificate and attack, radar_plus, {kind}{memory}{sites}, k={k}"
    add_figure(figures, label, "radar_plus", RadarPlus(), event)


@pytest.mark.parametrize("name", ["majority", "reliability_rag", "robust_rag"])
def test_counting(figures: Figures, name: str) -> None:
    k = 20 if name == "reliability_rag" else 50
    defense, claims = build_defense(name), ["Rome"] * (k - 8) + ["Oslo"] * 5 + ["Bern"] * 3
    verdict, _ = run(defense.defend(claims_evidence(claims), None), Script(answer=saying("Rome")))
    event = event_of(verdict, name)
    add_figure(figures, f"certificate, {name}, k={k}", name, defense, event)
