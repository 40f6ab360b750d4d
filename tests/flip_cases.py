"""Random decisions of RADAR, and random attacks that keep to the assumptions of its certificate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from radarstream.defenses.cut_defense import CutDefense
from radarstream.defenses.cut_graph import Recalled
from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.reliability import independent_set
from radarstream.defenses.kernels.worst_case_cut import AGREEMENT, CLOSE
from radarstream.defenses.radar import Radar
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.verdict import Verdict
from tests.builders import OBSERVED_AT, QUESTION, make_evidence
from tests.driving import Script, run


def event_of(verdict: Verdict, defense: str = "radar", urls: Sequence[str] = ()) -> AnswerEvent:
    return AnswerEvent(
        query_id="cup",
        question=QUESTION,
        step=0,
        snapshot_id="cup@0",
        observed_at=OBSERVED_AT,
        provenance=Provenance.SIMULATED,
        defense=defense,
        answer=verdict.answer,
        abstention=verdict.abstention,
        changed=None,
        verdict=verdict,
        sources=tuple(Source(r, "", url) for r, url in enumerate(urls, start=1)),
    )


@dataclass(frozen=True)
class Relating:
    """Symmetric relations among n documents at `ranks` of `retrieved`, and with the memory (n,)."""

    entailment: np.ndarray
    contradiction: np.ndarray
    ranks: np.ndarray
    retrieved: int
    state: Belief | None
    recalled: np.ndarray
    denied: np.ndarray

    @property
    def evidence(self) -> Evidence:
        return make_evidence(
            self.entailment,
            self.contradiction,
            ranks=self.ranks.tolist(),
            retrieved=self.retrieved,
        )

    def verdict(self, defense: CutDefense, urls: Sequence[str] = ()) -> Verdict:
        """What a defence decides, of documents at these addresses if given; the cut alone, without
        a similarity check or a generator.
        """
        said = [f"answer {rank}" for rank in self.ranks]
        place = {text: i for i, text in enumerate(said)}

        def relation(premise: str, hypothesis: str) -> tuple[float, float]:
            other = place.get(hypothesis, place.get(premise))
            if "old" in (premise, hypothesis) and other is not None:
                return float(self.recalled[other]), float(self.denied[other])
            return 0.9, 0.05

        evidence = with_sites(self.evidence, urls) if urls else self.evidence
        verdict, _ = run(defense.defend(evidence, self.state), Script(relation=relation))
        return verdict

    def kept(self, radar: Radar) -> np.ndarray:
        """(n,) or (n + 1,) with the memory: the source side of RADAR's own graph."""
        recalled = None
        if self.state is not None:
            recalled = Recalled(self.state, self.recalled, self.denied)
        evidence = self.evidence
        answers = tuple(f"answer {rank}" for rank in self.ranks)
        graph = radar.build_graph(evidence, answers, recalled)
        return min_cut(graph.source, graph.sink, graph.pair).kept


def with_sites(evidence: Evidence, urls: Sequence[str]) -> Evidence:
    """The evidence with its documents at these addresses."""
    documents = tuple(replace(d, url=u) for d, u in zip(evidence.documents, urls, strict=True))
    return replace(evidence, documents=documents)


def proper(rng: np.random.Generator, shape: tuple[int, ...], most: float) -> tuple:
    """Entailments up to `most` and contradictions that fit beside them; often extreme."""
    entailment = most * rng.choice([0.0, 1.0, rng.random()], size=shape)
    contradiction = (1.0 - entailment) * rng.choice([0.0, 1.0, 1.0, rng.random()], size=shape)
    return entailment, contradiction


def symmetric(rng: np.random.Generator, n: int, most: float) -> tuple:
    entailment, contradiction = proper(rng, (n, n), most)
    upper = np.triu(np.ones((n, n)), 1)
    return tuple(m * upper + (m * upper).T for m in (entailment, contradiction))


def random_relating(rng: np.random.Generator, most: int = 9) -> Relating:
    """A camp, perhaps a smaller one, perhaps strangers; noisy relations; perhaps a memory."""
    camp, rivals = int(rng.integers(2, most)), int(rng.integers(0, 3))
    strangers = int(rng.integers(0, 2))
    n = camp + rivals + strangers
    side = np.repeat([0, 1, 2], [camp, rivals, strangers])
    side = side[rng.permutation(n)]
    same = (side[:, None] == side[None, :]) & (side != 2)[:, None]
    noise = rng.choice([0.0, 0.02, 0.2])
    base = rng.choice([1.0, 0.9])
    spread = noise * rng.random((n, n))
    spread = np.triu(spread, 1) + np.triu(spread, 1).T
    entailment = np.where(same, base - spread, 0.1 * spread)
    contradiction = np.where(same, 0.0, (1.0 - entailment) * rng.choice([1.0, 0.9, 0.5]))
    np.fill_diagonal(entailment, 0.0)
    np.fill_diagonal(contradiction, 0.0)
    retrieved = n + int(rng.integers(0, 3))
    ranks = np.sort(rng.choice(np.arange(1, retrieved + 1), n, replace=False))
    state = None
    if rng.random() < 0.5:
        state = Belief("old", float(rng.random()), float(rng.random()))
    believed = rng.choice([0, 0, 1])
    recalled = np.where(side == believed, base - noise * rng.random(n), 0.1 * noise)
    denied = np.where(side == believed, 0.0, (1.0 - recalled) * rng.random())
    return Relating(entailment, contradiction, ranks, retrieved, state, recalled, denied)


