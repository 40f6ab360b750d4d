"""ReliabilityRAG over random samples: what is drawn, asked, selected and finally shown."""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from radarstream.defenses.protocol import Complete, CompleteAll, Relate
from radarstream.defenses.reliability_rag import ReliabilityRag
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.snapshot import Query
from radarstream.schemas.verdict import Abstention, Reason, Verdict
from tests.builders import make_snapshot
from tests.driving import Script, run, saying

IDK = AtomicAnswer("I don't know", True)


def documents(*texts: str) -> Evidence:
    """Evidence without signals."""
    snapshot = make_snapshot(texts)
    return Evidence(snapshot.query, snapshot.observed_at, snapshot.documents)


def numbered(k: int) -> Evidence:
    return documents(*(f"document {rank}" for rank in range(1, k + 1)))


def ranks_shown(request: Complete) -> tuple[int, ...]:
    return tuple(int(passage.split()[-1]) for passage in request.passages)


def last_shown(request: Complete) -> AtomicAnswer:
    """A round says what its best document says."""
    claim = request.passages[-1].splitlines()[-1]
    return IDK if claim == "nothing" else AtomicAnswer(claim)


def judge(evidence: Evidence, script: Script | None = None, **options) -> Verdict:
    options.setdefault("method", "sampling")
    return run(ReliabilityRag(**options).defend(evidence, None), script or Script())[0]


class TestRequests:
    def test_rounds_that_are_asked_and_related(self):
        script = Script()
        judge(numbered(3), script, rounds=50)
        shown = [ranks_shown(r) for r in script.requests[0].requests]
        assert shown == [(1,), (2, 1), (3, 1), (2,), (3, 2), (3,)]
        script = Script()
        judge(numbered(3), script, rounds=50, replacement=False)
        assert [ranks_shown(r) for r in script.requests[0].requests] == [(2, 1), (3, 1), (3, 2)]
        script = Script(answer=lambda r: AtomicAnswer("A") if ranks_shown(r) == (2,) else IDK)
        verdict = judge(numbered(3), script, sample_size=1)
        assert script.asked(Relate) == []
        assert [d.reason for d in verdict.documents] == [
            Reason.UNINFORMATIVE,
            Reason.SUPPORTED,
            Reason.UNINFORMATIVE,
        ]

    def test_the_answer_of_the_better_ranks_is_the_premise(self):
        for said, expected in [
            (lambda r: AtomicAnswer("Rome"), {("Rome", "Rome")}),  # equal pairs, related once
            (
                lambda r: AtomicAnswer(str(min(ranks_shown(r)))),
                {("1", "1"), ("1", "2"), ("1", "3"), ("2", "2"), ("2", "3")},
            ),
        ]:
            script = Script(answer=said)
            judge(numbered(3), script, rounds=50)
            (relate,) = script.asked(Relate)
            pairs = list(zip(relate.premises, relate.hypotheses, strict=True))
            assert (len(pairs), set(pairs)) == (len(expected), expected)


class TestSelection:
    def test_the_union_of_agreeing_rounds_answers_in_rank_order(self):
        script = Script(answer=last_shown)
        verdict = judge(documents("lie", "truth", "truth", "truth", "truth"), script, gamma=1.0)
        assert verdict.kept_ranks == (2, 3, 4, 5)
        assert [p.splitlines()[0] for p in script.requests[-1].passages] == [
            f"Title {rank}" for rank in (2, 3, 4, 5)
        ]
        assert verdict.documents[0].reason is Reason.CONTRADICTED
        verdict = judge(numbered(50), rounds=1, sample_size=1)
        reasons = Counter(d.reason for d in verdict.documents)
        assert reasons == {Reason.SUPPORTED: 1, Reason.NOT_SAMPLED: 49}

    def test_equals_the_published_procedure(self):
        """T vertices with every repetition and abstention, all subsets tried."""
        rng = np.random.default_rng(12)
        for trial in range(60):
            k, rounds = int(rng.integers(1, 7)), int(rng.integers(1, 9))
            evidence = numbered(k)
            said = {
                sample: None if rng.random() < 0.2 else f"claim {rng.integers(4)}"
                for size in (1, 2)
                for sample in itertools.combinations(range(1, k + 1), size)
            }
            hostile = {
                (f"claim {a}", f"claim {b}"): bool(rng.random() < 0.5)
                for a in range(4)
                for b in range(4)
            } | {(f"claim {a}", f"claim {a}"): False for a in range(4)}

            def answer(request: Complete, said=said) -> AtomicAnswer:
                text = said.get(tuple(sorted(ranks_shown(request))), "final")
                return IDK if text is None else AtomicAnswer(text)

            def relation(premise: str, hypothesis: str, hostile=hostile) -> tuple[float, float]:
                return (0.0, 0.9 if hostile[premise, hypothesis] else 0.1)

            verdict = judge(
                evidence, Script(answer=answer, relation=relation), rounds=rounds, seed=trial
            )
            drawn = drawn_rounds(evidence, rounds, trial)
            assert verdict.kept_ranks == published(drawn, said, hostile)


