"""RADAR's certificate against random attacks on RADAR itself, and its attacks played on it."""

import dataclasses
import itertools

import numpy as np
import pytest

from radarstream.defenses.certificates.cut import instance_of, likelihood
from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.kernels.radar import bayes
from radarstream.defenses.kernels.worst_case_cut import AGREEMENT
from radarstream.defenses.radar import Radar
from radarstream.schemas.certificate import Attack, Certificate, Change, Enough
from radarstream.schemas.memory import Belief
from tests.flip_cases import (
    Relating,
    attacked,
    event_of,
    random_relating,
    support_of,
    with_liars,
)

RADAR = Radar()
ENOUGH = 1_500  # attacks in a run
ATTACKS = 60  # on a bound


def unanimous(n: int, agree: float = 1.0, *, state: Belief | None = None) -> Relating:
    entailment = np.full((n, n), agree) - agree * np.eye(n)
    return Relating(
        entailment,
        np.zeros((n, n)),
        np.arange(1, n + 1),
        n,
        state,
        np.full(n, agree),
        np.zeros(n),
    )


def certificate_of(case: Relating, radar: Radar = RADAR) -> Certificate:
    return certified("radar", radar, event_of(case.verdict(radar)))


def bounds_of(certificate: Certificate) -> dict:
    return {(bound.change, bound.remembering): bound for bound in certificate.bounds}


@pytest.mark.parametrize("seed", range(2))
def test_no_attack_below_the_certificate_succeeds(seed: int):
    """At least 3,000 random attacks altogether."""
    rng = np.random.default_rng(seed)
    tried = 0
    while tried < ENOUGH:
        case = random_relating(rng)
        event = event_of(case.verdict(RADAR))
        certificate = certified("radar", RADAR, event)
        instance = instance_of(RADAR, event)
        supports = instance.memory is not None and instance.memory.supports
        camp = np.append(instance.camp, supports)
        for bound in certificate.bounds:
            if bound.remembering != (case.state is not None):
                continue
            for _ in range(ATTACKS if bound.needed.documents > 1 else 0):
                liars = int(rng.integers(1, bound.needed.documents))
                beside = bound.change is Change.ADDED
                after, still = attacked(rng, case, camp, liars, beside=beside)
                ours, theirs = support_of(after, after.kept(RADAR), still, supports)
                assert ours > theirs
                tried += 1


@pytest.mark.parametrize("agree", [0.9, 1.0])
@pytest.mark.parametrize("size", range(1, 5))
@pytest.mark.parametrize("change", Change)
def test_bounds_enclose_what_brute_force_finds(size: int, agree: float, change: Change):
    """Equal liars at the top or the bottom, over a grid of their relations."""
    case = unanimous(size, agree)
    bound = bounds_of(certificate_of(case))[change, False]
    fewest = next(
        liars
        for liars in range(1, size + 2)
        if any(turned(case, liars, change, grid) for grid in GRID)
    )
    assert bound.needed.documents <= fewest <= bound.enough.documents


GRID = list(itertools.product((0.0, AGREEMENT), (0.5, 0.9, 1.0), (0.0, 1.0), (True, False)))


def turned(case: Relating, liars: int, change: Change, grid: tuple) -> bool:
    """Whether liars win who entail and contradict the camp and one another so much."""
    agree, deny, among, at_top = grid
    taken = liars if change is Change.REPLACED else 0
    if taken > len(case.ranks):
        return False
    stay = len(case.ranks) - taken
    size = stay + liars
    lying = np.arange(size) < liars if at_top else np.arange(size) >= stay
    across = lying[:, None] != lying[None, :]
    both = lying[:, None] & lying[None, :]
    present = float(case.entailment.max(initial=0.0))
    entailment = np.where(across, agree, np.where(both, among, present))
    contradiction = np.where(across, min(deny, 1.0 - agree), 0.0)
    np.fill_diagonal(entailment, 0.0)
    after = Relating(
        entailment,
        contradiction,
        np.arange(1, size + 1),
        size,
        None,
        np.zeros(size),
        np.zeros(size),
    )
    ours, theirs = support_of(after, after.kept(RADAR), ~lying, False)
    return ours <= theirs


