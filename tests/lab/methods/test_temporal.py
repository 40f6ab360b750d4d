"""The two adaptations of static defences to a history, and none."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.protocol import Complete, CompleteAll, Defense, Relate
from radarstream.defenses.radar import Radar
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.defenses.vanilla import Vanilla
from radarstream.lab.methods.temporal import (
    CumulativeSnapshot,
    LightweightHistory,
    Memoryless,
    Pool,
    adapt,
    with_previous,
)
from radarstream.schemas.codec import decode_stored, encode_state
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.memory import Belief, LastAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Document
from tests.builders import claims_evidence
from tests.driving import Script, run, saying

ADAPTATIONS = ["none", "lightweight", "cumulative"]
SNAPSHOTS: list[list[str | None]] = [
    ["old", "old", "lie"],
    [None, "new"],
    [],
    ["new", "lie", "new", "lie"],
    [None, None],
]


def judge(defense: Defense, evidence: Evidence, state: object, script: Script | None = None):
    script = script or Script(answer=repeating)
    verdict, after = run(defense.defend(evidence, state), script)
    return verdict, after, script.requests


def repeating(request: Complete) -> AtomicAnswer:
    """Says how many passages it was shown."""
    return AtomicAnswer(f"{len(request.passages)} shown")


def same_requests(first: list, second: list) -> bool:
    return [repr(request) for request in first] == [repr(request) for request in second]


@pytest.mark.parametrize("adaptation", [*ADAPTATIONS, "", "cumulative-10"])
@pytest.mark.parametrize("name", sorted(DEFENSES))
def test_the_first_snapshot_is_judged_as_by_the_defence_itself(name: str, adaptation: str):
    static = build_defense(name)
    adapted = adapt(static, adaptation)
    assert adapted.needs == static.needs
    for evidence in map(claims_evidence, SNAPSHOTS):
        plain = judge(static, evidence, static.initial_state())
        wrapped = judge(adapted, evidence, adapted.initial_state())
        assert wrapped[0] == plain[0]
        assert same_requests(wrapped[2], plain[2])


@pytest.mark.parametrize("adaptation", ADAPTATIONS)
@pytest.mark.parametrize("name", sorted(DEFENSES))
def test_histories_are_deterministic_and_every_snapshot_gets_its_verdicts(
    name: str, adaptation: str
):
    adapted = adapt(build_defense(name), adaptation)
    runs = []
    for defense in (adapted, pickle.loads(pickle.dumps(adapted))):
        state, verdicts = defense.initial_state(), []
        for claims in SNAPSHOTS:
            evidence = claims_evidence(claims)
            verdict, state, _ = judge(defense, evidence, state)
            verdicts.append(verdict)
            new = [d.rank for d in verdict.documents][: len(claims)]
            assert new == [d.rank for d in evidence.documents]
        runs.append((verdicts, state))
    assert runs[0] == runs[1]


class TestMemoryless:
    def test_radar_without_memory_judges_every_snapshot_as_the_first(self):
        adapted = Memoryless(Radar())
        state = adapted.initial_state()
        for claims in (["old", "old"], ["new"], ["lie", "lie", "old"]):
            verdict, state, asked = judge(adapted, claims_evidence(claims), state)
            plain = judge(Radar(), claims_evidence(claims), None)
            assert (verdict, state) == (plain[0], None)
            assert same_requests(asked, plain[2])


class TestLightweightHistory:
    def answer(self, *replies: str | None, defense: Defense | None = None):
        """Judge one snapshot per reply; the requests of each."""
        adapted = LightweightHistory(defense or Vanilla())
        state, asked = adapted.initial_state(), []
        for reply in replies:
            script = Script(answer=saying(reply))
            _, state = run(adapted.defend(claims_evidence(["A", "B"]), state), script)
            asked.append(script.requests)
        return asked, state

    def test_the_last_answer_is_shown_from_the_second_snapshot_on(self):
        asked, state = self.answer("Ann", "Bo", "Bo")
        assert [request.previous_answer for (request,) in asked] == [None, "Ann", "Bo"]
        assert state == LastAnswer("Bo", None)
        assert len({replace(request, previous_answer=None) for (request,) in asked}) == 1

    def test_after_an_abstention_nothing_is_shown(self):
        asked, state = self.answer("Ann", None, "Bo")
        assert [request.previous_answer for (request,) in asked] == [None, "Ann", None]
        assert state.answer == "Bo"
        assert self.answer("Ann", None)[1] == LastAnswer(None, None)

    def test_only_final_requests_change(self):
        isolated = Complete(Task.ATOMIC_ANSWER, "Who?", ("x",), final=False)
        final = Complete(Task.ANSWER_FROM_DOCUMENTS, "Who?", ("x",))
        shown = replace(final, previous_answer="Ann")
        assert with_previous(isolated, "Ann") == isolated
        assert with_previous(final, "Ann") == shown
        both = CompleteAll((isolated, final))
        assert with_previous(both, "Ann") == CompleteAll((isolated, shown))
        relate = Relate("Who?", ("a",), ("b",))
        assert with_previous(relate, "Ann") is relate

    def test_requests_made_before_the_final_one_stay(self):
        asked, _ = self.answer("Ann", "Bo", defense=build_defense("astute_rag"))
        (recall_before, _), (recall, consolidate) = asked
        assert recall == recall_before
        assert consolidate.previous_answer == "Ann"

    def test_its_state_costs_little_more_than_the_answer(self):
        assert encode_state(LastAnswer("Emmanuel Macron")) == b'{"v":1,"p":"Emmanuel Macron"}'

    @pytest.mark.parametrize("name", sorted(DEFENSES))
    def test_resuming_from_stored_state_equals_an_uninterrupted_run(self, name: str):
        adapted = LightweightHistory(build_defense(name))
        state = stored = adapted.initial_state()
        for claims in SNAPSHOTS:
            verdict, state, _ = judge(adapted, claims_evidence(claims), state)
            again, resumed, _ = judge(adapted, claims_evidence(claims), stored)
            stored = decode_stored(encode_state(resumed))[0]
            assert (again, stored) == (verdict, state)


def told(*claims: str | None, url: str = "") -> Evidence:
    """Evidence of documents that read like their claims."""
    evidence = claims_evidence(list(claims))
    documents = tuple(
        replace(d, text=f"{claim}", title=url, url=url)
        for d, claim in zip(evidence.documents, claims, strict=True)
    )
    return replace(evidence, documents=documents)


class TestCumulativeSnapshot:
    def live(self, defense: Defense, *snapshots: Evidence, context: int | None = None):
        """The last snapshot's verdict and requests, and the pool after it."""
        adapted = CumulativeSnapshot(defense, context)
        state = adapted.initial_state()
        for evidence in snapshots[:-1]:
            _, state, _ = judge(adapted, evidence, state)
        verdict, state, asked = judge(adapted, snapshots[-1], state)
        return verdict, state, asked

    def test_new_documents_come_first_each_block_in_rank_order(self):
        snapshots = (told("a1", "a2"), told("b1"), told("c1", "c2"))
        verdict, pool, (asked,) = self.live(Vanilla(), *snapshots)
        assert asked.passages == ("c1", "c2", "b1", "a1", "a2")
        assert [d.rank for d in verdict.documents] == [1, 2, 3, 4, 5]
        assert [d.text for d in pool.documents] == ["c1", "c2", "b1", "a1", "a2"]

    def test_every_answer_stays_with_its_document(self):
        """The newest snapshot's documents and answers come first, in the pool as in the verdict."""
        snapshots = (told("a1", "a2"), told("b1"), told("c1", "c2"))
        verdict, pool, _ = self.live(Radar(), *snapshots)
        assert [answer.text for answer in pool.answers] == [d.text for d in pool.documents]
        assert [d.text for d in pool.documents] == ["c1", "c2", "b1", "a1", "a2"]
        answers = [document.atomic_answer for document in verdict.documents]
        assert answers == ["c1", "c2", "b1", "a1", "a2"]

    @pytest.mark.parametrize(
        ("context", "shown"), [(None, 5), (4, 4), (3, 3), (2, 2), (1, 2), (9, 5)]
    )
    def test_the_context_is_filled_with_older_documents_and_cuts_no_new_one(
        self, context: int | None, shown: int
    ):
        snapshots = (told("a1", "a2"), told("b1"), told("c1", "c2"))
        verdict, pool, (asked,) = self.live(Vanilla(), *snapshots, context=context)
        assert asked.passages == ("c1", "c2", "b1", "a1", "a2")[:shown]
        assert len(verdict.documents) == shown
        assert len(pool.documents) == 5

    def test_ranks_of_new_documents_stay_and_older_ones_follow(self):
        new = told("b1", "b2")
        new = replace(
            new,
            documents=tuple(replace(d, rank=r) for d, r in zip(new.documents, (2, 7), strict=True)),
        )
        verdict, *_ = self.live(Vanilla(), told("a1", "a2"), new)
        assert [d.rank for d in verdict.documents] == [2, 7, 8, 9]

    def test_without_new_documents_the_older_ones_answer(self):
        verdict, pool, (asked,) = self.live(Vanilla(), told("a1", "a2"), told())
        assert asked.passages == ("a1", "a2")
        assert not verdict.abstained
        assert len(pool.documents) == 2

    def test_relations_of_the_pool_are_asked_once_per_pair_of_different_answers(self):
        static = build_defense("reliability_rag", {"method": "exact"})
        verdict, _, asked = self.live(static, told("a", None, "b"), told("b", "c", "b"))
        relate = next(request for request in asked if isinstance(request, Relate))
        pairs = list(zip(relate.premises, relate.hypotheses, strict=True))
        assert sorted(pairs) == sorted((p, h) for p in "abc" for h in "abc")
        # b, c, b, a, (abstains), b: the three that say b are the largest set.
        assert [(d.rank, d.kept) for d in verdict.documents] == [
            (1, True), (2, False), (3, True), (4, False), (5, False), (6, True)
        ]  # fmt: skip

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=4),
        st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=4),
    )
    def test_a_pool_is_judged_like_one_snapshot_of_the_same_documents(
        self, old: list[str | None], new: list[str | None]
    ):
        at_once = judge(Memoryless(Radar()), told(*new, *old), None)
        adapted = CumulativeSnapshot(Memoryless(Radar()))
        state = Pool(told(*old).documents, told(*old).answers, None)
        script = Script(
            answer=repeating, relation=lambda p, h: (0.95, 0.01) if p == h else (0.02, 0.95)
        )
        joined = judge(adapted, told(*new), state, script)
        assert joined[0] == at_once[0]

    def test_a_state_of_the_defence_goes_on(self):
        """RADAR's memory beside the pool: both adaptations of one defence, if one wants them."""
        adapted = CumulativeSnapshot(Radar())
        _, state, _ = judge(adapted, told("a", "a"), adapted.initial_state())
        assert state.inner == Belief("2 shown", pytest.approx(0.02), pytest.approx(0.95))
        verdict, *_ = judge(adapted, told("a"), state)
        assert verdict.memory.previous_answer == "2 shown"

    def test_the_pool_counts_its_bytes(self):
        document = Document(
            1, "é", title="ab", url="u", published_at=datetime(2020, 1, 2, tzinfo=UTC)
        )
        assert Pool((document, document), None, None).bytes == 2 * (2 + 2 + 1 + 25)
        assert Pool((), None, None).bytes == 0


def test_an_unknown_adaptation_is_refused():
    with pytest.raises(ConfigurationError, match="lightweigth"):
        adapt(Vanilla(), "lightweigth")
