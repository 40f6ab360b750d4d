"""RADAR over independent sites: gives answers that withstand lying sites.

`docs/radar.md` has the proof and the differences from the paper.
"""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses import cut_graph
from radarstream.defenses.answering import Remembering, answers_of, why_no_evidence
from radarstream.defenses.cut_graph import BoolArray, Graph, Recalled, Selection
from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.radar import bayes, symmetrise
from radarstream.defenses.protocol import EVIDENCE, Complete, Defending, Signal, ask
from radarstream.defenses.tally import Tally, tally_of
from radarstream.schemas.answer_text import spelling
from radarstream.schemas.evidence import AGREEMENT, AtomicAnswer, Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import MOST_LYING, STRICT, Query
from radarstream.schemas.support import lacks_support
from radarstream.schemas.verdict import Abstention, Verdict


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Voices(Remembering):
    """Min-cut over the voices of independent sites, with a memory node that is at most one voice.

    After "RADAR: Defending RAG Dynamically against Retrieval Corruption", with counts in place of
    estimates. S_i is how many sites say the answer of voice i (in place of Eq. 6), F_i how many say
    its strongest rival (in place of Eq. 7), both divided by the number of voices; voices that agree
    are joined by their consistency. The answer is the atomic answer of a voice that more than
    `withstand` independent sites say, and more than say any rival. The memory node has a Bayesian
    keep-evidence of at most one voice (as Eq. 14); its reject-evidence is the number of sites of
    the strongest answer that contradicts it.

    Parameters
    ----------
    withstand
        w: how many of the sites that were read may lie, 0 to 100.
    memory_days
        Half-life of the memory's strength, in days. A memory of less than half a voice is not given
        as an answer: one of two sites after 0.58 of this time, one of eight after 0.85.
    """

    withstand: Annotated[int, Field(ge=0, le=MOST_LYING)] = 1
    memory_days: Annotated[float, Field(gt=0.0)] = 730.0

    needs: ClassVar[frozenset[Signal]] = EVIDENCE

    def withstands(self, query: Query) -> int | None:
        """Return how many lying sites the answer withstands: by the query, else the option; None
        for long answers, which hardly ever agree.
        """
        if query.withstand is not None:
            return query.withstand
        return None if query.long_form else self.withstand

    def enough(self, evidence: Evidence, unread: float = np.inf) -> bool:
        """Whether the `unread` documents need not be read.

        Either an answer has enough sites, and `withstand` more lying ones could not silence it; or
        the unread documents cannot change whether an answer is given. Each adds at most one site to
        an answer or a rival, or takes one away.
        """
        least = self.withstands(evidence.query)
        if least is None:
            return False
        counts = tally_of(evidence).counts
        most = max((count for count, _ in counts), default=0)
        if most + unread <= least:
            return True
        return any(
            count > least and count - rival > least or count - unread > max(least, rival)
            for count, rival in counts
        )

    def defend(self, evidence: Evidence, state: Belief | None) -> Defending[Belief | None]:
        """Judge one snapshot. The state changes only if enough sites say an answer.

        Raises EvidenceError if answers or relations are missing.
        """
        query, answers = evidence.query, answers_of(evidence)
        cut_graph.known_relations(evidence)
        tally = tally_of(evidence)
        strength = self.strength(state, evidence.observed_at)
        recalled = None
        if state is not None and tally.places:
            texts = tuple(answers[place].text for place in tally.places)
            related = yield from cut_graph.relate(query.text, state.answer, texts)
            recalled = Recalled(state, *related)
        least = self.withstands(query)
        standing = None if state is None or strength < AGREEMENT else AtomicAnswer(state.answer)
        if not tally.places:
            outcome = standing or (
                Abstention.NO_CONSENSUS if tally.torn else why_no_evidence(evidence)
            )
            return cut_graph.verdict_without_cut(evidence, state, outcome, tally.voiceless), state
        graph = self.build_graph(evidence, tally, recalled, strength)
        cut = min_cut(graph.source, graph.sink, graph.pair)
        selection = Selection(graph, cut, cut.kept)

        def verdict(outcome: AtomicAnswer | Abstention) -> Verdict:
            return cut_graph.verdict_on(evidence, recalled, selection, outcome, tally.voiceless)

        if least is None:
            passages = cut_graph.trusted_passages(evidence, selection)
            if not passages:
                return verdict(Abstention.NO_CONSENSUS), state
            answer = yield from ask(Complete(Task.ANSWER_FROM_DOCUMENTS, query.text, passages))
            return verdict(Abstention.MODEL_ABSTAINED if answer.abstained else answer), state
        chosen = leader(evidence, tally, cut.kept, least)
        count, rival = tally.counts[chosen]
        candidate = answers[tally.places[chosen]]
        missing = lacks_support(count, rival, least)
        if missing is None:
            said = share(count, rival)
            belief = Belief(candidate.text, said, 1.0 - said, evidence.observed_at)
            return verdict(candidate), belief
        said, denied = (0, 0) if recalled is None else sites_of(recalled, tally)
        if standing is not None and (denied <= least or denied < said):
            return verdict(standing), state
        return replace(verdict(missing), candidate=candidate.text), state

    def strength(self, state: Belief | None, now: datetime) -> float:
        """Return the weight of a memory in voices, in [0, 1], halved every `memory_days`."""
        if state is None:
            return 0.0
        if state.confirmed_at is None:
            return state.support
        age = max(now - state.confirmed_at, timedelta(0)) / timedelta(days=1)
        return float(state.support * 0.5 ** (age / self.memory_days))

    def build_graph(
        self, evidence: Evidence, tally: Tally, recalled: Recalled | None, strength: float
    ) -> Graph:
        """Build the graph of the voices, with counts as capacities, and of the previous answer."""
        relations, answers = cut_graph.known_relations(evidence), answers_of(evidence)
        at = [evidence.informative.index(place) for place in tally.places]
        size = max(1, len(at))
        counts = np.array(tally.counts, dtype=np.float64).reshape(-1, 2) / size
        consistency = symmetrise(relations.entailment[np.ix_(at, at)])
        graph = Graph(
            nodes=tuple(evidence.documents[place].rank for place in tally.places),
            texts=tuple(answers[place].text for place in tally.places),
            source=counts[:, 0],
            sink=counts[:, 1],
            pair=np.where(tally.agree, consistency, 0.0) / size,
            conflict=symmetrise(relations.contradiction[np.ix_(at, at)]),
        )
        if recalled is None:
            return graph
        said, denied = sites_of(recalled, tally)
        agrees = recalled.consistency >= AGREEMENT
        return cut_graph.with_memory(
            graph,
            recalled,
            source=bayes(strength, share(said, denied)) / size,
            sink=denied / size,
            pairs=np.where(agrees, recalled.consistency, 0.0) / size,
        )


