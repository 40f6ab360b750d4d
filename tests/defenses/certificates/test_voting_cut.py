"""RADAR+'s certificate, as the event carries it, against random attacks on RADAR+ itself."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.certificates.voting_cut import ballot_of, recorded_sides, sides_of
from radarstream.defenses.cut_graph import Recalled
from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.votes import Ballot, keep_shares
from radarstream.defenses.radar_plus import RadarPlus
from radarstream.schemas.certificate import Change
from radarstream.schemas.memory import Belief
from tests.builders import OBSERVED_AT
from tests.flip_cases import Relating, attacked, event_of, random_relating, with_sites
from tests.kernels.test_certificate_cut import random_ballot

PLUS = RadarPlus()
ENOUGH = 600  # attacks in a run


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
    return case, event_of(case.verdict(PLUS, urls), "radar_plus", urls), urls


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
                evidence = with_sites(after.evidence, urls)
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
        evidence = with_sites(case.evidence, urls)
        ballot = PLUS.ballot(evidence, recalled_of(case))
        told = ballot_of(PLUS, event)
        assert np.allclose(told.whole, ballot.whole, atol=1e-9)
        assert np.allclose(told.support, ballot.support, atol=1e-6)


def joined_by(said: Ballot, link: np.ndarray, recall: float, pages: int, copies: int) -> Ballot:
    """The ballot with so many pages more, each on sites of its own and as often as `copies`."""
    agreement = np.block([
        [said.agreement, np.tile(link[:, None], pages)],
        [np.tile(link, (pages, 1)), np.ones((pages, pages))],
    ])  # fmt: skip
    sites = np.zeros(np.add(said.sites.shape, pages))
    sites[:-pages, :-pages], sites[-pages:, -pages:] = said.sites, np.eye(pages)
    remembered = said.remembered
    if remembered is not None:
        agree = np.append(remembered.agreement, np.full(pages, recall))
        remembered = replace(remembered, agreement=agree)
    weights = None if said.weights is None else np.append(said.weights, np.full(pages, 0.7))
    times = np.append(np.ones(said.sites.shape[1]), np.full(pages, float(copies)))
    return Ballot(agreement, sites, remembered, weights, times)


def test_equal_pages_are_one_page_that_stands_for_all():
    """Whether they are written out or counted changes no share and no side."""
    rng = np.random.default_rng(6)
    planted_kept = 0
    for _ in range(300):
        said, copies = random_ballot(rng), int(rng.integers(2, 6))
        link, recall = 0.5 * rng.random(len(said.agreement)), float(rng.random())
        one = joined_by(said, link, recall, 1, copies)
        spelt = joined_by(said, link, recall, copies, 1)
        plus = RadarPlus(normalise=bool(rng.random() < 0.7), sharpness=float(rng.choice([1, 2, 4])))
        n, each = len(said.agreement), np.ones(len(one.counts), dtype=int)
        each[n] = copies
        assert one.counts.tolist() == each.tolist()
        shares, alone = (keep_shares(b, plus.sharpness) for b in (spelt, one))
        assert shares == pytest.approx(np.repeat(alone, each), abs=1e-12)
        sides = sides_of(plus, one)
        assert sides_of(plus, spelt).tolist() == np.repeat(sides, each).tolist()
        planted_kept += int(sides[n])
    assert 30 < planted_kept < 270
