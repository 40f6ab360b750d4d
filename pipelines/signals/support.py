"""How far an answer can be trusted: what the documents and the memory say about it.

Every atomic answer of the snapshot counts, those of rejected documents too, so the figures are the
same for every defence that gives the same answer.
"""

from collections.abc import Generator
from typing import Any, Final, TypeVar

import numpy as np

from radarstream.defenses.kernels.independence import independent_groups, voices
from radarstream.defenses.kernels.radar import both_ways
from radarstream.defenses.protocol import Relate, Request
from radarstream.pipelines.signals.evidence import AGREEMENT
from radarstream.schemas.answer_text import contains
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.sites import site_of
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import Abstention, Verdict

ResultT = TypeVar("ResultT")
# Relations that are known already, (3,) probabilities by premise and hypothesis.
Known = dict[tuple[str, str], FloatArray]

CORROBORATING_SITES: Final = 2  # independent sites that corroborate an answer
DISPUTED_SHARE: Final = 0.5  # of the weight for an answer: with so much against it, it is disputed
UNSEEN: Final = 2.0  # voices that might yet speak against an answer
_SAME: Final = np.array([1.0, 0.0, 0.0])


def overhearing(
    asking: Generator[Request, Any, ResultT], known: Known
) -> Generator[Request, Any, ResultT]:
    """The same generator; the relations that it is told are also written into `known`."""
    try:
        request = next(asking)
        while True:
            response = yield request
            if isinstance(request, Relate):
                known.update(pairs_in(request, response))
            request = asking.send(response)
    except StopIteration as stop:
        result: ResultT = stop.value
        return result
    finally:
        asking.close()


def pairs_in(request: Relate, rows: FloatArray) -> Known:
    """The answered relations of a request by pair."""
    return dict(zip(zip(request.premises, request.hypotheses, strict=True), rows, strict=True))


def learn(evidence: Evidence, answer: str, known: Known) -> None:
    """Take from the evidence how an answer relates to the documents' own, if a document gave it."""
    if evidence.answers is None or evidence.relations is None:
        return
    texts = [evidence.answers[i].text for i in evidence.informative]
    if answer not in texts:
        return
    place, relations = texts.index(answer), evidence.relations
    for other, text in enumerate(texts):
        for one, two, pair in ((place, other, (answer, text)), (other, place, (text, answer))):
            entailed, contradicted = (
                relations.entailment[one, two],
                relations.contradiction[one, two],
            )
            row = [entailed, max(0.0, 1.0 - entailed - contradicted), contradicted]
            known.setdefault(pair, np.array(row))


def unknown_relations(evidence: Evidence, verdict: Verdict, known: Known) -> Relate | None:
    """What is still to be asked about an answer: each pair once, in both directions; None if
    nothing is.
    """
    if verdict.abstained:
        return None
    answer, others = verdict.answer, said_by(evidence)
    if verdict.memory.previous_answer is not None:
        others = (*others, verdict.memory.previous_answer)
    pairs = [pair for other in others for pair in ((answer, other), (other, answer))]
    asked = [p for p in dict.fromkeys(pairs) if p[0] != p[1] and p not in known]
    if not asked:
        return None
    premises, hypotheses = zip(*asked, strict=True)
    return Relate(evidence.query.text, premises, hypotheses)


def said_by(evidence: Evidence) -> tuple[str, ...]:
    """The informative atomic answers of all documents; none where no defence asked for them."""
    if evidence.answers is None:
        return ()
    return tuple(evidence.answers[i].text for i in evidence.informative)


def means_the_same(one: str, other: str, known: Known) -> bool:
    """Whether each of two answers entails the other."""
    if one == other:
        return True
    ways = (known[one, other], known[other, one])
    return all(row[0] >= AGREEMENT for row in ways)