def drawn_rounds(evidence: Evidence, rounds: int, seed: int) -> list[tuple[int, ...]]:
    """The ranks of every round, as often as drawn."""
    seen: list[tuple[int, ...]] = []
    rag = ReliabilityRag(method="sampling", rounds=rounds, seed=seed)
    asking = rag.ask_samples(evidence)
    request = next(asking)
    try:
        asking.send(tuple(IDK for _ in request.requests))
    except StopIteration as stop:
        for r in stop.value:
            seen += [tuple(i + 1 for i in r.members)] * r.drawn
    assert len(seen) == rounds
    return seen


def published(
    drawn: list[tuple[int, ...]],
    said: dict[tuple[int, ...], str | None],
    hostile: dict[tuple[str, str], bool],
) -> tuple[int, ...]:
    """Union of the largest set of rounds without contradictions; of equals, the first tuples."""

    def free(members: tuple[int, ...]) -> bool:
        claims = [said[drawn[i]] for i in members]
        pairs = itertools.combinations([c for c in claims if c is not None], 2)
        return not any(hostile[pair] for pair in pairs)

    order = sorted(range(len(drawn)), key=drawn.__getitem__)
    drawn = [drawn[i] for i in order]
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(len(drawn)), size) for size in range(len(drawn) + 1)
    )
    best = min(filter(free, subsets), key=lambda s: (-len(s), [drawn[i] for i in s]))
    return tuple(sorted({rank for i in best if said[drawn[i]] for rank in drawn[i]}))


class TestEdgeCases:
    def test_every_round_abstains(self):
        script = Script(answer=saying(None))
        verdict = judge(numbered(4), script)
        assert verdict.abstention is Abstention.NO_EVIDENCE
        assert verdict.kept_ranks == ()
        assert [type(r) for r in script.requests] == [CompleteAll]

    @pytest.mark.parametrize("replacement", [True, False])
    @pytest.mark.parametrize("k", [0, 1])
    def test_no_and_one_document(self, replacement: bool, k: int):
        script = Script()
        verdict = judge(numbered(k), script, replacement=replacement)
        if not k:
            assert (verdict.abstention, script.requests) == (Abstention.NO_DOCUMENTS, [])
            return
        assert (verdict.answer, verdict.kept_ranks) == ("final", (1,))
        assert [ranks_shown(r) for r in script.requests[0].requests] == [(1,)]


class TestDeterminism:
    def test_draws_depend_on_seed_query_and_time_alone(self):
        evidence = numbered(50)

        def drawn(of: Evidence, seed: int = 0) -> list[tuple[int, ...]]:
            return drawn_rounds(of, 20, seed)

        usual = drawn(evidence)
        assert drawn(evidence) == usual
        other_words = replace(evidence, query=Query(evidence.query.id, "Who won, really?"))
        assert drawn(other_words) == usual
        other_query = replace(evidence, query=Query("final", evidence.query.text))
        later = replace(evidence, observed_at=evidence.observed_at + timedelta(milliseconds=1))
        draws = [usual, drawn(evidence, 1), drawn(other_query), drawn(later)]
        assert all(a != b for a, b in itertools.combinations(draws, 2))
