"""Certificates that count: majority, keywords and independent sets, against brute force."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.kernels.reliability import independent_set
from radarstream.defenses.majority import Majority
from radarstream.defenses.reliability_rag import ReliabilityRag
from radarstream.defenses.robust_rag import RobustRag
from radarstream.schemas.certificate import Change, FlipBound
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.memory import Belief
from tests.builders import claims_evidence, make_evidence
from tests.driving import Script, run, saying
from tests.flip_cases import event_of

CLAIMS = ("rome", "oslo", "bonn", None)


def bounds_of(name: str, defense: object, evidence: object, state: object = None) -> dict:
    verdict, _ = run(defense.defend(evidence, state), Script(answer=saying("final")))
    certificate = certified(name, defense, event_of(verdict, name))
    return {(bound.change, bound.remembering): bound for bound in certificate.bounds}


class TestMajority:
    @staticmethod
    def winner(claims: Sequence[str | None], previous: str | None = None) -> str | None:
        """As the class says, in a line: most votes, then first; the memory comes last."""
        votes = Counter(claim for claim in claims if claim is not None)
        if votes and previous is not None:
            votes[previous] += 1
        return max(votes, key=votes.__getitem__) if votes else None

    def fewest(self, claims: tuple, change: Change, previous: str | None) -> int:
        """By trying all liars at the top ranks and all choices of what they replace."""
        now = self.winner(claims, previous)
        for liars in range(1, len(claims) + 3):
            taken = liars if change is Change.REPLACED else 0
            if taken > len(claims):
                break
            for gone in itertools.combinations(range(len(claims)), taken):
                stay = [claim for i, claim in enumerate(claims) if i not in gone]
                for lies in itertools.combinations_with_replacement(("lie", *CLAIMS), liars):
                    if self.winner([*lies, *stay], previous) not in (now, None):
                        return liars
        raise AssertionError("nothing changes it")

    @pytest.mark.parametrize("previous", [None, "rome", "oslo"])
    def test_is_exact(self, previous: str | None):
        defense = Majority(memory=previous is not None)
        state = None if previous is None else Belief(previous, 0.9, 0.1)
        rng = np.random.default_rng(2)
        for _ in range(25):
            claims = tuple(CLAIMS[i] for i in rng.integers(0, 4, size=int(rng.integers(1, 6))))
            if self.winner(claims) is None:
                continue
            bounds = bounds_of("majority", defense, claims_evidence(claims), state)
            for change in Change:
                bound = bounds[change, previous is not None]
                assert bound.needed.documents == self.fewest(claims, change, previous)
                assert bound.enough.documents == bound.needed.documents

    def test_no_attack_below_the_certificate_succeeds(self):
        """At least 3,000 random attacks."""
        rng, tried = np.random.default_rng(3), 0
        while tried < 3_000:
            claims = [CLAIMS[i] for i in rng.choice(4, p=(0.6, 0.2, 0.1, 0.1), size=10)]
            if self.winner(claims) is None:
                continue
            bounds = bounds_of("majority", Majority(), claims_evidence(claims))
            for (change, _), bound in bounds.items():
                for _ in range(60 if bound.needed.documents > 1 else 0):
                    attacked = inserted(rng, claims, bound, change, ("lie", *CLAIMS))
                    assert self.winner(attacked) == self.winner(claims)
                    tried += 1


def inserted(
    rng: np.random.Generator, claims: Sequence, bound: FlipBound, change: Change, lies: Sequence
) -> list:
    """The claims after a random attack with fewer liars than are needed, at random ranks."""
    liars = int(rng.integers(1, bound.needed.documents))
    after = list(claims)
    if change is Change.REPLACED:
        gone = rng.choice(len(claims), liars, replace=False)
        after = [claim for i, claim in enumerate(claims) if i not in gone]
    one = rng.random() < 0.5
    for _ in range(liars):
        lie = lies[0] if one else lies[int(rng.integers(0, len(lies)))]
        after.insert(int(rng.integers(0, len(after) + 1)), lie)
    return after


class TestKeywords:
    SAYS = ("alpha", "beta", "alpha beta", "gamma", None)

    @staticmethod
    def heard(defense: RobustRag, says: Sequence[str | None]) -> tuple[str, ...]:
        answers = [AtomicAnswer(s or "", s is None) for s in says]
        return defense.heard([defense.voice(a) for a in answers])

    def test_no_attack_below_the_certificate_succeeds(self):
        """At least 3,000 random attacks: the shown words stay."""
        rng, tried = np.random.default_rng(4), 0
        while tried < 3_000:
            defense = RobustRag(alpha=float(rng.choice([0.3, 0.5, 0.8])), beta=5.0)
            size = int(rng.integers(6, 16))
            says = [self.SAYS[i] for i in rng.choice(5, p=(0.7, 0.02, 0.2, 0.03, 0.05), size=size)]
            if not self.heard(defense, says):
                continue
            for (change, _), bound in bounds_of(
                "robust_rag", defense, claims_evidence(says)
            ).items():
                for _ in range(60 if bound.needed.documents > 1 else 0):
                    attacked = inserted(rng, says, bound, change, ("lie", *self.SAYS))
                    assert self.heard(defense, attacked) == self.heard(defense, says)
                    tried += 1

    @pytest.mark.parametrize("change", Change)
    def test_is_exact(self, change: Change):
        """Liars of one kind, and every choice of what they replace, attain the bound."""
        rng = np.random.default_rng(6)
        for _ in range(40):
            defense = RobustRag(alpha=float(rng.choice([0.3, 0.5, 1.0])))
            says = [self.SAYS[i] for i in rng.integers(0, 5, size=int(rng.integers(1, 6)))]
            before = self.heard(defense, says)
            if not before:
                continue
            documents = bounds_of("robust_rag", defense, claims_evidence(says))[change, False]
            liars = documents.needed.documents
            removed = liars if change is Change.REPLACED else 0
            stays = [
                [s for i, s in enumerate(says) if i not in gone]
                for gone in itertools.combinations(range(len(says)), removed)
            ]
            phrases = ("lie", "other", *self.SAYS)
            lies = itertools.combinations_with_replacement(phrases, liars)
            assert documents.enough.documents == liars
            assert any(
                self.heard(defense, [*lie, *stay]) != before for lie in lies for stay in stays
            )

    def test_three_equal_lies_are_always_heard(self):
        bounds = bounds_of("robust_rag", RobustRag(), claims_evidence(["true"] * 50))
        assert bounds[Change.ADDED, False].needed.documents == 3
        assert bounds[Change.REPLACED, False].needed.documents == 3


class TestIndependentSets:
    def test_no_attack_below_the_certificate_succeeds(self):
        """At least 1,500 random attacks, whatever the added documents contradict."""
        rng, tried = np.random.default_rng(8), 0
        while tried < 1_500:
            n = int(rng.integers(4, 10))
            edges = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.05, 0.2]), 1)
            edges = edges | edges.T
            kept = independent_set(edges)
            evidence = make_evidence(np.zeros((n, n)), edges * 0.9)
            for (change, _), bound in bounds_of(
                "reliability_rag", ReliabilityRag(), evidence
            ).items():
                for _ in range(30 if bound.needed.documents > 1 else 0):
                    after, ours = self.attacked(rng, edges, kept, bound, change)
                    chosen = independent_set(after)
                    assert (chosen & ours).sum() > (chosen & ~ours).sum()
                    tried += 1

    @staticmethod
    def attacked(
        rng: np.random.Generator,
        edges: np.ndarray,
        kept: np.ndarray,
        bound: FlipBound,
        change: Change,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Edges and the mask of what was kept, after liars at the top or at random ranks."""
        n, liars = len(edges), int(rng.integers(1, bound.needed.documents))
        stay = np.arange(n)
        if change is Change.REPLACED:
            stay = np.setdiff1d(stay, rng.choice(n, liars, replace=False))
        size = liars + len(stay)
        after = np.zeros((size, size), dtype=bool)
        after[:liars] = rng.random((liars, size)) < rng.choice([0.2, 0.5, 0.8])
        after[:liars, :liars] &= rng.random() < 0.5
        after = np.triu(after, 1)
        after |= after.T
        after[liars:, liars:] = edges[np.ix_(stay, stay)]
        ours = np.append(np.zeros(liars, dtype=bool), kept[stay])
        order = np.arange(size) if rng.random() < 0.7 else rng.permutation(size)
        return after[np.ix_(order, order)], ours[order]

    @pytest.mark.parametrize("size", range(1, 9))
    def test_without_contradictions_the_bounds_are_attained(self, size: int):
        """Liars contradict as many of the kept ones as the search says, and half are theirs."""
        evidence = make_evidence(np.zeros((size, size)), np.zeros((size, size)))
        bounds = bounds_of("reliability_rag", ReliabilityRag(), evidence)
        for change in Change:
            bound = bounds[change, False]
            liars = bound.enough.documents
            assert liars == bound.needed.documents
            left = size - liars if change is Change.REPLACED else size
            edges = np.zeros((liars + left,) * 2, dtype=bool)
            edges[:liars, liars : 2 * liars] = True
            chosen = independent_set(edges | edges.T)
            assert chosen[:liars].sum() >= chosen[liars:].sum()

    def test_more_than_twenty_documents_have_no_proof(self):
        """With one more another method answers."""
        evidence = make_evidence(np.zeros((20, 20)), np.zeros((20, 20)))
        bounds = bounds_of("reliability_rag", ReliabilityRag(), evidence)
        assert bounds[Change.ADDED, False].needed.documents == 1
        assert bounds[Change.ADDED, False].enough is None
        assert bounds[Change.REPLACED, False].needed.documents == 7
