"""RADAR+: RADAR's cut with votes for capacities. Ours, not the paper's.

`docs/radar_plus.md` has the energy, what is proved about it, and what it was measured to buy and
to cost; `docs/protocol.md` says how its constants were chosen.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.cut_defense import CutDefense
from radarstream.defenses.cut_graph import (
    Graph,
    Recalled,
    distrust_of,
    known_relations,
    relate,
)
from radarstream.defenses.kernels.radar import bayes, symmetrise
from radarstream.defenses.kernels.votes import (
    Ballot,
    Remembered,
    keep_shares,
    site_members,
    strongest_rival,
    voices,
)
from radarstream.defenses.responses import Asking
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.memory import Belief
from radarstream.schemas.sites import site_of
from radarstream.schemas.snapshot import STRICT, OnEmpty
from radarstream.schemas.times import whole_milliseconds
from radarstream.schemas.verdict import MEMORY_NODE

_SAME = 0.5  # an answer that agrees with the previous one at least so much takes over its voices
_DAY = timedelta(days=1)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RadarPlus(CutDefense):
    """RADAR with votes for capacities, counted in documents and in voices of sites.

    Our change of "RADAR: Defending RAG Dynamically against Retrieval Corruption" (Algorithm 1).
    With f_i votes for and o_i against answer i (`kernels/votes.py`), the cut minimises

        E(y) = 1/N sum_i [y_i F_i + (1 - y_i) S_i] + rho/N^2 sum_{i<j} M_ij |y_i - y_j|

    exactly; S = f^q / (f^q + o^q) and F = 1 - S by the count that speaks less for the answer: what
    is kept has more documents than any rival, and more voices.

    Parameters
    ----------
    epsilon, iterations, delta, similarity_threshold, pair_scale
        As RADAR's; rho is `pair_scale`. The first three serve where `votes` is off.
    on_empty
        As RADAR's. The fall-backs answer from documents that lost one of the counts.
    votes
        Capacities are votes. Without it they are RADAR's (Eq. 6 and 7).
    sharpness
        q. The larger, the more a small lead is worth.
    normalise
        Capacities are shares: of the N nodes, of their pairs. Without it they are sums, as RADAR's.
    self_support
        An answer agrees with itself. Without it only so much as RADAR's `epsilon` says.
    site_cap
        Pages of one site that say the same have 1 + log p voices. Without it p.
    half_life_days
        Event time in which voices that no present page repeats lose half their weight. 0 is RADAR's
        memory (Eq. 11-16), and so it is where `votes` is off.
    source_prior
        As RADAR's: the most that a source's past adds to the reject-evidence of a document, and
        known liars carry no answer alone. The vote of a page is divided by 1 plus this term.

    With `votes`, `normalise`, `self_support` and `site_cap` off the verdicts are RADAR's.
    """

    on_empty: OnEmpty = "abstain"
    votes: bool = True
    sharpness: Annotated[float, Field(ge=1.0, le=64.0)] = 2.0
    normalise: bool = True
    self_support: bool = True
    site_cap: bool = True
    half_life_days: Annotated[float, Field(ge=0.0, le=3650.0)] = 28.0

    def build_graph(
        self, evidence: Evidence, answers: tuple[str, ...], recalled: Recalled | None
    ) -> Graph:
        """Nodes and capacities of the documents' answers and of what is remembered."""
        if not self.votes:
            own = 1.0 if self.self_support else self.epsilon
            return self.weighed(self.published_graph(evidence, answers, recalled, own))
        if recalled is None or not self.half_life_days:
            graph = self.voted(evidence, answers, None)
            return self.weighed(self.with_published_memory(graph, recalled))
        return self.weighed(self.voted(evidence, answers, recalled))

    def voted(
        self, evidence: Evidence, answers: tuple[str, ...], recalled: Recalled | None
    ) -> Graph:
        """The graph before shares are taken, its capacities from votes."""
        ballot = self.ballot(evidence, recalled)
        nodes = tuple(evidence.documents[i].rank for i in evidence.informative)
        if recalled is not None:
            nodes, answers = (*nodes, MEMORY_NODE), (*answers, recalled.state.answer)
        source = keep_shares(ballot, self.sharpness)
        sink = 1.0 - source
        if self.source_prior:
            sink[: len(evidence.informative)] += self.source_prior * distrust_of(evidence)
        pair = self.pair_scale * ballot.whole
        np.fill_diagonal(pair, 0.0)
        return Graph(nodes, answers, source, sink, pair)

    def ballot(self, evidence: Evidence, recalled: Recalled | None) -> Ballot:
        """Who votes on this snapshot: its informative pages and the previous answer.

        RADAR's node of the previous answer weighs up to half a document: that decides every tie.
        """
        agreement = symmetrise(known_relations(evidence).entailment)
        np.fill_diagonal(agreement, 1.0 if self.self_support else self.epsilon)
        urls = [evidence.documents[i].url for i in evidence.informative]
        sites = site_members([site_of(url) for url in urls] if self.site_cap else [""] * len(urls))
        weights = None
        if self.source_prior:
            weights = 1.0 / (1.0 + self.source_prior * distrust_of(evidence))
        if recalled is None:
            return Ballot(agreement, sites, weights=weights)
        state, fade = recalled.state, self.fade(recalled.state, evidence.observed_at)
        return Ballot(
            agreement,
            sites,
            Remembered(
                recalled.consistency,
                fade * np.array([state.documents, state.voices]),
                node=bayes(state.support, float(recalled.consistency.mean())) / 2,  # Eq. 14
                fade=fade,
            ),
            weights,
        )

    def fade(self, state: Belief, now: datetime) -> float:
        """What a voice is still worth, in [0, 1]; 0 where it is not known when it spoke."""
        if state.confirmed_at is None:
            return 0.0
        age = max(timedelta(0), now - state.confirmed_at) / _DAY
        return float(0.5 ** (age / self.half_life_days))

    def believe(
        self,
        evidence: Evidence,
        state: Belief | None,
        answer: str,
        consistency: FloatArray,
        conflict: FloatArray,
    ) -> Asking[Belief]:
        """What this snapshot says of its answer (Eq. 11 and 12), and the voices behind it.

        While another answer leads among the present pages, the voices of an answer that stands
        and their time stay as they were: they fade.
        """
        support, refutation = float(consistency.mean()), float(conflict.mean())
        if not (self.votes and self.half_life_days):
            return Belief(answer, support, refutation)
        support, refutation = round(support, 6), round(refutation, 6)  # a row is small
        now = whole_milliseconds(evidence.observed_at)
        tally, leads = self.lead_of(evidence, consistency)
        if state is not None:
            agreement = np.ones(1)
            if answer != state.answer:
                agreement, _ = yield from relate(evidence.query.text, answer, (state.answer,))
            if agreement[0] >= _SAME:
                if not leads:
                    was = (state.voices, state.documents, state.confirmed_at)
                    return Belief(answer, support, refutation, *was)
                past = np.array([state.documents, state.voices])
                tally = np.maximum(tally, self.fade(state, now) * past)
        documents, sites = np.round(tally, 3).tolist()
        return Belief(answer, support, refutation, sites, documents, now)

    def lead_of(self, evidence: Evidence, consistency: FloatArray) -> tuple[FloatArray, bool]:
        """The documents and voices of present pages for an answer, (2,), and whether no rival of
        it has as many by either count.
        """
        ballot = self.ballot(evidence, None)
        row = consistency[None, :]
        votes = ballot.weighed(row)
        tally = np.array([votes.sum(), voices(votes, ballot.sites)[0]])
        apart = ballot.apart(ballot.whole, row).votes(np.zeros(2))
        return tally, bool((tally > strongest_rival(ballot.present, apart)[:, 0]).all())

    def weighed(self, graph: Graph) -> Graph:
        """Capacities as shares of the nodes and of their pairs."""
        if not self.normalise:
            return graph
        n = len(graph.nodes)
        return replace(
            graph, source=graph.source / n, sink=graph.sink / n, pair=graph.pair / (n * n)
        )
