"""What every registered defence promises, whatever its method."""

import copy
import dataclasses
import itertools
import pickle

import numpy as np
import pytest

from radarstream.defenses.protocol import EVIDENCE, Complete, Defense, Signal
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.schemas.codec import decode_stored, encode_state
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Reason, Verdict
from tests.builders import claims_evidence, make_evidence
from tests.driving import Script, run

HISTORY: list[list[str | None]] = [
    ["old", "old", "lie"], [None, None], ["old", "new", "new", None, "new"], [],
    ["lie", "new", "new"], ["lie", "lie", "new"], ["new"], ["lie", "new"],
]  # fmt: skip


@pytest.fixture(params=sorted(DEFENSES))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def defense(name: str) -> Defense:
    return build_defense(name)


def judges_by_words(name: str) -> bool:
    """Whether a defence reads the claims and not their relations."""
    needs = build_defense(name).needs
    return bool(needs & EVIDENCE) and Signal.RELATIONS not in needs


def believing(request: Complete) -> AtomicAnswer:
    """A generator that repeats the claims it is shown, or counts the documents."""
    if request.task is Task.SYNTHESISE_ANSWERS:
        claim = max(request.passages, key=request.passages.count)
        return AtomicAnswer(claim)
    return AtomicAnswer("old" if len(request.passages) != 2 else "new")


def judge(defense: Defense, evidence: Evidence, state: object = None):
    return run(defense.defend(evidence, state), Script(answer=believing))


def live(defense: Defense, histories, state: object) -> tuple[list[Verdict], object]:
    verdicts = []
    for claims in histories:
        verdict, state = judge(defense, claims_evidence(claims), state)
        verdicts.append(verdict)
    return verdicts, state


def as_plain(evidence: Evidence) -> tuple:
    arrays = ()
    if evidence.relations is not None:
        arrays = (evidence.relations.entailment.tolist(), evidence.relations.contradiction.tolist())
    return (evidence.query, evidence.observed_at, evidence.documents, evidence.answers, *arrays)


def test_every_document_gets_a_verdict_in_rank_order(defense: Defense):
    for claims in ([], ["A"], [None], ["A"] * 2, ["A", "B"], ["A", None], [None] * 2, list("ABC")):
        evidence = claims_evidence(claims)
        verdict, _ = judge(defense, evidence)
        assert [d.rank for d in verdict.documents] == [d.rank for d in evidence.documents]
        assert verdict.abstained == (verdict.answer == "")
        weights = [(d.keep_evidence, d.reject_evidence, d.margin) for d in verdict.documents]
        assert np.isfinite([value for row in weights for value in row if value is not None]).all()


def everything() -> str:
    """What every defence decides on the whole history."""
    built = [build_defense(name) for name in sorted(DEFENSES)]
    return "\n".join(repr(live(one, HISTORY, one.initial_state())) for one in built)


def test_equal_inputs_give_equal_verdicts_and_stay_unchanged(defense: Defense):
    """The builders' arrays are read-only, so writing to them fails as well."""
    state = defense.initial_state()
    copied = pickle.loads(pickle.dumps(defense))
    assert copied == defense
    for claims in HISTORY:
        evidence = claims_evidence(claims)
        before, state_before = copy.deepcopy(as_plain(evidence)), copy.deepcopy(state)
        found = judge(defense, evidence, state)
        assert (as_plain(evidence), state) == (before, state_before)
        assert judge(copied, evidence, state) == found
        state = found[1]


def test_nothing_found_and_abstaining_generators_mean_abstention(defense: Defense):
    script = Script()
    verdict, state = run(defense.defend(claims_evidence([]), defense.initial_state()), script)
    assert verdict.abstained
    assert (script.requests, state) == ([], defense.initial_state())
    script = Script(answer=lambda _: AtomicAnswer("I don't know", True))
    verdict, state = run(defense.defend(claims_evidence(["A", "A"]), None), script)
    if not script.requests:  # it answers with what a document says
        assert verdict.answer == "A"
        return
    assert verdict.abstained
    assert state == defense.initial_state()


