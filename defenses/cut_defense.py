"""The steps that RADAR and RADAR+ share, from evidence and the last answer to a verdict."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses import cut_graph
from radarstream.defenses.cut_graph import Graph, Recalled
from radarstream.defenses.kernels.radar import (
    bayes,
    eigenvector_centrality,
    keep_evidence,
    reject_evidence,
    rescaled,
    symmetrise,
)
from radarstream.defenses.protocol import Complete, Defending, Signal
from radarstream.defenses.responses import Asking, ask
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT, OnEmpty, Query
from radarstream.schemas.verdict import Abstention, Verdict

DefenseT = TypeVar("DefenseT")


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class CutDefense(ABC):
    """Keeps the documents on one side of a minimum cut, with the last answer as a witness.

    A subclass says what the graph is and what is remembered. The parameters are those of `Radar`;
    what a query says of `on_empty` takes the place of the option.
    """

    epsilon: Annotated[float, Field(ge=0.0)] = 0.01
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 10
    delta: Annotated[float, Field(gt=0.0)] = 1e-8
    similarity_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.3
    pair_scale: Annotated[float, Field(ge=0.0)] = 1.0
    on_empty: OnEmpty = "best_document"
    source_prior: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    first_answer: Literal["documents", "answers"] = "documents"

    @property
    def needs(self) -> frozenset[Signal]:
        """The ledger of sources is read only if it counts."""
        known = {Signal.SOURCE_HONESTY} if self.source_prior else set()
        return frozenset({Signal.ATOMIC_ANSWERS, Signal.RELATIONS} | known)

    def initial_state(self) -> Belief | None:
        """No previous answer."""
        return None

    def defend(self, evidence: Evidence, state: Belief | None) -> Defending[Belief | None]:
        """Judge one snapshot (RADAR, Algorithm 1, lines 4-24).

        The state moves only when there is a new answer. Raises EvidenceError when answers or
        relations are missing, or when a response is not what its request asked for.
        """
        question = evidence.query.text
        answers = cut_graph.informative_answers(evidence)
        if not answers:
            return cut_graph.verdict_without_evidence(evidence, state), state
        recalled = None
        if state is not None:
            cut_graph.known_relations(evidence)  # refuses incomplete evidence before it asks
            recalled = Recalled(
                state, *(yield from cut_graph.relate(question, state.answer, answers))
            )
        graph = self.build_graph(evidence, answers, recalled)

        liars = cut_graph.known_liars(graph, evidence, self.source_prior)
        selection = yield from cut_graph.select(
            graph, liars, as_asked(self, evidence.query).on_empty, self.similarity_threshold
        )

        def verdict(outcome: AtomicAnswer | Abstention) -> Verdict:
            return cut_graph.verdict_on(evidence, recalled, selection, outcome)

        if not selection.trusted.any():
            return verdict(Abstention.NO_CONSENSUS), state
        if state is None and self.first_answer == "documents":
            documents = cut_graph.trusted_passages(evidence, selection)
            answer = yield from ask(Complete(Task.ANSWER_FROM_DOCUMENTS, question, documents))
        else:
            claims = tuple(graph.texts[i] for i in np.flatnonzero(selection.trusted))
            answer = yield from ask(Complete(Task.SYNTHESISE_ANSWERS, question, claims))
        if answer.abstained:
            return verdict(Abstention.MODEL_ABSTAINED), state

        consistency, conflict = yield from cut_graph.relate(question, answer.text, answers)
        belief = yield from self.believe(evidence, state, answer.text, consistency, conflict)
        return verdict(answer), belief

    def published_graph(
        self,
        evidence: Evidence,
        answers: tuple[str, ...],
        recalled: Recalled | None,
        self_loop: float,
    ) -> Graph:
        """RADAR's nodes and capacities (lines 6-9; Eq. 6, 7, 13-16, 29-36).

        `self_loop` is what each answer adds to its own centrality, the paper's `epsilon`.
        """
        relations = cut_graph.known_relations(evidence)
        ranks = tuple(evidence.documents[i].rank for i in evidence.informative)
        consistency = symmetrise(relations.entailment)
        raw = eigenvector_centrality(
            consistency, epsilon=self_loop, iterations=self.iterations, delta=self.delta
        )
        centrality = rescaled(raw, delta=self.delta)
        rejected = reject_evidence(symmetrise(relations.contradiction), centrality)
        if self.source_prior:
            rejected = rejected + self.source_prior * cut_graph.distrust_of(evidence)
        graph = Graph(
            nodes=ranks,
            texts=answers,
            source=keep_evidence(centrality, np.array(ranks), retrieved=len(evidence.documents)),
            sink=rejected,
            pair=self.pair_scale * consistency,
        )
        return self.with_published_memory(graph, recalled)

    def with_published_memory(self, graph: Graph, recalled: Recalled | None) -> Graph:
        """The graph with the previous answer as one more node, if there is any (Eq. 13-16)."""
        if recalled is None:
            return graph
        state = recalled.state
        support = bayes(state.support, float(recalled.consistency.mean()))
        refutation = bayes(state.conflict, float(recalled.conflict.mean()))
        pairs = self.pair_scale * recalled.consistency
        return cut_graph.with_memory(graph, state.answer, support, refutation, pairs)

    @abstractmethod
    def build_graph(
        self, evidence: Evidence, answers: tuple[str, ...], recalled: Recalled | None
    ) -> Graph:
        """Nodes and capacities of the informative documents and of the previous answer."""

    @abstractmethod
    def believe(
        self,
        evidence: Evidence,
        state: Belief | None,
        answer: str,
        consistency: FloatArray,
        conflict: FloatArray,
    ) -> Asking[Belief]:
        """What is remembered of a new answer, given how each document's answer relates to it."""


def as_asked(defense: DefenseT, query: Query) -> DefenseT:
    """A defence with what a query says of `on_empty`, if it cuts a graph."""
    if query.on_empty is None or not isinstance(defense, CutDefense):
        return defense
    return replace(defense, on_empty=query.on_empty)
