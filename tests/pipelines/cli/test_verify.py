"""`verify` refuses an altered event, or names what was altered as not checked.

The search alters every field of events of all kinds as they are on the wire: each alone, and equal
texts together. It knows nothing of what the checks look at.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np
import pytest

import radarstream
from radarstream.defenses.recheck.checks import TOLERANCE
from radarstream.defenses.recheck.given import ALWAYS
from radarstream.defenses.registry import build_defense
from radarstream.lab.models.scripted_networks import ScriptedGradients
from radarstream.pipelines.cli.verify import verified
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.reranking import with_left_out
from radarstream.schemas.codec import decode_answer, encode, envelope, structured
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.snapshot import Provenance, SearchSnapshot
from radarstream.schemas.support import AnswerStatus, confidence_of, still_to_lie
from radarstream.schemas.verdict import Abstention, Reason
from tests.builders import OBSERVED_AT, make_snapshot
from tests.reranking import Wary, crowd
from tests.scripted_models import scripted_models

CLAIMS = ("Rome", "Roma", "Rome, Italy", "Bern", "Oslo", "I don't know")
DEFENCES = ("voices", "radar", "majority", "reliability_rag", "robust_rag", "vanilla")
Place = tuple[str | int, ...]
Search = Callable[[], tuple[AnswerEvent, ...]]

# What follows from the rest of an event of a defence by minimum cut: never named as not checked.
FOLLOWS = frozenset({
    "snapshot_id", "abstention", "status", "sources.rank", "verdict.abstention", "verdict.energy",
    "verdict.documents.rank", "verdict.documents.kept", "verdict.documents.keep_evidence",
    "verdict.documents.reject_evidence", "verdict.documents.margin", "verdict.memory.decision",
    "verdict.memory.support_posterior", "verdict.memory.conflict_posterior",
    "verdict.memory.margin", "support.confidence", "support.to_silence", "support.to_change",
})  # fmt: skip
# What takes a second alteration, of what follows from it, to pass.
NEVER_ALONE = frozenset({
    "query_id", "defense", "step", "observed_at", "support.memory", "support.stances_for",
    "support.stances_against", "verdict.edges", "verdict.documents.reason", "verdict.conflicts",
})  # fmt: skip


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
        neutral = (1.0 - entailed) * digest[1] / 1024
        return [entailed, neutral, 1.0 - entailed - neutral]


def snapshot_of(winners: Sequence[str], step: int = 0, sites: int = 4) -> SearchSnapshot:
    """Pages on a few sites, every third the words of another one."""
    texts = [f"Page {n - n % 3 // 2} of {step}, so they wrote: {w}." for n, w in enumerate(winners)]
    urls = [f"https://s{n % sites}.example/{n}" if n % 5 else "" for n in range(len(texts))]
    return make_snapshot(texts, observed_at=OBSERVED_AT + timedelta(days=step), urls=urls)


def history(name: str, seed: int, **options: Any) -> list[AnswerEvent]:
    """The events of a random history."""
    models = replace(scripted_models(), relations=Noisy(seed))
    guard: DefensePipeline[Any] = DefensePipeline(name, build_defense(name, options), models)
    rng, memory, events = np.random.default_rng(seed), guard.initial_memory(), []
    for step in range(6):
        winners = rng.choice(CLAIMS, int(rng.integers(0, 9)), p=[0.4, 0.15, 0.05, 0.2, 0.1, 0.1])
        event, memory = guard.answer(snapshot_of(winners.tolist(), step), memory)
        events.append(decode_answer(encode(event)))
    return events


def answered(winners: Sequence[str], name: str = "voices") -> AnswerEvent:
    """The event of one snapshot."""
    guard: DefensePipeline[Any] = DefensePipeline(name, build_defense(name), scripted_models())
    return guard.answer(snapshot_of(winners, sites=8), guard.initial_memory())[0]


def reranked() -> AnswerEvent:
    """Twenty results, of which seven are judged, one of a page, and one that a person blocked."""
    models = replace(scripted_models(), plugins={"gradients": ScriptedGradients()})
    guard: DefensePipeline[Any] = DefensePipeline(
        "voices", build_defense("voices"), models, reranker=Wary(), keep=7
    )
    found = crowd(20, claims=("Rome", "Rome", "Rome", "Oslo"), planted=(4, 8))
    event, _ = guard.answer(found, guard.initial_memory())
    blocked = replace(found.documents[0], rank=21)
    first, *others = event.verdict.documents
    paged = replace(event.verdict, documents=(replace(first, page=3), *others))
    return with_left_out(replace(event, verdict=paged), [(blocked, Reason.BLOCKED)])


def line_of(event: AnswerEvent) -> bytes:
    return structured(envelope(event), encode(event))


@cache
def events() -> tuple[AnswerEvent, ...]:
    """One event of each kind: by defence, status, why there is no answer, and what is recalled."""
    kinds = {"reranked": replace(reranked(), provenance=Provenance.LIVE, result_pages=2)}
    kinds["no evidence"] = answered(["I don't know"] * 2)
    for seed in range(24):
        on_empty = ("abstain", "best_document", "all_informative")[seed % 3]
        scale = 0.3 if seed % 2 else 1.0
        for event in (
            *history("voices", seed, withstand=seed % 3),
            *history("radar", seed, on_empty=on_empty, pair_scale=scale),
        ):
            kind = (event.defense, event.status, event.abstention, event.verdict.memory.decision)
            kinds.setdefault(str(kind), event)
    for name in DEFENCES[2:]:
        for event in history(name, 1):
            kinds.setdefault(str((name, event.status)), event)
    return tuple(kinds.values())


@cache
def few_events() -> tuple[AnswerEvent, ...]:
    """The first by defence, status, and why there is no answer; `make test-all` searches all."""
    return tuple({(e.defense, e.status, e.abstention): e for e in reversed(events())}.values())


SEARCHES = pytest.mark.parametrize(
    "search", [few_events, pytest.param(events, marks=pytest.mark.long)]
)


@pytest.mark.parametrize("name", DEFENCES)
def test_honest_events_are_right(name: str) -> None:
    for seed in range(12):
        options = {"withstand": seed % 3} if name == "voices" else {}
        for event in history(name, seed, **options):
            assert flaws(line_of(event)) == []


def flaws(line: bytes) -> list[str]:
    return [f"{c.about}: {c.detail}" for c in verified(line).checks if c.outcome == "wrong"]


def test_events_of_every_kind_are_right() -> None:
    assert {event.status for event in events()} == set(AnswerStatus)
    assert {event.abstention for event in events()} >= {None, *Abstention} - {
        Abstention.MODEL_ABSTAINED
    }
    for event in events():
        assert flaws(line_of(event)) == []


def places(value: Any, here: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every place in JSON with what it holds, containers too."""
    if here:
        yield here, value
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for name, held in items:
        yield from places(held, (*here, name))