def attacked(
    rng: np.random.Generator, case: Relating, camp: np.ndarray, liars: int, *, beside: bool
) -> tuple[Relating, np.ndarray]:
    """The case with liars at random or at the top ranks, and which documents are of the camp.

    Whether the memory supports the answer decides how much they may agree with it: that is the
    last of `camp`.
    """
    supports, camp = bool(camp[-1]), camp[:-1]
    everyone = np.arange(1, case.retrieved + 1)
    gone = np.zeros(0) if beside else rng.choice(everyone, liars, replace=False)
    stay = ~np.isin(case.ranks, gone)
    others = everyone[~np.isin(everyone, gone)]
    places = np.arange(1, liars + 1)  # at the top, or anywhere
    if rng.random() < 0.5:
        places = np.sort(rng.choice(len(others) + liars, liars, replace=False)) + 1
    free = np.setdiff1d(np.arange(1, len(others) + liars + 1), places)
    new_rank = dict(zip(others.tolist(), free.tolist(), strict=True))
    ranks = [*(new_rank[rank] for rank in case.ranks[stay].tolist()), *places.tolist()]
    n, s = len(ranks), int(stay.sum())
    entailment, contradiction = np.zeros((n, n)), np.zeros((n, n))
    entailment[:s, :s] = case.entailment[np.ix_(stay, stay)]
    contradiction[:s, :s] = case.contradiction[np.ix_(stay, stay)]
    entailment[s:, s:], contradiction[s:, s:] = symmetric(rng, liars, 1.0)
    most = np.where(camp[stay], AGREEMENT, 1.0)
    agree, deny = proper(rng, (liars, s), 1.0)
    if rng.random() < 0.5:  # all the liars alike
        agree[:], deny[:] = agree[:1], deny[:1]
    agree = np.minimum(agree, most)
    deny = np.minimum(deny, 1.0 - agree)
    entailment[s:, :s], entailment[:s, s:] = agree, agree.T
    contradiction[s:, :s], contradiction[:s, s:] = deny, deny.T
    recall, denial = proper(rng, (liars,), AGREEMENT if supports else 1.0)
    by_rank = np.argsort(ranks)
    whole = Relating(
        entailment[np.ix_(by_rank, by_rank)],
        contradiction[np.ix_(by_rank, by_rank)],
        np.array(ranks)[by_rank],
        len(others) + liars,
        case.state,
        np.append(case.recalled[stay], recall)[by_rank],
        np.append(case.denied[stay], denial)[by_rank],
    )
    return whole, np.append(camp[stay], np.zeros(liars, dtype=bool))[by_rank]


def support_of(
    case: Relating, kept: np.ndarray, camp: np.ndarray, supports: bool
) -> tuple[int, int]:
    """How many kept answers support the answer, and the size of the largest other kept claim."""
    n = len(camp)
    size = len(kept)
    entailment = np.zeros((size, size))
    entailment[:n, :n] = case.entailment
    if size > n:
        entailment[n, :n] = entailment[:n, n] = case.recalled
    ours = np.append(camp, supports)[:size]
    others = kept & ~ours
    apart = (entailment < CLOSE)[np.ix_(others, others)]
    np.fill_diagonal(apart, False)
    return int((kept & ours).sum()), int(independent_set(apart).sum())


def with_liars(
    case: Relating, camp: np.ndarray, liars: int, gone: object, supports: bool
) -> tuple[Relating, np.ndarray]:
    """The case with equal liars at the top ranks that contradict everybody, the memory included."""
    stay = ~np.isin(case.ranks, gone)
    everyone = np.arange(1, case.retrieved + 1)
    others = everyone[~np.isin(everyone, gone)]
    new_rank = {rank: place + liars for place, rank in enumerate(others.tolist(), start=1)}
    s = int(stay.sum())
    entailment, contradiction = np.ones((liars + s,) * 2), np.ones((liars + s,) * 2)
    entailment[:liars, liars:] = entailment[liars:, :liars] = 0.0
    contradiction[:liars, :liars] = 0.0
    entailment[liars:, liars:] = case.entailment[np.ix_(stay, stay)]
    contradiction[liars:, liars:] = case.contradiction[np.ix_(stay, stay)]
    np.fill_diagonal(entailment, 0.0)
    np.fill_diagonal(contradiction, 0.0)
    after = Relating(
        entailment,
        contradiction,
        np.array([*range(1, liars + 1), *(new_rank[rank] for rank in case.ranks[stay].tolist())]),
        len(others) + liars,
        case.state,
        np.append(np.zeros(liars), case.recalled[stay]),
        np.append(np.ones(liars), case.denied[stay]),
    )
    return after, np.append(np.zeros(liars, dtype=bool), camp[stay])