def sites_of(recalled: Recalled, tally: Tally) -> tuple[int, int]:
    """Return how many sites say the previous answer, and how many its strongest rival."""
    agrees = recalled.consistency >= AGREEMENT
    return tally.largest(agrees), tally.largest(~agrees & (recalled.conflict >= AGREEMENT))


def share(count: int, rival: int) -> float:
    """Estimate the share of sites that say an answer, not its rival: the mean of a beta
    distribution after a uniform prior.

    >>> share(2, 0), share(8, 0), share(2, 2)
    (0.75, 0.9, 0.5)
    """
    return (count + 1) / (count + rival + 2)


def leader(evidence: Evidence, tally: Tally, kept: BoolArray, withstand: int) -> int:
    """Return the number of the voice whose answer may be given: one with enough sites, then one
    that the cut keeps, with most sites, fewest against it, the commonest spelling, the best rank.
    """
    texts = [answers_of(evidence)[place].text for place in tally.places]
    spelt = [spelling(text) or text for text in texts]
    common = Counter(spelt)

    def merit(number: int) -> tuple[bool, bool, int, int, int, int]:
        count, rival = tally.counts[number]
        given = lacks_support(count, rival, withstand) is None
        return given, bool(kept[number]), count, -rival, common[spelt[number]], -number

    return max(range(len(texts)), key=merit)
