"""How far an answer can be trusted: what the documents and the memory say about it.

Every atomic answer of the snapshot counts, those of rejected documents too: what a defence chose
among the documents is no part of the support of its answer.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.independence import Voices, voices, voices_of
from radarstream.defenses.kernels.radar import both_ways
from radarstream.defenses.protocol import Relate, Request
from radarstream.schemas.answer_text import contains, spelling
from radarstream.schemas.cited_sites import cited_in
from radarstream.schemas.evidence import AGREEMENT, AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.sites import UNTOLD, owner_of
from radarstream.schemas.snapshot import Document
from radarstream.schemas.support import Balance, Stance, Support
from radarstream.schemas.verdict import Verdict

ResultT = TypeVar("ResultT")
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int_]
# Relations that are known already, (3,) probabilities by premise and hypothesis.
Known = dict[tuple[str, str], FloatArray]

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
    speaking, opposing = _voices(evidence, is_for), _voices(evidence, is_against)
    weight_for = voices(agreement[is_for], speaking.groups)
    rival, rival_answer = _rival(evidence, is_against, conflict, opposing.groups)
    memory = _memory(verdict, known)
    balance = Balance.of(weight_for, rival, memory)
    return Support(
        documents_for=int(is_for.sum()),
        documents_against=int(is_against.sum()),
        sites_for=speaking.independent,
        sites_against=opposing.independent,
        weight_for=weight_for,
        weight_against=voices(conflict[is_against], opposing.groups),
        rival=rival,
        memory=memory,
        margin=balance.margin,
        confidence=balance.confidence,
        rival_answer=rival_answer,
        stances_for=_told(evidence, is_for, agreement, speaking.groups),
        stances_against=_told(evidence, is_against, conflict, opposing.groups),
    )


def _told(
    evidence: Evidence, side: BoolArray, probabilities: FloatArray, groups: IntArray
) -> tuple[Stance, ...]:
    """The stances of a side, a (documents,) mask, whose documents are in these `groups`."""
    places = np.flatnonzero(side)
    ranks = [evidence.documents[place].rank for place in places]
    weights, voice = probabilities[places].tolist(), [ranks[group] for group in groups]
    return tuple(zip(ranks, weights, voice, strict=True))


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


def owners_in(document: Document) -> tuple[str, ...]:
    """Who speaks in a document: the owner of its site, and those it names as its sources.

    A document without an address is a site of its own.
    """
    owner = owner_of(document.url) or f"/{document.rank}"
    return (owner, *sorted(cited_in(document.text)))


def _voices(evidence: Evidence, side: BoolArray) -> Voices:
    """Whose voices the documents of a side are, which is a (documents,) mask."""
    documents = [d for d, chosen in zip(evidence.documents, side, strict=True) if chosen]
    return voices_of([owners_in(d) for d in documents], [d.text for d in documents], UNTOLD)


def _rival(
    evidence: Evidence, is_against: BoolArray, conflict: FloatArray, groups: IntArray
) -> tuple[float, str | None]:
    """The weight and the text of the strongest answer among the documents against.

    Of equally strong ones the best ranked. Without documents against there is none.

    Answers are one if each entails the other, or if they are spelt alike where no defence asked
    for relations. `is_against` and `conflict` are (documents,), `groups` (documents against,).
    """
    places = np.flatnonzero(is_against)
    if not len(places) or evidence.answers is None:
        return 0.0, None
    alike = _alike(evidence, places.tolist(), evidence.answers)
    weights = conflict[places]
    strengths = [voices(weights[camp], groups[camp]) for camp in alike]
    strongest = int(np.argmax(strengths))
    return strengths[strongest], evidence.answers[places[strongest]].text


def _alike(evidence: Evidence, places: Sequence[int], answers: Sequence[AtomicAnswer]) -> BoolArray:
    """Which of the documents at these places say the same, (m, m)."""
    spelt = {text: spelling(text) or text for text in (answers[place].text for place in places)}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(spelt.values()))}
    keys = np.array([numbers[spelt[answers[place].text]] for place in places])
    alike = np.asarray(keys[:, np.newaxis] == keys)
    if evidence.relations is None:
        return alike
    rows = [evidence.informative.index(place) for place in places]
    entailment = evidence.relations.entailment[np.ix_(rows, rows)]
    return np.asarray(alike | (both_ways(entailment, entailment.T) >= AGREEMENT))
