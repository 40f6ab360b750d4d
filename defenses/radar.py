"""RADAR: exact selection of mutually consistent documents, with a memory of the last answer.

Read `CutDefense.defend` beside Algorithm 1 of the paper; `docs/radar.md` says what the paper leaves
open and what was chosen.
"""

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.cut_defense import CutDefense
from radarstream.defenses.cut_graph import Graph, Recalled
from radarstream.defenses.responses import Asking
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.memory import Belief
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Radar(CutDefense):
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
    first_answer
        What the answer without a memory is written from: the kept documents, as Algorithm 1 says,
        or their atomic answers, as Appendix G says. Small models read one page at a time better.
    """

    def build_graph(
        self, evidence: Evidence, answers: tuple[str, ...], recalled: Recalled | None
    ) -> Graph:
        """Nodes and capacities (lines 6-9; Eq. 6, 7, 13-16, 29-36)."""
        return self.published_graph(evidence, answers, recalled, self.epsilon)

    def believe(
        self,
        evidence: Evidence,  # noqa: ARG002 RADAR+ counts its votes
        state: Belief | None,  # noqa: ARG002 RADAR+ lets its votes fade
        answer: str,
        consistency: FloatArray,
        conflict: FloatArray,
    ) -> Asking[Belief]:
        """Remember the answer with its support and conflict (Eq. 11 and 12)."""
        yield from ()  # asks nothing
        return Belief(answer, float(consistency.mean()), float(conflict.mean()))
