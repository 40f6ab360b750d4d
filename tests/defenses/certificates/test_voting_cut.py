"""RADAR+'s certificate, as the event carries it, against random attacks on RADAR+ itself."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.certificates.voting_cut import ballot_of, recorded_sides
from radarstream.defenses.cut_graph import Recalled
from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.radar_plus import RadarPlus
from radarstream.schemas.certificate import Change
from radarstream.schemas.memory import Belief
from tests.builders import OBSERVED_AT
from tests.driving import Script, run
from tests.flip_cases import Relating, attacked, event_of, random_relating

PLUS = RadarPlus()
ENOUGH = 600  # attacks in a run


def with_sites(case: Relating, urls: list[str]):
    evidence = case.evidence
    documents = tuple(replace(d, url=u) for d, u in zip(evidence.documents, urls, strict=True))
    return replace(evidence, documents=documents)


def remembered(rng: np.random.Generator, case: Relating) -> Relating:
    if case.state is None:
        return case
    count = float(rng.integers(1, 9))
    before = OBSERVED_AT - timedelta(days=float(rng.integers(0, 30)))
    state = Belief("old", case.state.support, case.state.conflict, count, count, before)
    return replace(case, state=state)


def recalled_of(case: Relating) -> Recalled | None:
    return None if case.state is None else Recalled(case.state, case.recalled, case.denied)


def decided(rng: np.random.Generator):
    """A case, its event and the addresses of its documents."""
    case = remembered(rng, random_relating(rng))
    urls = [f"https://s{rank}.example/" for rank in range(case.retrieved)]
    evidence = with_sites(case, urls)
    place = {f"answer {rank}": i for i, rank in enumerate(case.ranks)}

    def relation(premise: str, hypothesis: str) -> tuple[float, float]:
        other = place.get(hypothesis, place.get(premise))
        if "old" in (premise, hypothesis) and other is not None:
            return float(case.recalled[other]), float(case.denied[other])
        return 0.9, 0.05

    verdict, _ = run(PLUS.defend(evidence, case.state), Script(relation=relation))
    return case, event_of(verdict, "radar_plus", tuple(urls)), urls


@pytest.mark.parametrize("seed", range(2))
def test_no_attack_below_the_certificate_succeeds(seed: int):
    """Nothing that is planted, and nothing that was cut, is kept after any smaller attack."""
    rng, tried = np.random.default_rng(seed), 0
    while tried < ENOUGH:
        case, event, _ = decided(rng)  # every page on a site of its own, before and after
        certificate = certified("radar_plus", PLUS, event)
        kept = recorded_sides(event.verdict)
        pages = kept[: len(case.ranks)]
        supports = bool(kept[-1]) if len(kept) > len(pages) else False
        for bound in certificate.bounds:
            if bound.remembering != (len(kept) > len(pages)) or bound.needed is None:
                continue
            for _ in range(25 if bound.needed.documents > 1 else 0):
                liars = int(rng.integers(1, bound.needed.documents))
                beside = bound.change is Change.ADDED
                camp = np.append(pages, supports)
                after, still = attacked(rng, case, camp, liars, beside=beside)
                urls = [f"https://n{rank}.example/" for rank in range(after.retrieved)]
                evidence = with_sites(after, urls)
                tried += 1
                texts = tuple(f"answer {rank}" for rank in after.ranks)
                graph = PLUS.build_graph(evidence, texts, recalled_of(after))
                found = min_cut(graph.source, graph.sink, graph.pair).kept
                assert not (found[: len(still)] & ~still).any()


def test_the_event_tells_who_voted():
    rng = np.random.default_rng(4)
    for _ in range(20):
        case, event, urls = decided(rng)
        if event.verdict.energy is None:
            continue
        evidence = with_sites(case, urls)
        ballot = PLUS.ballot(evidence, recalled_of(case))
        told = ballot_of(PLUS, event)
        assert np.allclose(told.whole, ballot.whole, atol=1e-9)
        assert np.allclose(told.support, ballot.support, atol=1e-6)
