"""The support of an answer by documents and memory.

All atomic answers of a snapshot count, also those of documents that the defence rejected.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from radarstream.defenses.answering import answers_of
from radarstream.defenses.kernels.radar import both_ways
from radarstream.defenses.protocol import Relate, Request
from radarstream.defenses.tally import BoolArray, tally_of
from radarstream.schemas.answer_text import contains
from radarstream.schemas.evidence import AGREEMENT, Evidence, FloatArray
from radarstream.schemas.support import Stance, Support, confidence_of, still_to_lie
from radarstream.schemas.verdict import Verdict

ResultT = TypeVar("ResultT")
# Known relations: (3,) probabilities by premise and hypothesis.
Known = dict[tuple[str, str], FloatArray]

_SAME: Final = np.array([1.0, 0.0, 0.0])


def overhearing(
    asking: Generator[Request, Any, ResultT], known: Known
) -> Generator[Request, Any, ResultT]:
    """Run a generator, and add the relations that it receives to `known`."""
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
    """Return the relations of a request by pair."""
    return dict(zip(zip(request.premises, request.hypotheses, strict=True), rows, strict=True))


def learn(evidence: Evidence, answer: str | None, known: Known) -> None:
    """Add the relations of an answer to others from the evidence, if a document gave it."""
    if answer is None or evidence.answers is None or evidence.relations is None:
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
    """Return a request for the unknown relations of an answer, in both directions, if any."""
    answer, others = verdict.weighed, said_by(evidence)
    if answer is None:
        return None
    if verdict.memory.previous_answer is not None:
        others = (*others, verdict.memory.previous_answer)
    pairs = [pair for other in others for pair in ((answer, other), (other, answer))]
    asked = [p for p in dict.fromkeys(pairs) if p[0] != p[1] and p not in known]
    if not asked:
        return None
    premises, hypotheses = zip(*asked, strict=True)
    return Relate(evidence.query.text, premises, hypotheses)


def said_by(evidence: Evidence) -> tuple[str, ...]:
    """Return the informative atomic answers; none if the defence needs none."""
    if evidence.answers is None:
        return ()
    return tuple(evidence.answers[i].text for i in evidence.informative)


def means_the_same(one: str, other: str, known: Known) -> bool:
    """Whether each of two answers entails the other."""
    if one == other:
        return True
    ways = (known[one, other], known[other, one])
    return all(row[0] >= AGREEMENT for row in ways)


def support_of(
    evidence: Evidence, verdict: Verdict, answer: str, known: Known, withstand: int | None
) -> Support:
    """Return the support of an answer; all its relations are `known`.

    Without atomic answers, a document is for the answer if it has it as whole words, and none is
    against it.
    """
    agreement, conflict = _stances(evidence, answer, known)
    is_for = agreement >= AGREEMENT
    is_against = ~is_for & (conflict >= AGREEMENT)
    tally = tally_of(evidence)
    is_for[list(tally.torn)] = is_against[list(tally.torn)] = False
    places = list(tally.places)
    if evidence.relations is None:  # documents for the answer agree with each other
        same = is_for[places]
        tally = replace(tally, agree=tally.agree | np.outer(same, same))
    sites_for = tally.largest(is_for[places])
    rival_sites, rival = tally.strongest(is_against[places])
    memory = _memory(verdict, answer, known)
    to_silence, to_change = None, None
    if withstand is not None and not verdict.abstained:
        to_silence, to_change = still_to_lie(sites_for, rival_sites, withstand)
    return Support(
        sites_for=sites_for,
        rival_sites=rival_sites,
        memory=memory,
        confidence=confidence_of(sites_for, rival_sites, memory),
        rival_answer=None if rival is None else answers_of(evidence)[places[rival]].text,
        to_silence=to_silence,
        to_change=to_change,
        stances_for=_stances_of(evidence, is_for, agreement),
        stances_against=_stances_of(evidence, is_against, conflict),
    )


def _stances_of(
    evidence: Evidence, side: BoolArray, probabilities: FloatArray
) -> tuple[Stance, ...]:
    """Return the stances of a side, a (documents,) mask."""
    places = np.flatnonzero(side).tolist()
    return tuple((evidence.documents[place].rank, float(probabilities[place])) for place in places)


def _stances(evidence: Evidence, answer: str, known: Known) -> tuple[FloatArray, FloatArray]:
    """Return how far each document agrees and conflicts with the answer, both (documents,)."""
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


def _memory(verdict: Verdict, answer: str, known: Known) -> float:
    """Return how far the previous answer agrees, in [-1, 1]; 0 without one."""
    previous = verdict.memory.previous_answer
    if previous is None:
        return 0.0
    row = _between(answer, previous, known)
    return float(np.clip(row[0] - row[2], -1.0, 1.0))
