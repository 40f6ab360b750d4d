"""A forged status or support is found as far as the event tells; honest events are right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from radarstream.defenses.recheck import rechecked
from radarstream.defenses.recheck.checks import Outcome
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.guard import Guard
from radarstream.schemas.codec import decode_answer, encode
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

SEEDS = 5
CLAIMS = ("Rome", "Roma", "Rome, Italy", "Bern", "Oslo")


@dataclass(frozen=True)
class Noisy:
    """Relations by the hash of a pair: the same answers agree, others more or less."""

    seed: int
    model_id: str = "noisy"

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        return np.array([self.row(pair.premise, pair.hypothesis) for pair in pairs])

    def row(self, premise: str, hypothesis: str) -> list[float]:
        if premise == hypothesis:
            return [1.0, 0.0, 0.0]
        digest = sha256(f"{self.seed}/{premise}/{hypothesis}".encode()).digest()
        entailed = digest[0] / 255 if premise[0] == hypothesis[0] else digest[0] / 1024
        return [
            entailed,
            (1.0 - entailed) * digest[1] / 1024,
            (1.0 - entailed) * (1 - digest[1] / 1024),
        ]


def snapshot_of(winners: Sequence[str], step: int = 0, sites: int = 4) -> SearchSnapshot:
    texts = [f"Page {n} of {step} in {n} words: {w}." for n, w in enumerate(winners)]
    snapshot = make_snapshot(texts, observed_at=OBSERVED_AT + timedelta(days=step))
    documents = tuple(
        replace(d, url=f"https://s{n % sites}.example/{n}" if n % 5 else "")
        for n, d in enumerate(snapshot.documents)
    )
    return replace(snapshot, documents=documents)


def told(name: str, seed: int, least: int) -> list[AnswerEvent]:
    """The events of a random history."""
    models = replace(scripted_models(), relations=Noisy(seed))
    guard: Guard[Any] = Guard(name, build_defense(name), models, min_support=least)
    rng, memory, events = np.random.default_rng(seed), guard.initial_memory(), []
    for step in range(5):
        winners = rng.choice(CLAIMS, size=int(rng.integers(1, 8)), p=[0.4, 0.2, 0.1, 0.2, 0.1])
        event, memory = guard.answer(snapshot_of(winners.tolist(), step), memory)
        events.append(decode_answer(encode(event)))
    return events


def wrong(event: AnswerEvent) -> set[str]:
    return {check.about for check in rechecked(event) if check.outcome is Outcome.WRONG}


@pytest.mark.parametrize("name", ["radar", "radar_plus", "majority", "reliability_rag", "vanilla"])
def test_honest_events_are_right(name: str) -> None:
    seen = set()
    for seed in range(SEEDS):
        for least in (0, 2, 3):
            for event in told(name, seed, least):
                assert wrong(event) == set()
                seen.add(event.abstention or event.status)
    assert {Abstention.THIN_EVIDENCE, AnswerStatus.CORROBORATED} <= seen


@pytest.fixture(scope="module")
def event() -> AnswerEvent:
    """Four of five say Rome, on three sites; the previous answer was Oslo."""
    models = replace(scripted_models(), relations=Noisy(0))
    guard: Guard[Any] = Guard("radar", build_defense("radar"), models, min_support=2)
    _, memory = guard.answer(snapshot_of(["Oslo"] * 3, 0), guard.initial_memory())
    found, _ = guard.answer(snapshot_of(["Rome", "Rome", "Bern", "Rome", "Rome"], 1, 2), memory)
    assert (found.answer, found.status, found.support.sites_for) == ("Rome", "corroborated", 3)
    assert wrong(found) == set()
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"documents_for": 3},
        {"documents_for": 5},
        {"documents_against": 2},
        {"sites_for": 4},
        {"sites_for": 0},
        {"sites_against": 2},
        {"sites_against": 0},
        {"weight_for": 4.5},
        {"weight_for": 1.4},
        {"weight_against": 1.5},
        {"rival": 0.0},
        {"rival": 2.0},
        {"rival_answer": "Lima"},
        {"memory": 0.9},
        {"margin": 9.0},
        {"confidence": 0.99},
    ],
    ids=str,
)
def test_forged_support_is_found(event: AnswerEvent, changes: dict) -> None:
    forged = replace(event, support=replace(event.support, **changes))
    assert "support" in wrong(forged)


def test_forged_support_that_fits_itself_is_found_by_what_documents_say(event: AnswerEvent) -> None:
    balanced = replace(event.support, documents_for=5, sites_for=4, documents_against=0,
                       sites_against=0, weight_against=0.0, rival=0.0,
                       rival_answer=None)  # fmt: skip
    balance = balanced.balance
    forged = replace(balanced, margin=balance.margin, confidence=balance.confidence)
    assert "support" in wrong(replace(event, support=forged))


@pytest.mark.parametrize("status", sorted(set(AnswerStatus) - {AnswerStatus.CORROBORATED}))
def test_another_status_is_found(event: AnswerEvent, status: AnswerStatus) -> None:
    assert wrong(replace(event, status=status)) == {"status"}


def test_an_answer_that_lacks_support_is_found(event: AnswerEvent) -> None:
    verdict = replace(event.verdict, answer="", abstention=Abstention.OUTWEIGHED)
    silent = replace(event, answer="", abstention=Abstention.OUTWEIGHED, verdict=verdict,
                     status=AnswerStatus.ABSTAINED)  # fmt: skip
    assert "status" in wrong(silent)


def test_an_answer_without_support_and_silence_with_it_are_found(event: AnswerEvent) -> None:
    assert "support" in wrong(replace(event, support=None))
    verdict = replace(event.verdict, answer="", abstention=Abstention.NO_CONSENSUS)
    silent = replace(event, answer="", abstention=Abstention.NO_CONSENSUS, verdict=verdict,
                     status=AnswerStatus.ABSTAINED)  # fmt: skip
    assert "support" in wrong(silent)


def test_nothing_stands_beside_a_confirmed_answer(event: AnswerEvent) -> None:
    standing = StandingAnswer("Oslo", OBSERVED_AT)
    assert wrong(replace(event, standing=standing)) == {"status"}


def test_events_of_version_1_have_neither(event: AnswerEvent) -> None:
    former = replace(event, status=None, support=None)
    outcomes = {check.about: check.outcome for check in rechecked(former)}
    assert outcomes["support"] is outcomes["status"] is Outcome.ABSENT
