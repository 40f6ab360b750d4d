"""RADAR: exact selection of mutually consistent documents, with a memory of the last answer.

Read `Radar.defend` beside Algorithm 1 of the paper; `docs/radar.md` lists what the paper leaves
open, and our choices.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses import cut_graph
from radarstream.defenses.answering import Remembering, why_no_evidence
from radarstream.defenses.cut_graph import Graph, OnEmpty, Recalled
from radarstream.defenses.kernels.radar import (
    bayes,
    eigenvector_centrality,
    keep_evidence,
    reject_evidence,
    rescaled,
    symmetrise,
)
from radarstream.defenses.protocol import EVIDENCE, Complete, Defending, Signal, ask
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention, Verdict


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Radar(Remembering):
    """Min-cut over atomic answers, with a Bayesian memory node.

    From "RADAR: Defending RAG Dynamically against Retrieval Corruption" (Algorithm 1).

    Keeps the documents on the source side of a minimum s-t cut, whose capacities depend on how the
    atomic answers entail and contradict each other (Eq. 3-9), drops isolated ones (Eq. 10) and
    answers from the rest. After the first answer, the previous one is a further node with Bayesian
    terminal capacities (Eq. 11-16), and the answer is synthesised from atomic answers (Eq. 17).

    Parameters
    ----------
    epsilon, iterations, delta
        Self-loop, power steps and stabiliser of the centrality (Eq. 32-36).
    similarity_threshold
        lambda: least mean cosine to the other kept answers (Eq. 40), in [-1, 1].
    pair_scale
        Factor of every pairwise capacity; 1 is the paper's energy. Less helps against relation
        scorers that see a little entailment everywhere.
    on_empty
        What to do if the cut keeps nothing.
    first_answer
        Whether the first answer is written from the kept documents (Algorithm 1) or from their
        atomic answers (Appendix G). Small models read one page at a time better.
    """

    epsilon: Annotated[float, Field(ge=0.0)] = 0.01
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 10
    delta: Annotated[float, Field(gt=0.0)] = 1e-8
    similarity_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.3
    pair_scale: Annotated[float, Field(ge=0.0)] = 1.0
    on_empty: OnEmpty = "best_document"
    first_answer: Literal["documents", "answers"] = "documents"

    needs: ClassVar[frozenset[Signal]] = EVIDENCE

    def defend(self, evidence: Evidence, state: Belief | None) -> Defending[Belief | None]:
        """Judge one snapshot (RADAR, Algorithm 1, lines 4-24).

        The state changes only with a new answer. Raises EvidenceError if answers or relations are
        missing.
        """
        question = evidence.query.text
        answers = cut_graph.informative_answers(evidence)
        if not answers:
            outcome = AtomicAnswer(state.answer) if state else why_no_evidence(evidence)
            return cut_graph.verdict_without_cut(evidence, state, outcome), state
        recalled = None
        if state is not None:
            cut_graph.known_relations(evidence)  # raises before the first request
            recalled = Recalled(
                state, *(yield from cut_graph.relate(question, state.answer, answers))
            )
        graph = self.build_graph(evidence, answers, recalled)

        selection = yield from cut_graph.select(graph, self.on_empty, self.similarity_threshold)

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
        support, refutation = float(consistency.mean()), float(conflict.mean())  # Eq. 11 and 12
        return verdict(answer), Belief(answer.text, support, refutation)

    def build_graph(
        self, evidence: Evidence, answers: tuple[str, ...], recalled: Recalled | None
    ) -> Graph:
        """Build nodes and capacities of the informative documents and of the previous answer
        (lines 6-9; Eq. 6, 7, 13-16, 29-36).
        """
        relations = cut_graph.known_relations(evidence)
        ranks = tuple(evidence.documents[i].rank for i in evidence.informative)
        consistency = symmetrise(relations.entailment)
        raw = eigenvector_centrality(
            consistency, epsilon=self.epsilon, iterations=self.iterations, delta=self.delta
        )
        centrality = rescaled(raw, delta=self.delta)
        conflict = symmetrise(relations.contradiction)
        graph = Graph(
            nodes=ranks,
            texts=answers,
            source=keep_evidence(centrality, np.array(ranks), retrieved=len(evidence.documents)),
            sink=reject_evidence(conflict, centrality),
            pair=self.pair_scale * consistency,
            conflict=conflict,
        )
        if recalled is None:
            return graph
        support = bayes(recalled.state.support, float(recalled.consistency.mean()))
        refutation = bayes(recalled.state.conflict, float(recalled.conflict.mean()))
        pairs = self.pair_scale * recalled.consistency
        return cut_graph.with_memory(graph, recalled, support, refutation, pairs)