def name_of(place: Place) -> str:
    """The name of a place on the wire, without numbers of elements and the envelope's `data`."""
    return ".".join(part for part in place if isinstance(part, str)).removeprefix("data.")


def put(value: Any, place: Place, new: Any) -> Any:
    """A copy of JSON with another value in a place; `...` takes it away."""
    if not place:
        return new
    first, *rest = place
    copy = value.copy()
    if rest or new is not ...:
        copy[first] = put(value[first], tuple(rest), new)
    else:
        del copy[first]
    return copy


def others(value: Any) -> Iterator[Any]:
    """Other values for a place, by its kind alone."""
    yield from (None, ...)
    match value:
        case None:
            yield from ("other", 0, 0.5, True)
        case bool():
            yield not value
        case int():
            yield from (0, 1, value + 1, max(0, value - 1))
        case float():
            yield from (0.0, 1.0, value + 1e-4, value / 2, -value)
            yield from (value * 1.1 + 0.01, value * 0.9 - 0.01)
        case str():
            yield from ("", value + "x", value[:-1])
        case list():
            yield from ([], value[::-1], value[1:], value[:-1], value + value[:1], [*value, "x"])
        case dict():
            yield {}


def alterations(event: AnswerEvent, seen: dict[str, list[Any]]) -> Iterator[tuple[Any, set[str]]]:
    """An event's line altered in one place, with the name of that.

    `seen` has what other events hold in places of the same name.
    """
    wire = json.loads(line_of(event))
    taken: dict[str, int] = defaultdict(int)
    for place, value in places(wire):
        name = name_of(place)
        taken[name] += 1
        if taken[name] > 2:  # of many documents, the first ones
            continue
        for other in (*others(value), *seen[name]):
            if not (type(value) is type(other) is float and abs(value - other) <= TOLERANCE):
                yield put(wire, place, other), {name}
    for option, value in json.loads(event.options).items():
        for other in others(value):
            options = put(json.loads(event.options), (option,), other)
            yield put(wire, ("data", "options"), json.dumps(options)), {"options"}


