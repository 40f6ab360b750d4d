"""RADAR+: RADAR's cut over voices instead of documents. Ours, not the paper's.

`docs/radar_plus.md` has the energy, what is proved about it, and what each change was measured to
buy and to cost.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.cut_defense import CutDefense
from radarstream.defenses.cut_graph import (
    Graph,
    Recalled,
    distrust_of,
    known_relations,
    relate,
    with_memory,
)
from radarstream.defenses.kernels.radar import (
    bayes,
    eigenvector_centrality,
    keep_evidence,
    reject_evidence,
    rescaled,
    symmetrise,
)
from radarstream.defenses.responses import Asking
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.memory import Belief
from radarstream.schemas.sites import site_of
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import MEMORY_NODE


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What is judged: the documents' answers, then perhaps the remembered one.

    `ranks` are (n,), MEMORY_NODE for the memory; `masses` (n,) are voices, > 0; `consistency` and
    `conflict` are (n, n), symmetric, with a zero diagonal. `suspicion` (n,) is what the past of
    their sources adds to the reject-evidence; the memory has no source.
    """

    ranks: NDArray[np.int_]
    texts: tuple[str, ...]
    masses: FloatArray
    consistency: FloatArray
    conflict: FloatArray
    suspicion: FloatArray


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RadarPlus(CutDefense):
    """RADAR with every claim weighed by the independent voices behind it.

    Our change of "RADAR: Defending RAG Dynamically against Retrieval Corruption" (Algorithm 1).
    Node i has m_i voices, a share p_i = m_i / sum m of all. The cut minimises

        E(y) = sum_i p_i [y_i F_i + (1 - y_i) S_i] + rho sum_{i<j} p_i p_j M_ij |y_i - y_j|

    exactly, with S, F and M as in Eq. 6, 7 and 29 except that whatever sums over documents there
    sums over voices here. A node of mass m acts as m documents that say the same.

    Parameters
    ----------
    epsilon, delta, similarity_threshold, pair_scale, on_empty
        As RADAR's; rho is `pair_scale`.
    iterations
        Power steps of the centrality: enough to converge, where RADAR takes 10.
    normalise
        Capacities are shares of voices. Without it they are masses, RADAR's sums over documents.
    remember
        In [0, 1): what a voice is worth one snapshot later. The previous answer joins the claims
        with the voices it had, times this, that no present document speaks with. 0 is RADAR's
        memory (Eq. 11-16).
    self_support
        An answer entails itself: node i adds m_i to its own centrality. Without it RADAR's
        `epsilon`.
    one_voice_per_site
        The documents of one site share one voice. Without it every document has one.
    source_prior
        As RADAR's: the most that a source's past adds to the reject-evidence of a document, and
        known liars carry no answer alone.

    With `normalise`, `remember`, `self_support` and `one_voice_per_site` off and 10 iterations, the
    verdicts are RADAR's.
    """

    iterations: Annotated[int, Field(ge=1)] = 100
    normalise: bool = True
    remember: Annotated[float, Field(ge=0.0, lt=1.0)] = 1 / 3
    self_support: bool = True
    one_voice_per_site: bool = True

    def build_graph(
        self, evidence: Evidence, answers: tuple[str, ...], recalled: Recalled | None
    ) -> Graph:
        """Nodes and capacities of the documents' answers and of what is remembered."""
        claims = self.claims(evidence, answers)
        if recalled is not None and self.remember:
            claims = self.remembering(claims, recalled)
        graph, masses = self.judged(claims, len(evidence.documents)), claims.masses
        if recalled is not None and not self.remember:
            state = recalled.state
            support = bayes(state.support, _mean(recalled.consistency, masses))
            refutation = bayes(state.conflict, _mean(recalled.conflict, masses))
            pairs = self.pair_scale * recalled.consistency
            graph = with_memory(graph, state.answer, support, refutation, pairs)
            masses = np.append(masses, 1.0)
        return self.weighed(graph, masses)

    def believe(
        self,
        evidence: Evidence,
        state: Belief | None,
        answer: str,
        consistency: FloatArray,
        conflict: FloatArray,
    ) -> Asking[Belief]:
        """What this snapshot says of its answer (Eq. 11 and 12 over voices), with the voices of the
        memory where they are more.
        """
        masses = self.masses(evidence)
        support, refutation = _mean(consistency, masses), _mean(conflict, masses)
        if not self.remember:
            return Belief(answer, support, refutation)
        voices = float((masses * consistency).sum())
        if state is not None:
            agreement = np.ones(1)
            if answer != state.answer:
                agreement, _ = yield from relate(evidence.query.text, answer, (state.answer,))
            voices = max(voices, self.remember * state.voices * float(agreement[0]))
        return Belief(answer, support, refutation, voices)

    def masses(self, evidence: Evidence) -> FloatArray:
        """The voice of each informative document, (n,)."""
        urls = [evidence.documents[i].url for i in evidence.informative]
        return np.array(site_voices(urls)) if self.one_voice_per_site else np.ones(len(urls))

    def claims(self, evidence: Evidence, answers: tuple[str, ...]) -> Claims:
        """The informative documents, each with its voice."""
        relations = known_relations(evidence)
        suspicion = np.zeros(len(answers))
        if self.source_prior:
            suspicion = self.source_prior * distrust_of(evidence)
        return Claims(
            ranks=np.array([evidence.documents[i].rank for i in evidence.informative]),
            texts=answers,
            masses=self.masses(evidence),
            consistency=symmetrise(relations.entailment),
            conflict=symmetrise(relations.contradiction),
            suspicion=suspicion,
        )

    def remembering(self, claims: Claims, recalled: Recalled) -> Claims:
        """Join the previous answer with the voices that present documents do not lend it.

        A page that is found again is no second witness, and the memory does not know who spoke
        for it: the most cautious assumption is that all of them speak again.
        """
        state, consistency = recalled.state, recalled.consistency
        voices = self.remember * state.voices - float((claims.masses * consistency).sum())
        if voices <= 0.0:
            return claims
        return Claims(
            ranks=np.append(claims.ranks, MEMORY_NODE),
            texts=(*claims.texts, state.answer),
            masses=np.append(claims.masses, voices),
            consistency=_bordered(claims.consistency, consistency),
            conflict=_bordered(claims.conflict, recalled.conflict),
            suspicion=np.append(claims.suspicion, 0.0),
        )

    def judged(self, claims: Claims, retrieved: int) -> Graph:
        """Each claim's evidence for and against by itself, not yet times its voices."""
        support = claims.consistency * claims.masses
        if self.self_support:
            np.fill_diagonal(support, claims.masses)
        raw = eigenvector_centrality(
            support,
            epsilon=0.0 if self.self_support else self.epsilon,
            iterations=self.iterations,
            delta=self.delta,
        )
        centrality = rescaled(raw, delta=self.delta)
        return Graph(
            nodes=tuple(claims.ranks.tolist()),
            texts=claims.texts,
            source=keep_evidence(centrality, claims.ranks, retrieved=retrieved),
            sink=reject_evidence(claims.conflict, centrality, claims.masses) + claims.suspicion,
            pair=self.pair_scale * claims.consistency,
        )

    def weighed(self, graph: Graph, masses: FloatArray) -> Graph:
        """Evidence times voices; no capacity of a terminal exceeds 1."""
        total = masses.sum() if self.normalise else max(1.0, float(masses.max()))
        shares = masses / total
        pairs = np.outer(shares, shares if self.normalise else masses)
        return replace(
            graph,
            source=graph.source * shares,
            sink=graph.sink * shares,
            pair=graph.pair * np.maximum(pairs, pairs.T),
        )


def site_voices(urls: Sequence[str]) -> list[float]:
    """One voice per site, shared by its pages alike; a page without an address is its own site.

    >>> site_voices(["https://a.example/1", "https://b.example", "https://a.example/2"])
    [0.5, 1.0, 0.5]
    """
    sites = [site_of(url) for url in urls]
    pages = Counter(sites)
    return [1.0 / pages[site] if site else 1.0 for site in sites]


def _mean(values: FloatArray, masses: FloatArray) -> float:
    """The mean over voices; `masses` (n,), n > 0."""
    return float((masses * values).sum() / masses.sum())


def _bordered(matrix: FloatArray, last: FloatArray) -> FloatArray:
    """(n, n) with one more row and column, zero on the diagonal."""
    return np.block([[matrix, last[:, None]], [last[None, :], np.zeros((1, 1))]])
