"""What every certifier promises: one for each defence, pure, and the event is all it needs."""

import json
from dataclasses import replace

import pytest

from radarstream.defenses.certificates.checks import Outcome
from radarstream.defenses.certificates.recheck import rechecked
from radarstream.defenses.certificates.registry import CERTIFIERS, certified
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.pipelines.pages.certificate_words import ASSUMPTIONS, flip_sentences
from radarstream.schemas.certificate import (
    Assumption,
    Attack,
    Certificate,
    Change,
    Enough,
    FlipBound,
    Needed,
)
from radarstream.schemas.codec import decode_answer, encode
from radarstream.schemas.events import AnswerEvent
from tests.builders import claims_evidence
from tests.driving import Script, run, saying
from tests.flip_cases import event_of

HISTORY = [["A", "A", None, "A", "B"], ["A", "B", "A", "A"], ["B", "B", "A", "B"], [None, None]]


@pytest.fixture(params=sorted(CERTIFIERS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def events_of(name: str) -> list[AnswerEvent]:
    """Certified events of a short history."""
    defense = build_defense(name)
    state, events = defense.initial_state(), []
    for claims in HISTORY:
        verdict, state = run(
            defense.defend(claims_evidence(claims), state), Script(answer=saying("A"))
        )
        urls = tuple(f"https://s{rank}.example/" for rank in range(len(claims)))
        event = event_of(verdict, name, urls)
        events.append(replace(event, certificate=certified(name, defense, event)))
    return events


def test_every_defence_has_one():
    assert CERTIFIERS.keys() == DEFENSES.keys()


def test_proves_something_or_says_why_not(name: str):
    for event in events_of(name):
        certificate = event.certificate
        assert bool(certificate.bounds) != bool(certificate.reason)
        assert not certificate.bounds or certificate.assumptions
        for bound in certificate.bounds:
            if bound.enough is not None:
                assert bound.needed.documents <= bound.enough.documents
                assert bound.needed.sites <= bound.enough.sites <= bound.enough.documents


def test_bounds_come_once_for_each_change_and_memory(name: str):
    for event in events_of(name):
        kinds = [(bound.change, bound.remembering) for bound in event.certificate.bounds]
        assert len(set(kinds)) == len(kinds)
        assert not kinds or {change for change, _ in kinds} == set(Change)


def test_the_options_build_the_defence_again(name: str):
    for event in events_of(name):
        options = json.loads(event.certificate.options)
        assert build_defense(name, options) == build_defense(name)


def test_survives_the_wire_and_is_computed_again_from_it(name: str):
    for event in events_of(name):
        read = decode_answer(encode(event))
        assert read == event
        assert certified(name, build_defense(name), read) == event.certificate
        assert not [c for c in rechecked(read) if c.outcome is Outcome.WRONG]


def test_is_told_in_words(name: str):
    for event in events_of(name):
        sentences = flip_sentences(event.certificate)
        assert sentences
        assert all(sentence.endswith((".", "scorer.")) for sentence in sentences)


def test_every_assumption_has_words():
    assert ASSUMPTIONS.keys() == set(Assumption)


@pytest.mark.parametrize(("deceived", "told"), [(2, True), (3, False)])
def test_deceiving_the_scorer_is_told_of_where_it_saves_documents(deceived: int, told: bool):
    enough = Enough(3, 1, Attack.NEW_CLAIM)
    bound = FlipBound(Change.ADDED, remembering=False, needed=Needed(2), enough=enough)
    certificate = Certificate("{}", (bound,), deceived=Enough(deceived, 1, Attack.BRIDGE))
    assert ("deceiving" in flip_sentences(certificate)[-1]) is told
