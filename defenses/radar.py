"""RADAR: exact selection of mutually consistent documents, with a memory of the last answer.

Read `Radar.defend` beside Algorithm 1 of the paper; `docs/radar.md` says what the paper leaves
open and what was chosen.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.cut_graph import (
    Graph,
    OnEmpty,
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
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Radar:
    """Min-cut over atomic answers, with a Bayesian memory node.

    From "RADAR: Defending RAG Dynamically against Retrieval Corruption" (Algorithm 1).

    Keeps the documents on the source side of a minimum s-t cut whose capacities come from how the
    atomic answers entail and contradict each other (Eq. 3-9), drops isolated ones (Eq. 10) and
    answers from the rest. From the second informative snapshot on, the previous answer is one
    more node with Bayesian terminal capacities (Eq. 11-16), and the answer is synthesised from
    atomic answers (Eq. 17).

    Parameters
    ----------
    epsilon, iterations, delta
        Self-loop, power steps and stabiliser of the centrality (Eq. 32-36).
    similarity_threshold
        lambda: least mean cosine to the other kept answers (Eq. 40), in [-1, 1].
    pair_scale
        Factor on every pairwise capacity; 1 is the paper's energy. Less resists relation scorers
        that see a little entailment everywhere.
    on_empty
        What to do when the cut keeps nothing.
    source_prior
        Our addition: the most that a source's past adds to the reject-evidence of its documents;
        and sources with more than one lie to their name carry no answer without another source. 0
        is the paper's energy.
    """

    epsilon: Annotated[float, Field(ge=0.0)] = 0.01
    iterations: Annotated[int, Field(ge=1)] = 10
    delta: Annotated[float, Field(gt=0.0)] = 1e-8
    similarity_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.3
    pair_scale: Annotated[float, Field(ge=0.0)] = 1.0
    on_empty: OnEmpty = "best_document"
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
        """Judge one snapshot (Algorithm 1, lines 4-24).

        The state moves only when there is a new answer. Raises EvidenceError when answers or
        relations are missing, or when a response is not what its request asked for.
        """
        question = evidence.query.text
        answers = informative_answers(evidence)
        if not answers:
            return verdict_without_evidence(evidence, state), state
        graph = self.build_graph(evidence, answers)
        if state is not None:
            consistency, conflict = yield from relate(question, state.answer, answers)
            graph = self.add_history(graph, state, consistency, conflict)

        liars = known_liars(graph, evidence, self.source_prior)
        selection = yield from select(graph, liars, self.on_empty, self.similarity_threshold)
        if not selection.trusted.any():
            return verdict_on(evidence, state, selection, Abstention.NO_CONSENSUS), state

        if state is None:
            documents = trusted_passages(evidence, selection)
            answer = yield from ask(Complete(Task.ANSWER_FROM_DOCUMENTS, question, documents))
        else:
            claims = tuple(graph.texts[i] for i in np.flatnonzero(selection.trusted))
            answer = yield from ask(Complete(Task.SYNTHESISE_ANSWERS, question, claims))
        if answer.abstained:
            return verdict_on(evidence, state, selection, Abstention.MODEL_ABSTAINED), state

        consistency, conflict = yield from relate(question, answer.text, answers)
        belief = Belief(answer.text, float(consistency.mean()), float(conflict.mean()))
        return verdict_on(evidence, state, selection, answer), belief

    def build_graph(self, evidence: Evidence, answers: tuple[str, ...]) -> Graph:
        """Nodes and capacities of the informative documents (lines 6-7; Eq. 6, 7, 29-36)."""
        relations = known_relations(evidence)
        ranks = tuple(evidence.documents[i].rank for i in evidence.informative)
        consistency = symmetrise(relations.entailment)
        raw = eigenvector_centrality(
            consistency, epsilon=self.epsilon, iterations=self.iterations, delta=self.delta
        )
        centrality = rescaled(raw, delta=self.delta)
        rejected = reject_evidence(symmetrise(relations.contradiction), centrality)
        if self.source_prior:
            rejected = rejected + self.source_prior * distrust_of(evidence)
        return Graph(
            nodes=ranks,
            texts=answers,
            source=keep_evidence(centrality, np.array(ranks), retrieved=len(evidence.documents)),
            sink=rejected,
            pair=self.pair_scale * consistency,
        )

    def add_history(
        self, graph: Graph, state: Belief, consistency: FloatArray, conflict: FloatArray
    ) -> Graph:
        """Join the previous answer as the last node (line 9; Eq. 13-16).

        `consistency` and `conflict` are (n,): the previous answer against each document's.
        """
        support = bayes(state.support, float(consistency.mean()))
        refutation = bayes(state.conflict, float(conflict.mean()))
        pairs = self.pair_scale * consistency
        return with_memory(graph, state.answer, support, refutation, pairs)