def support_of(evidence: Evidence, verdict: Verdict, known: Known) -> Support:
    """What is behind an answer and against it; all its relations are `known`.

    Where no defence asked for atomic answers, a document is for the answer if it names it as whole
    words, and none is against it.
    """
    agreement, conflict = _stances(evidence, verdict.answer, known)
    is_for = agreement >= AGREEMENT
    is_against = ~is_for & (conflict >= AGREEMENT)
    memory = _memory(verdict, known)
    (sites_for, weight_for), (sites_against, weight_against) = (
        _weighed(evidence, side, weights)
        for side, weights in ((is_for, agreement), (is_against, conflict))
    )
    in_favour = weight_for + max(0.0, memory)
    opposed = weight_against + max(0.0, -memory)
    return Support(
        documents_for=int(is_for.sum()),
        documents_against=int(is_against.sum()),
        sites_for=sites_for,
        sites_against=sites_against,
        weight_for=weight_for,
        weight_against=weight_against,
        memory=memory,
        margin=in_favour - opposed,
        confidence=in_favour / (in_favour + opposed + UNSEEN),
    )


def _stances(evidence: Evidence, answer: str, known: Known) -> tuple[FloatArray, FloatArray]:
    """How much each document's answer agrees and conflicts with the answer, both (documents,)."""
    n = len(evidence.documents)
    agreement, conflict = np.zeros(n), np.zeros(n)
    if evidence.answers is None:
        named = [contains(d.passage, answer, strict=True) for d in evidence.documents]
        return np.array(named, dtype=np.float64), conflict
    for place in evidence.informative:
        row = _between(answer, evidence.answers[place].text, known)
        agreement[place], conflict[place] = row[0], row[2]
    return agreement, conflict


def _between(one: str, other: str, known: Known) -> FloatArray:
    if one == other:
        return _SAME
    return both_ways(known[one, other], known[other, one])


def _memory(verdict: Verdict, known: Known) -> float:
    """What the previous answer adds, in [-1, 1]."""
    previous = verdict.memory.previous_answer
    if previous is None:
        return 0.0
    row = _between(verdict.answer, previous, known)
    return float(np.clip(row[0] - row[2], -1.0, 1.0))


def _weighed(evidence: Evidence, side: Any, weights: FloatArray) -> tuple[int, float]:
    """How many independent sites a side has, and its weight; `side` is a (documents,) mask."""
    documents = [d for d, chosen in zip(evidence.documents, side, strict=True) if chosen]
    sites = [site_of(document.url) for document in documents]
    groups = independent_groups(sites, [document.text for document in documents])
    return len(set(groups.tolist())), voices(weights[side], groups)


def status_of(support: Support | None) -> AnswerStatus:
    """What an answer rests on; None for an abstention. The first rule that fits counts.

    remembered: no document is for it, and the memory agrees. disputed: at least half as much weight
    is against it as for it. single_source: fewer than two independent sites are for it.
    """
    if support is None:
        return AnswerStatus.ABSTAINED
    if support.documents_for == 0 and support.memory >= AGREEMENT:
        return AnswerStatus.REMEMBERED
    in_favour = support.weight_for + max(0.0, support.memory)
    opposed = in_favour - support.margin
    if opposed > 0.0 and opposed >= DISPUTED_SHARE * in_favour:
        return AnswerStatus.DISPUTED
    if support.sites_for < CORROBORATING_SITES:
        return AnswerStatus.SINGLE_SOURCE
    return AnswerStatus.CORROBORATED


def lacks_support(support: Support, min_support: int) -> Abstention | None:
    """Why an answer with this support is not given; None if it is. 0 gives every answer.

    It takes `min_support` independent sites, or a memory that agrees; and more weight for the
    answer than against it.
    """
    if min_support == 0:
        return None
    if support.sites_for < min_support and support.memory < AGREEMENT:
        return Abstention.THIN_EVIDENCE
    return Abstention.OUTWEIGHED if support.margin <= 0.0 else None