def renamings(event: AnswerEvent) -> Iterator[tuple[Any, set[str]]]:
    """An event's line altered in all places that hold the same text, with their names."""
    wire = json.loads(line_of(event))
    same: dict[str, list[Place]] = defaultdict(list)
    for place, value in places(wire):
        if isinstance(value, str) and value:
            same[value].append(place)
    for text, alike in same.items():
        for other in ("other", *(t for t in same if name_of(same[t][0]) == name_of(alike[0]))):
            altered = wire
            for place in alike:
                altered = put(altered, place, other)
            if other != text:
                yield altered, {name_of(place) for place in alike}


@cache
def searched(events: tuple[AnswerEvent, ...]) -> tuple[list[str], set[str]]:
    """What passed and was not named; the names by which something passed."""
    seen: dict[str, list[Any]] = defaultdict(list)
    for event in events:
        for place, value in places(json.loads(line_of(event))):
            known = seen[name_of(place)]
            if not isinstance(value, dict | list) and value not in known and len(known) < 8:
                known.append(value)
    missed, used = [], set()
    for event in events:
        honest = verified(line_of(event)).event
        for altered, names in chain(alterations(event, seen), renamings(event)):
            line = json.dumps(altered).encode()
            try:
                found = verified(line)
            except InputError:
                continue
            if found.wrong or (found.event == honest and "source" not in names):
                continue
            if names == {"support"}:  # without any stances, nothing is left to be counted
                names = {"support.stances_for"}
            above = tuple(f"{name}." for name in names)
            told = {h for h in found.not_checked if any(name.startswith(f"{h}.") for name in above)}
            used |= told
            if not told:
                missed.append(f"{event.defense} {event.status} {sorted(names)}: {line.decode()}")
    return missed, used


@SEARCHES
def test_what_is_altered_is_refused_or_named_as_not_checked(search: Search) -> None:
    missed, _ = searched(search())
    assert missed == []


@SEARCHES
def test_what_is_named_can_be_altered(search: Search) -> None:
    """So no name is there to hide behind."""
    _, used = searched(search())
    assert set(ALWAYS) - NEVER_ALONE <= used


def test_what_follows_is_never_named_for_a_cut() -> None:
    for event in events():
        if event.defense in ("voices", "radar"):
            assert not FOLLOWS & verified(line_of(event)).not_checked.keys()


@pytest.mark.models
def test_what_is_altered_in_answers_of_the_embedded_models() -> None:
    texts = ("Lima is the capital of Peru.", "The capital of Peru is the city of Lima.",
             "Cusco is the capital of Peru, they say.")  # fmt: skip
    pages = [{"text": t, "url": f"https://s{n}.example/"} for n, t in enumerate(texts)]
    with radarstream.Guard(profile="embedded") as guard:
        found = [guard.answer("What is the capital of Peru?", pages[:n]).event for n in (2, 3)]
    assert [flaws(line_of(event)) for event in found] == [[], []]
    assert searched(tuple(found))[0] == []