def test_malformed_relations_never_reach_a_defence():
    for matrix, message in [
        ([[0.0, np.nan], [0.5, 0.0]], r"\[0, 1\] = .*nan"),
        ([[0.0, 0.5], [np.inf, 0.0]], r"\[1, 0\] = .*inf"),
        ([[0.0, -0.1], [0.5, 0.0]], "not a probability"),
        ([[0.0, 1.1], [0.5, 0.0]], "not a probability"),
        ([[0.0, 0.5]], "square"),
    ]:
        good, bad = np.zeros((2, 2)), np.array(matrix)
        with pytest.raises(EvidenceError, match=message):
            Relations(bad, good)
        with pytest.raises(EvidenceError):
            Relations(good, bad)
    evidence = claims_evidence(["A", "B", None])
    with pytest.raises(EvidenceError, match="2 are informative"):
        dataclasses.replace(evidence, relations=Relations(np.zeros((3, 3)), np.zeros((3, 3))))


def test_needs_are_honest(defense: Defense):
    """What a defence asked for it misses; taking away anything else changes nothing."""
    for claims in HISTORY:
        evidence = claims_evidence(claims)
        relations = evidence.relations if Signal.RELATIONS in defense.needs else None
        answers = evidence.answers if defense.needs & EVIDENCE else None
        bare = Evidence(
            evidence.query, evidence.observed_at, evidence.documents, answers, relations
        )
        assert judge(defense, bare) == judge(defense, evidence)
    evidence = claims_evidence(["A", "B"])
    if defense.needs & EVIDENCE:
        with pytest.raises(EvidenceError):
            judge(defense, Evidence(evidence.query, evidence.observed_at, evidence.documents))


def test_resuming_from_stored_state_equals_an_uninterrupted_run(defense: Defense):
    whole = live(defense, HISTORY, defense.initial_state())
    state, verdicts = defense.initial_state(), []
    for claims in HISTORY:
        restored = decode_stored(encode_state(state))[0]
        assert restored == state
        (verdict,), state = live(defense, [claims], restored)
        verdicts.append(verdict)
    assert (verdicts, state) == whole


def test_verdicts_follow_documents_to_their_ranks(defense: Defense):
    """A clear majority is kept wherever it ranks, and every entry speaks of its own document."""
    claims = ["true", "true", "true", "true", "lie"]
    for order in sorted(set(itertools.permutations(claims))):
        evidence = claims_evidence(list(order))
        verdict, _ = judge(defense, evidence)
        assert verdict.documents[0].rank == 1
        for claim, document in zip(order, verdict.documents, strict=True):
            assert document.atomic_answer in (None, claim)
            judged = document.reason is not Reason.NOT_JUDGED
            if judged and defense.needs & EVIDENCE:  # the others do not know the claims
                assert document.kept == (claim == "true")


@pytest.mark.parametrize("name", [n for n in sorted(DEFENSES) if not judges_by_words(n)])
def test_other_words_for_the_same_claims_change_only_the_words(defense: Defense):
    matrices = np.random.default_rng(3).random((2, 4, 4))
    plain, _ = judge(defense, make_evidence(*matrices))
    other, _ = judge(defense, make_evidence(*matrices, answers=["w", "x", "y", "z"]))
    unworded = [dataclasses.replace(d, atomic_answer=None) for d in plain.documents]
    assert unworded == [dataclasses.replace(d, atomic_answer=None) for d in other.documents]
    assert (plain.energy, plain.edges) == (other.energy, other.edges)


def test_state_stays_small_over_a_thousand_steps(defense: Defense):
    rng = np.random.default_rng(11)
    histories = [
        rng.choice(["old", "new", "lie"], size=int(rng.integers(0, 6))).tolist()
        for _ in range(1000)
    ]
    state, largest = defense.initial_state(), 0
    for claims in histories:
        _, state = judge(defense, claims_evidence(claims), state)
        largest = max(largest, len(encode_state(state)))
    assert largest <= 100
