"""RADAR+: RADAR's cut over voices instead of documents. Ours, not the paper's.

`docs/radar_plus.md` has the energy, what is proved about it, and what each change was measured to
buy and to cost.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.cut_graph import (
    Graph,
    OnEmpty,
    Selection,
    distrust_of,
    informative_answers,
    known_liars,
    known_relations,
    relate,
    select,
    trusted_passages,
    verdict_on,
    verdict_without_evidence,
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
from radarstream.defenses.protocol import Complete, Defending, Signal
from radarstream.defenses.responses import ask
from radarstream.defenses.sites import site_voices
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    Abstention,
    MemoryDecision,
    MemoryVerdict,
    Verdict,
)


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
class RadarPlus:
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

    epsilon: Annotated[float, Field(ge=0.0)] = 0.01
    iterations: Annotated[int, Field(ge=1)] = 100
    delta: Annotated[float, Field(gt=0.0)] = 1e-8
    similarity_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.3
    pair_scale: Annotated[float, Field(ge=0.0)] = 1.0
    on_empty: OnEmpty = "best_document"
    normalise: bool = True
    remember: Annotated[float, Field(ge=0.0, lt=1.0)] = 1 / 3
    self_support: bool = True
    one_voice_per_site: bool = True
    source_prior: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0

    @property
    def needs(self) -> frozenset[Signal]:
        """The ledger of sources is read only if it counts."""
        known = {Signal.SOURCE_HONESTY} if self.source_prior else set()
        return frozenset({Signal.ATOMIC_ANSWERS, Signal.RELATIONS} | known)

    def initial_state(self) -> Belief | None:
        """No previous answer."""
        return None

    def defend(self, evidence: Evidence, state: Belief | None) -> Defending[Belief | None]:
        """Judge one snapshot.

        The state moves only when there is a new answer. Raises EvidenceError when answers or
        relations are missing, or when a response is not what its request asked for.
        """
        question = evidence.query.text
        answers = informative_answers(evidence)
        if not answers:
            return verdict_without_evidence(evidence, state), state
        claims = self.claims(evidence, answers)
        recalled = None
        if state is not None:
            recalled = yield from relate(question, state.answer, answers)
        graph = self.build_graph(claims, state, recalled, retrieved=len(evidence.documents))

        liars = known_liars(graph, evidence, self.source_prior)
        selection = yield from select(graph, liars, self.on_empty, self.similarity_threshold)

        def verdict(outcome: AtomicAnswer | Abstention) -> Verdict:
            judged = verdict_on(evidence, state, selection, outcome)
            if state is None or recalled is None or MEMORY_NODE in graph.nodes:
                return judged
            return replace(judged, memory=spoken_for(state, recalled, selection))

        if not selection.trusted.any():
            return verdict(Abstention.NO_CONSENSUS), state
        if state is None:
            documents = trusted_passages(evidence, selection)
            answer = yield from ask(Complete(Task.ANSWER_FROM_DOCUMENTS, question, documents))
        else:
            shown = tuple(graph.texts[i] for i in np.flatnonzero(selection.trusted))
            answer = yield from ask(Complete(Task.SYNTHESISE_ANSWERS, question, shown))
        if answer.abstained:
            return verdict(Abstention.MODEL_ABSTAINED), state
        consistency, conflict = yield from relate(question, answer.text, answers)
        belief = self.believe(answer.text, claims.masses, consistency, conflict)
        if state is not None and self.remember:
            agreement = np.ones(1)
            if answer.text != state.answer:
                agreement, _ = yield from relate(question, answer.text, (state.answer,))
            older = self.remember * state.voices * float(agreement[0])
            belief = replace(belief, voices=max(belief.voices, older))
        return verdict(answer), belief

    def claims(self, evidence: Evidence, answers: tuple[str, ...]) -> Claims:
        """The informative documents, each with its voice."""
        relations = known_relations(evidence)
        documents = [evidence.documents[i] for i in evidence.informative]
        masses = np.ones(len(documents))
        if self.one_voice_per_site:
            masses = np.array(site_voices([document.url for document in documents]))
        suspicion = np.zeros(len(documents))
        if self.source_prior:
            suspicion = self.source_prior * distrust_of(evidence)
        return Claims(
            ranks=np.array([document.rank for document in documents]),
            texts=answers,
            masses=masses,
            consistency=symmetrise(relations.entailment),
            conflict=symmetrise(relations.contradiction),
            suspicion=suspicion,
        )

    def build_graph(
        self,
        claims: Claims,
        state: Belief | None,
        recalled: tuple[FloatArray, FloatArray] | None,
        *,
        retrieved: int,
    ) -> Graph:
        """Nodes and capacities of the claims and of what is remembered.

        `recalled` is how the previous answer agrees and disagrees with each document's.
        """
        if state is None or recalled is None:
            return self.weighed(self.judged(claims, retrieved), claims.masses)
        if self.remember:
            claims = self.remembering(claims, state, *recalled)
            return self.weighed(self.judged(claims, retrieved), claims.masses)
        consistency, conflict = recalled
        support = bayes(state.support, mean(consistency, claims.masses))
        refutation = bayes(state.conflict, mean(conflict, claims.masses))
        pairs = self.pair_scale * consistency
        graph = with_memory(
            self.judged(claims, retrieved), state.answer, support, refutation, pairs
        )
        return self.weighed(graph, np.append(claims.masses, 1.0))

    def remembering(
        self, claims: Claims, state: Belief, consistency: FloatArray, conflict: FloatArray
    ) -> Claims:
        """Join the previous answer with the voices that present documents do not lend it.

        A page that is found again is no second witness, and the memory does not know who spoke
        for it: the most cautious assumption is that all of them speak again.
        """
        voices = self.remember * state.voices - float((claims.masses * consistency).sum())
        if voices <= 0.0:
            return claims
        return Claims(
            ranks=np.append(claims.ranks, MEMORY_NODE),
            texts=(*claims.texts, state.answer),
            masses=np.append(claims.masses, voices),
            consistency=bordered(claims.consistency, consistency),
            conflict=bordered(claims.conflict, conflict),
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

    def believe(
        self, answer: str, masses: FloatArray, consistency: FloatArray, conflict: FloatArray
    ) -> Belief:
        """What this snapshot alone says of its answer (Eq. 11 and 12 over voices)."""
        voices = float((masses * consistency).sum()) if self.remember else 0.0
        return Belief(answer, mean(consistency, masses), mean(conflict, masses), voices)


def mean(values: FloatArray, masses: FloatArray) -> float:
    """The mean over voices; `masses` (n,), n > 0."""
    return float((masses * values).sum() / masses.sum())


def bordered(matrix: FloatArray, last: FloatArray) -> FloatArray:
    """(n, n) with one more row and column, zero on the diagonal."""
    return np.block([[matrix, last[:, None]], [last[None, :], np.zeros((1, 1))]])


def spoken_for(
    state: Belief, recalled: tuple[FloatArray, FloatArray], selection: Selection
) -> MemoryVerdict:
    """What becomes of a memory without a voice of its own: the kept documents decide.

    It is no node of the graph, so it has neither capacities nor a margin.
    """
    consistency, conflict = recalled
    kept = selection.cut.kept
    retained = bool(consistency[kept].sum() > conflict[kept].sum())
    return MemoryVerdict(
        decision=MemoryDecision.RETAINED if retained else MemoryDecision.FALSIFIED,
        previous_answer=state.answer,
        support_prior=state.support,
        conflict_prior=state.conflict,
    )