def test_a_dispute_made_a_corroborated_answer() -> None:
    event = answered(["Oslo", "Rome", "Oslo", "Rome", "Rome"])
    support = event.support
    assert support is not None and event.status is AnswerStatus.DISPUTED
    for other in (
        replace(support, rival_sites=1),
        replace(support, rival_sites=0, rival_answer=None, stances_against=()),
        replace(support, sites_for=9),
    ):
        confidence = confidence_of(other.sites_for, other.rival_sites, 0.0)
        silence, change = still_to_lie(other.sites_for, other.rival_sites, 1)
        forged = replace(other, confidence=confidence, to_silence=silence, to_change=change)
        honest = replace(event, status=AnswerStatus.CORROBORATED, support=forged)
        assert "support" in "".join(flaws(line_of(honest)))


def test_a_rule_that_was_laxer_is_told() -> None:
    thin = answered(["Rome"])
    lax = replace(thin, withstand=0)
    said = "status: 0 is recorded, the defence withstands another number of sites"
    assert flaws(line_of(lax)) == [said]
    lax = replace(lax, options=json.dumps(json.loads(thin.options) | {"withstand": 0}))
    assert flaws(line_of(lax)) == ["status: thin_evidence does not follow where 0 sites may lie"]


@pytest.mark.parametrize(
    ("name", "told"), [("voices", "the capacities of"), ("radar", "keep-evidence of")]
)
def test_keep_evidence_beyond_what_edges_and_ranks_allow(name: str, told: str) -> None:
    """With energy and margins made to fit it."""
    event = answered(["Rome", "Rome", "Oslo"], name)
    verdict = event.verdict
    documents = list(verdict.documents)
    kept, cut = documents[0], documents[2]
    assert kept.kept and not cut.kept
    for place, raised, energy in ((0, kept, 0.0), (2, cut, 0.01)):
        changed = [*documents]
        rise = 0.01 if raised is kept else -0.01
        changed[place] = replace(raised, keep_evidence=(raised.keep_evidence or 0.0) + 0.01,
                                 margin=(raised.margin or 0.0) + rise)  # fmt: skip
        forged = replace(verdict, documents=tuple(changed), energy=(verdict.energy or 0.0) + energy)
        (flaw,) = flaws(line_of(replace(event, verdict=forged)))
        assert flaw.startswith(f"verdict: {told} {raised.rank}")


@pytest.mark.parametrize("value", [-1.0, 1e200, 5e-324])
@pytest.mark.parametrize("name", ["edge", "loop", "keep_evidence", "reject_evidence", "option"])
@pytest.mark.parametrize("defense", ["voices", "radar"])
def test_absurd_values_raise_nothing(defense: str, value: float, name: str) -> None:
    event = answered(["Rome", "Rome", "Oslo"], defense)
    verdict, options = event.verdict, json.loads(event.options)
    (a, b, _), *rest = verdict.edges
    match name:
        case "edge":
            verdict = replace(verdict, edges=((a, b, value), *rest))
        case "loop":
            verdict = replace(verdict, edges=((a, a, value), *rest))
        case "option":
            options["withstand" if defense == "voices" else "pair_scale"] = value
        case _:
            first = replace(verdict.documents[0], **{name: value})  # type: ignore[arg-type]
            verdict = replace(verdict, documents=(first, *verdict.documents[1:]))
    assert flaws(line_of(replace(event, verdict=verdict, options=json.dumps(options))))


@pytest.mark.parametrize(
    "options", ["", "[" * 100_000, "[]", "null", "{}", '{"no": 1}', '{"epsilon": -1}']
)
def test_options_that_build_nothing(options: str) -> None:
    assert flaws(line_of(replace(answered(["Rome"] * 2), options=options)))
