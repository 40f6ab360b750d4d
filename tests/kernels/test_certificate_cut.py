"""The certificate: no smaller attack changes sides, and it is not far from the truth."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.defenses.kernels.certificate_cut import FlipCounts, Rule, documents_to_flip
from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.votes import Ballot, Remembered, keep_shares, site_members
from tests.kernels.test_votes import ballot

Array = np.ndarray
CASES = 700


def kept_by(said: Ballot, rule: Rule) -> Array:
    """The cut of RADAR+."""
    share, pair = keep_shares(said, rule.sharpness), rule.pair_scale * said.whole
    np.fill_diagonal(pair, 0.0)
    n = len(share) if rule.normalise else 1
    return min_cut(share / n, (1.0 - share) / n, pair / n**2).kept


def certified(said: Ballot, rule: Rule | None = None, k: int = 10) -> FlipCounts:
    rule = rule or Rule()
    found = documents_to_flip(said, kept_by(said, rule), rule, pages_per_site=k)
    assert found is not None
    return found


class TestKnownCases:
    @pytest.mark.parametrize(
        ("claims", "sites", "expected"),
        [
            ("A" * 9, "abcdefghi", (9, 5, 3)),
            ("AAAAAABBBB", "abcdefghij", (2, 1, 1)),
            ("A", "a", (1, 1, 1)),
            ("AAAAAAAAAB", "xxxxxxxxxb", (8, 4, 1)),
        ],
    )
    def test_exact_relations(self, claims: str, sites: str, expected: tuple[int, ...]):
        found = certified(ballot(claims, sites))
        assert (found.add, found.replace, found.add_sites) == expected

    def test_nothing_kept_has_no_certificate(self):
        said = ballot("AB", "xy")
        assert documents_to_flip(said, kept_by(said, Rule()), Rule(), pages_per_site=9) is None

    def test_a_memory_raises_it(self):
        remembered = Remembered(np.ones(3), np.array([9.0, 9.0]), node=0.5, fade=0.9)
        alone, remembering = ballot("AAA", "abc"), ballot("AAA", "abc", remembered)
        assert certified(alone).add == 3
        assert certified(remembering).add == 9
        assert certified(remembering).replace > certified(alone).replace

    def test_a_leak_that_is_admitted_lowers_it(self):
        said = ballot("A" * 12, "abcdefghijkl")
        assert certified(said, Rule(leak=0.1)).add < certified(said).add


def random_ballot(rng: np.random.Generator) -> Ballot:
    """A few claims with noisy agreement, on a few sites, sometimes remembered."""
    n = int(rng.integers(1, 9))
    claims = rng.integers(0, rng.integers(1, 4), n)
    noise = rng.choice([0.0, 0.05, 0.4])
    same = claims[:, None] == claims
    agreement = np.abs(same - noise * rng.random((n, n)))
    agreement = np.sqrt(agreement * agreement.T)
    np.fill_diagonal(agreement, 1.0)
    sites = site_members([str(site) for site in rng.integers(0, rng.integers(1, n + 1), n)])
    weights = rng.random(n) if rng.random() < 0.3 else None
    if rng.random() < 0.5:
        return Ballot(agreement, sites, weights=weights)
    agree = np.abs((claims == 0) - noise * rng.random(n))
    documents = 8 * rng.random()
    lasting = np.array([documents, documents * rng.random()])
    memory = Remembered(agree, lasting, rng.random() / 2, rng.random())
    return Ballot(agreement, sites, memory, weights)


def attacked(
    said: Ballot, kept: Array, rule: Rule, rng: np.random.Generator, x: int, *, replacing: bool
) -> tuple[Ballot, Array]:
    """The ballot with x planted pages, and which of its nodes nobody may keep."""
    n, remembered = len(said.agreement), said.remembered
    inside = kept[:n].astype(bool)
    gone = np.zeros(n, dtype=bool)
    if replacing:
        order = np.argsort(~inside, kind="stable") if rng.random() < 0.7 else rng.permutation(n)
        gone[order[: min(x, n)]] = True
    # What planted pages say: as one, beside what is cut, or anything at all.
    style = rng.integers(3)
    link = np.where(inside, rule.leak, 1.0 if style else rng.random(n))
    if style == 2:
        link = link * (rng.random(n) < 0.5)
    among = np.ones((x, x)) if style < 2 else np.sqrt(np.outer(*rng.random((2, x))))
    among = np.maximum(among, among.T)
    np.fill_diagonal(among, 1.0)
    agreement = np.block(
        [[said.agreement, np.tile(link[:, None], x)], [np.tile(link, (x, 1)), among]]
    )
    apart = rng.random() < 0.7
    sites = np.zeros((n + x, said.sites.shape[1] + x))
    sites[:n, : said.sites.shape[1]] = said.sites
    columns = said.sites.shape[1] + np.arange(x) if apart else rng.integers(0, sites.shape[1], x)
    sites[n + np.arange(x), columns] = 1.0
    stays = np.append(~gone, np.ones(x, dtype=bool))
    if remembered is not None:
        with_memory = rule.leak if kept[-1] else rng.choice([0.0, 1.0])
        agree = np.append(remembered.agreement, np.full(x, with_memory))[stays]
        remembered = replace(remembered, agreement=agree, node=rng.random() / 2)
    weights = None
    if said.weights is not None:
        weights = np.append(said.weights, np.ones(x))[stays]
    after = Ballot(agreement[np.ix_(stays, stays)], sites[stays], remembered, weights)
    forbidden = np.append(~inside, np.ones(x, dtype=bool))[stays]
    if remembered is not None:
        forbidden = np.append(forbidden, not kept[-1])
    return after, forbidden


@pytest.mark.parametrize("replacing", [False, True])
def test_no_attack_below_the_certificate_changes_sides(replacing: bool):
    rng = np.random.default_rng(7)
    tried = reached = 0
    for _ in range(CASES):
        said = random_ballot(rng)
        rule = Rule(
            sharpness=float(rng.choice([1.0, 2.0, 4.0])),
            normalise=bool(rng.random() < 0.8),
            leak=float(rng.choice([0.0, 0.0, 0.05])),
        )
        kept = kept_by(said, rule)
        found = documents_to_flip(said, kept, rule, pages_per_site=9)
        if found is None:
            continue
        bound = found.replace if replacing else found.add
        for x in {bound - 1, int(rng.integers(1, bound + 1)), bound, bound + 1} - {0}:
            after, forbidden = attacked(said, kept, rule, rng, x, replacing=replacing)
            flipped = bool((kept_by(after, rule) & forbidden).any())
            if x < bound:
                tried += 1
                assert not flipped, (said, rule, x, bound)
            reached += flipped
    assert tried > CASES / 4
    assert reached > CASES / 20  # the attacks of this test are worth resisting


def test_no_attack_from_fewer_sites_changes_sides():
    rng = np.random.default_rng(8)
    for _ in range(200):
        said = ballot("A" * 8 + "B", "abcdefghi")
        kept = kept_by(said, Rule())
        found = documents_to_flip(said, kept, Rule(), pages_per_site=6)
        assert found is not None
        sites, pages = found.add_sites - 1, 6
        claims, hosts = "A" * 8 + "B" + "B" * (sites * pages), "abcdefghi"
        for site in range(sites):
            hosts += "xyzuvw"[site] * pages
        count = int(rng.integers(0, sites * pages + 1))
        after = ballot(claims[: 9 + count], hosts[: 9 + count])
        assert not kept_by(after, Rule())[8:].any()