def test_every_attack_found_works_on_radar_itself():
    rng = np.random.default_rng(5)
    played = 0
    for _ in range(60):
        case = random_relating(rng)
        event = event_of(case.verdict(RADAR))
        certificate = certified("radar", RADAR, event)
        instance = instance_of(RADAR, event)
        supports = instance.memory is not None and instance.memory.supports
        for bound in certificate.bounds:
            if bound.enough is None or bound.enough.attack is not Attack.NEW_CLAIM:
                continue
            if bound.remembering != (case.state is not None):
                continue
            assert bound.enough.documents >= bound.needed.documents
            gone = ()
            if bound.change is Change.REPLACED:
                gone = case.ranks[instance.camp][: bound.enough.documents]
            after, still = with_liars(case, instance.camp, bound.enough.documents, gone, supports)
            kept = after.kept(RADAR)
            ours, theirs = support_of(after, kept, still, supports)
            assert ours <= theirs
            played += 1
    assert played >= 15


@pytest.mark.parametrize(("state", "replaced"), [(None, 5), (Belief("old", 0.9, 0.05), 6)])
def test_perfect_relations_among_ten(state: Belief | None, replaced: int):
    """Five top ranks turn a unanimous list of ten, six if it is remembered."""
    bound = bounds_of(certificate_of(unanimous(10, state=state)))[
        Change.REPLACED, state is not None
    ]
    assert bound.enough == Enough(replaced, 1, Attack.NEW_CLAIM)
    assert 4 <= bound.needed.documents <= replaced


def test_the_memory_never_makes_it_easier_where_it_supports_the_answer():
    bounds = bounds_of(certificate_of(unanimous(8, 0.9, state=Belief("old", 0.9, 0.05))))
    for change in Change:
        with_memory, without = bounds[change, True], bounds[change, False]
        assert with_memory.needed.documents >= without.needed.documents
        assert with_memory.enough.documents >= without.enough.documents


def test_one_document_that_deceives_the_scorer_is_enough_against_fifty():
    """Eq. 36 makes the least central document's centrality 0, and here that is everybody's."""
    certificate = certificate_of(unanimous(50, 0.95))
    assert certificate.deceived == Enough(1, 1, Attack.BRIDGE)
    assert bounds_of(certificate)[Change.ADDED, False].needed.documents > 5


def test_a_single_document_is_turned_by_one():
    for bound in certificate_of(unanimous(1)).bounds:
        assert bound.needed.documents == bound.enough.documents == 1


@pytest.mark.parametrize(
    ("radar", "reason"),
    [
        (Radar(pair_scale=0.0), "pair_scale"),
        (Radar(on_empty="all_informative"), "all documents"),
        (Radar(source_prior=1.0), "past of the sources"),
    ],
)
def test_says_why_nothing_is_proved(radar: Radar, reason: str):
    event = event_of(unanimous(3).verdict(Radar()))
    assert reason in certified("radar", radar, event).reason


def test_nothing_is_said_of_an_abstention():
    event = event_of(unanimous(3).verdict(RADAR))
    silent = dataclasses.replace(event.verdict, abstention="no_consensus", answer="")
    certificate = certified("radar", RADAR, dataclasses.replace(event, verdict=silent))
    assert "no answer" in certificate.reason
    assert certificate.bounds == ()


@pytest.mark.parametrize("prior", [0.0, 0.05, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("seen", [0.001, 0.3, 0.999])
def test_a_posterior_tells_the_likelihood(prior: float, seen: float):
    assert likelihood(prior, bayes(prior, seen)) == pytest.approx(seen, abs=1e-6)


def test_attacks_keep_to_the_assumptions():
    rng = np.random.default_rng(0)
    case = random_relating(rng)
    instance = instance_of(RADAR, event_of(case.verdict(RADAR)))
    camp = np.append(instance.camp, True)
    after, still = attacked(rng, case, camp, 3, beside=True)
    assert len(still) == len(case.ranks) + 3
    assert (after.entailment + after.contradiction).max() <= 1.0 + 1e-12
    added = ~np.isin(np.arange(len(still)), np.flatnonzero(still))
    assert after.entailment[np.ix_(still, added)].max() <= max(AGREEMENT, 0.1)
