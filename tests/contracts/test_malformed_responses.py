"""Every method refuses every malformed response to every request it makes.

The cases are made from requests that methods really make, so that none of them can pass by not
happening; the last tests show that no request is left out.
"""

from collections import defaultdict
from typing import Any, get_args

import pytest

from radarstream.defenses.attribution.registry import ATTRIBUTORS, build_attributor
from radarstream.defenses.attribution.thresholds import Norm, Perplexity
from radarstream.defenses.protocol import Defense, Request
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.defenses.retrieval.registry import RERANKERS, build_reranker
from radarstream.defenses.temporal import CumulativeSnapshot, LightweightHistory, Memoryless
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.orchestration import RiskLevel, RiskProfile
from tests import pools
from tests.builders import claims_evidence
from tests.contracts import test_every_attributor as attributors
from tests.contracts import test_every_defense as defences
from tests.contracts.asking import Asked, Run, malformations, read_source, requests_of
from tests.driving import Script

CLAIMS = [["old", "old", "lie"], ["new", "new", "lie", None]]  # the first snapshot, and a later one
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in sorted(DEFENSES)),
    ("reliability_rag", {"method": "sampling"}),
    ("reliability_rag", {"method": "sample_centroid"}),
    ("trust_rag", {"mode": "ado_alg1"}),
]
ATTRIBUTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, attributors.OPTIONS.get(name, {})) for name in sorted(ATTRIBUTORS)),
    ("rag_origin", {"scope": "prose", "judge": "model"}),
]
ASKS_NOBODY = ("majority@", "none", "grada", "dp_rag")  # they count answers, similarities, words
BENIGN = ["one text", "another text"]
PROFILE = RiskProfile(RiskLevel.LOW)


def named(name: str, options: dict[str, Any]) -> str:
    return ":".join([name, *(str(value) for value in options.values())])


def believer() -> Script:
    return Script(answer=defences.believing)


def life_of(name: str, defense: Defense[Any]) -> list[Run]:
    """A run per snapshot of a short history."""
    runs, state = [], defense.initial_state()
    for step, claims in enumerate(CLAIMS):
        evidence = claims_evidence(claims)
        runs.append(
            Run(f"{name}@{step}", lambda e=evidence, s=state: defense.defend(e, s), believer)
        )
        _, state = defences.judge(defense, evidence, state)
    return runs


def all_runs() -> list[Run]:
    runs = [
        run
        for name, options in VARIANTS
        for run in life_of(named(name, options), build_defense(name, options))
    ]
    for adapt in (Memoryless, LightweightHistory, CumulativeSnapshot):
        for name in ("vanilla", "radar"):
            runs += life_of(f"{adapt.__name__}({name})", adapt(build_defense(name)))
    event = attributors.embedding_free(attributors.EVENTS[4])
    for name, options in ATTRIBUTIONS:
        built = build_attributor(name, options)
        shown = named(name, {} if name in attributors.OPTIONS else options)
        runs.append(Run(shown, lambda built=built: built.attribute(event), attributors.world))
    for variant in pools.VARIANTS:
        reranker = build_reranker(*variant)
        runs.append(
            Run(
                pools.shown(variant),
                lambda built=reranker: built.rerank(pools.POOLS[0]),
                pools.world,
            )
        )
    for built in (Norm(), Perplexity()):
        runs.append(
            Run(
                f"calibrated {type(built).__name__}",
                lambda built=built: built.threshold_from(BENIGN),
                attributors.world,
            )
        )
    return runs


RUNS = all_runs()
ASKED = [asked for run in RUNS for asked in requests_of(run)]


def cases() -> list[Any]:
    """Run, kind of request and malformation, with all requests of the run that they concern."""
    found: dict[tuple[str, str, str], list[Asked]] = defaultdict(list)
    for asked in ASKED:
        for how in malformations(asked.request):
            found[asked.run.name, type(asked.request).__name__, how].append(asked)
    return [pytest.param(asked, key[-1], id=" - ".join(key)) for key, asked in found.items()]


@pytest.mark.parametrize(("requests", "how"), cases())
def test_malformed_responses_raise(requests: list[Asked], how: str):
    for asked in requests:
        with pytest.raises(EvidenceError):
            asked.send(malformations(asked.request)[how])


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_well_formed_responses_do_not(run: Run):
    """A response passed on as it came raises nothing, so that the cases above mean something."""
    mine = [asked for asked in ASKED if asked.run is run]
    assert mine or run.name.startswith(ASKS_NOBODY)
    for asked in mine:
        try:
            asked.send(lambda response: response)
        except StopIteration:
            continue  # it was the last request


def test_every_registered_method_is_among_the_runs():
    ran = {run.name.partition("@")[0] for run in RUNS}
    assert ran >= DEFENSES.keys() | ATTRIBUTORS.keys() | RERANKERS.keys()


def test_every_kind_of_request_is_made():
    assert {type(asked.request) for asked in ASKED} == set(get_args(Request))


def test_every_place_that_asks_is_reached():
    """Wherever the code asks, one of the runs came by and had its response spoiled."""
    reached = {asked.place for asked in ASKED}
    missed = [
        (file, first)
        for file, first, last in read_source().asks
        if not any(file == at and first <= line <= last for at, line in reached)
    ]
    assert missed == []


def test_nothing_is_asked_but_through_the_check():
    """A plain `yield` is not checked: one is the check, one hands on, one is sent verdicts.

    The audit and `recheck` ask nobody, their yields list what they find; nor do the rules of the
    control plane, whose yield makes them generators.
    """
    found = {(file, name) for file, name in read_source().yields if not file.startswith("recheck/")}
    assert found == {
        ("orchestration/audit.py", "_copied"),
        ("orchestration/audit.py", "_personal"),
        ("orchestration/audit.py", "_ungrounded"),
        ("orchestration/personal_data.py", "personal_data"),
        ("responses.py", "ask"),
        ("temporal.py", "reminded"),
    }
