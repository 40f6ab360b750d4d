"""RADAR+: RADAR with everything off, what it gets right where RADAR must fail, and its theorems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from radarstream.defenses.protocol import Complete, Relate
from radarstream.defenses.radar import Radar
from radarstream.defenses.radar_plus import RadarPlus, site_voices
from radarstream.schemas.codec import decode_state, encode_state
from radarstream.schemas.errors import InputError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.sites import site_of
from radarstream.schemas.verdict import Abstention, MemoryDecision, Reason, Verdict
from tests.builders import camps, claims_evidence, make_evidence
from tests.driving import Script, by_equality, run, saying, towards
from tests.verdicts import recomputed_energy

OFF = {
    "iterations": 10,
    "normalise": False,
    "remember": 0.0,
    "self_support": False,
    "one_voice_per_site": False,
}


def on_sites(evidence: Evidence, sites: list[str] | None = None) -> Evidence:
    """The same documents, every one on a site of its own unless `sites` says otherwise."""
    named = sites or [f"site{document.rank}.example" for document in evidence.documents]
    documents = tuple(
        replace(document, url=f"https://www.{site}/page")
        for document, site in zip(evidence.documents, named, strict=True)
    )
    return replace(evidence, documents=documents)


def claims(*texts: str | None, **options) -> Evidence:
    return on_sites(claims_evidence(list(texts), **options))


def judge(
    evidence: Evidence, state: Belief | None = None, plus: RadarPlus | None = None, **script
) -> tuple[Verdict, Belief | None]:
    script.setdefault("answer", saying(state.answer if state else "final"))
    return run((plus or RadarPlus()).defend(evidence, state), Script(**script))


class TestEverythingOff:
    @settings(max_examples=120)
    @given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
    def test_is_radar(self, n: int, seed: int, remembers: bool, sparse: bool):
        rng = np.random.default_rng(seed)
        entailment, contradiction = rng.random((2, n, n))
        if sparse:
            entailment *= rng.integers(0, 2, (n, n))
            contradiction *= rng.integers(0, 2, (n, n))
        evidence = make_evidence(entailment, contradiction)
        state = Belief("M", *rng.random(2)) if remembers else None
        table = {}

        def relation(premise: str, hypothesis: str) -> tuple[float, float]:
            entails = rng.random()
            return table.setdefault((premise, hypothesis), (entails, (1 - entails) * rng.random()))

        scripts = [Script(relation=relation) for _ in range(2)]
        theirs = run(Radar().defend(evidence, state), scripts[0])
        ours = run(RadarPlus(**OFF).defend(evidence, state), scripts[1])
        assert ours == theirs
        assert scripts[0].requests == scripts[1].requests

    @pytest.mark.parametrize(
        "option", ["normalise", "remember", "self_support", "one_voice_per_site"]
    )
    def test_each_change_matters_by_itself(self, option: str):
        rng = np.random.default_rng(5)
        evidence = make_evidence(*rng.random((2, 5, 5)))
        evidence = on_sites(
            evidence, ["a.example", "a.example", "b.example", "c.example", "b.example"]
        )
        state = Belief("M", 0.5, 0.1, voices=9.0)
        whole, _ = judge(evidence, state)
        part, _ = judge(evidence, state, RadarPlus(**{option: OFF[option]}))
        assert part != whole


class TestWhereRadarMustFail:
    """The cases of docs/radar.md, "Known weaknesses"."""

    @staticmethod
    def g_a13() -> tuple[Evidence, Script]:
        """Documents 1 and 3 lie, document 2 and the memory tell the truth."""
        entailment = [[0, 0.03, 0.9], [0.03, 0, 0.03], [0.9, 0.03, 0]]
        contradiction = [[0, 0.93, 0.01], [0.93, 0, 0.93], [0.01, 0.93, 0]]
        evidence = on_sites(make_evidence(entailment, contradiction))
        texts = [answer.text for answer in evidence.answers or ()]
        pairs = [(0.03, 0.93), (0.95, 0.01), (0.03, 0.93)]
        memory = {"true": dict(zip(texts, pairs, strict=True)) | {"true": (0.95, 0.01)}}
        return evidence, Script(answer=saying("true"), relation=towards(memory))

    @pytest.mark.parametrize(("voices", "kept"), [(0.0, (1, 3)), (5.0, (1, 3)), (9.0, (2,))])
    def test_g_a13_one_truth_and_a_memory_of_nine_voices_beat_two_lies(
        self, voices: float, kept: tuple[int, ...]
    ):
        """Nine remembered voices count for three. A memory of five is worth less than two lies."""
        evidence, script = self.g_a13()
        state = Belief("true", 0.9, 0.03, voices)
        verdict, _ = run(RadarPlus().defend(evidence, state), script)
        assert verdict.kept_ranks == kept
        retained = verdict.memory.decision is MemoryDecision.RETAINED
        assert retained == (kept == (2,))
        assert run(Radar().defend(evidence, state), script)[0].kept_ranks == (1, 3)

    def test_g_a14_a_single_poisoned_document_is_still_believed_when_nothing_is_remembered(self):
        """Nothing in the evidence tells it from a single true one."""
        assert judge(claims("lie", None, None), answer=saying("lie"))[0].kept_ranks == (1,)

    def test_g_a14_but_not_against_a_memory(self):
        verdict, state = judge(claims("lie", None, None), Belief("truth", 0.9, 0.1, voices=6.0))
        assert verdict.kept_ranks == ()
        assert verdict.memory.decision is MemoryDecision.RETAINED
        assert (verdict.answer, state.voices) == ("truth", 2.0)

    def test_g_a15_a_stale_memory_of_one_page_does_not_outlive_a_disputed_update(self):
        """RADAR repeats the stale answer; here the fresh documents decide, by rank."""
        evidence = claims("lie", "truth")
        state = Belief("stale", 0.95, 0.02, voices=0.95)
        ours, _ = judge(evidence, state, relation=lambda p, h: (0.02, 0.9))
        assert ours.memory.decision is MemoryDecision.FALSIFIED
        assert ours.kept_ranks == (1,)
        script = Script(answer=saying("stale"), relation=lambda p, h: (0.02, 0.9))
        theirs, _ = run(Radar().defend(evidence, state), script)
        assert theirs.memory.decision is MemoryDecision.RETAINED
        assert theirs.kept_ranks == ()

    def test_g_a15_a_lie_that_speaks_again_is_not_counted_twice(self):
        """RADAR's memory sides with the lie even when the truth ranks first."""
        evidence, state = claims("truth", "lie"), Belief("lie", 0.95, 0.02, voices=0.95)
        assert judge(evidence, state)[0].kept_ranks == (1,)
        theirs, _ = run(Radar().defend(evidence, state), Script(answer=saying("lie")))
        assert theirs.kept_ranks == (2,)

    def test_g_a15_a_lie_above_the_truth_still_wins_one_against_one(self):
        """The mirror image, a true memory and a lie below, looks the same from here."""
        state = Belief("lie", 0.95, 0.02, voices=0.95)
        assert judge(claims("lie", "truth"), state)[0].kept_ranks == (1,)

    @pytest.mark.parametrize(
        ("entailment", "contradiction", "kept"), [(0.05, 0.6, 6), (0.308221, 0.077460, 9)]
    )
    def test_g_a16_partial_answers_are_for_the_relation_scorer(
        self, entailment: float, contradiction: float, kept: int
    ):
        """As for RADAR: what is scored a contradiction is cut, one-way entailment keeps both."""
        matrices = camps([6, 3], within=(0.95, 0.01), across=(entailment, contradiction))
        evidence = on_sites(make_evidence(*matrices, ranks=range(1, 10), retrieved=10))
        assert len(judge(evidence, relation=lambda p, h: (0.9, 0.05))[0].kept_ranks) == kept

    @pytest.mark.parametrize("n", [10, 50])
    @pytest.mark.parametrize("leak", [0.02, 0.1, 0.3, 0.5, 0.9])
    def test_leak_budget_does_not_shrink_with_k(self, n: int, leak: float):
        matrices = camps([1, n - 1], within=(0.95, 0.01), across=(leak, 0.95))
        verdict, _ = judge(on_sites(make_evidence(*matrices)), relation=lambda p, h: (0.9, 0.05))
        assert verdict.kept_ranks == tuple(range(2, n + 1))

    def test_copies_of_a_lie_on_one_site_are_one_lie(self):
        evidence = on_sites(
            claims_evidence(["lie", "truth", "lie", "truth", "lie"]),
            ["liar.example", "a.example", "liar.example", "b.example", "liar.example"],
        )
        assert judge(evidence)[0].kept_ranks == (2, 4)
        assert judge(on_sites(evidence))[0].kept_ranks == (1, 3, 5)

    def test_weakness_copies_on_sites_of_their_own_still_outvote_the_truth(self):
        assert judge(claims("truth", "lie", "lie", "lie"))[0].kept_ranks == (2, 3, 4)


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    n, seed = draw(st.integers(1, 8)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    evidence = make_evidence(*rng.random((2, n, n)))
    return on_sites(evidence, [f"s{site}.example" for site in rng.integers(0, n, n)])


class TestProofs:
    """The propositions of docs/radar_plus.md."""

    @settings(max_examples=80)
    @given(evidences())
    def test_a_document_worse_than_its_mean_bond_is_cut(self, evidence: Evidence):
        """Proposition 1: F_i > S_i + mean bond suffices, however many documents there are."""
        verdict, _ = judge(evidence, relation=lambda p, h: (0.5, 0.2))
        bonds = dict.fromkeys((d.rank for d in verdict.documents), 0.0)
        for edge in verdict.edges:
            bonds[edge.a] += edge.capacity
            bonds[edge.b] += edge.capacity
        for document in verdict.documents:
            gap = document.reject_evidence - document.keep_evidence
            if gap > bonds[document.rank] + 1e-6:
                assert document.reason in (Reason.CUT, Reason.BEST_OF_NONE)
            if -gap > bonds[document.rank] + 1e-6:
                assert document.reason in (Reason.SUPPORTED, Reason.ISOLATED)

    @given(
        st.lists(st.sampled_from("ABC"), min_size=1, max_size=6),
        st.integers(0, 5),
        st.integers(1, 5),
    )
    def test_more_pages_of_a_site_do_not_change_which_claim_wins(
        self, texts: list[str], which: int, copies: int
    ):
        """Proposition 2, where one claim has the most sites."""
        votes = sorted((texts.count(text) for text in set(texts)), reverse=True)
        assume(len(votes) == 1 or votes[0] > votes[1])
        copied = which % len(texts)
        more = [*texts, *[texts[copied]] * copies]
        names = [f"s{i}.example" for i in range(len(texts))]
        evidence = claims_evidence(more, agree=1.0, leak=0.0)
        verdict, _ = judge(on_sites(evidence, [*names, *[names[copied]] * copies]))
        winner = max(set(texts), key=texts.count)
        expected = [rank for rank, text in enumerate(more, start=1) if text == winner]
        assert list(verdict.kept_ranks) == expected

    @settings(max_examples=60)
    @given(evidences(), st.floats(0.0, 20.0), st.integers(0, 2**32 - 1))
    def test_the_verdict_is_enough_to_recompute_its_energy(
        self, evidence: Evidence, voices: float, seed: int
    ):
        rng = np.random.default_rng(seed)
        table = {}

        def relation(premise: str, hypothesis: str) -> tuple[float, float]:
            return table.setdefault((premise, hypothesis), tuple(rng.random(2) / 2))

        for normalise in (True, False):
            verdict, after = judge(
                evidence,
                Belief("M", 0.5, 0.2, voices),
                RadarPlus(normalise=normalise),
                relation=relation,
            )
            assert verdict.energy == pytest.approx(recomputed_energy(verdict))
            terminals = [d.keep_evidence for d in verdict.documents]
            terminals += [d.reject_evidence for d in verdict.documents]
            memory = (verdict.memory.support_posterior, verdict.memory.conflict_posterior)
            terminals += [value for value in memory if value is not None]
            assert 0.0 <= min(terminals) <= max(terminals) <= 1.0
            assert decode_state(encode_state(after)) == after

    @given(st.integers(1, 9), st.integers(0, 8), st.integers(0, 8), st.floats(0.0, 30.0))
    def test_the_claim_with_most_voices_is_kept_alone(
        self, new: int, old: int, other: int, voices: float
    ):
        """Proposition 3: present voices, or a third of the remembered ones if those are more."""
        ours = max(old, voices / 3)
        assume(new > max(ours, other) + 0.4 or ours > max(new, other) + 0.4)
        texts = ["new"] * new + ["old"] * old + ["other"] * other
        evidence = claims(*texts, agree=1.0, leak=0.0)
        exact = {True: (1.0, 0.0), False: (0.0, 1.0)}
        verdict, _ = judge(
            evidence,
            Belief("old", 0.9, 0.1, voices),
            relation=lambda p, h: exact[p == h],
        )
        winner = "new" if new > ours else "old"
        assert {texts[rank - 1] for rank in verdict.kept_ranks} <= {winner}
        assert (verdict.memory.decision is MemoryDecision.RETAINED) == (winner == "old")


class TestMemory:
    def test_remembered_voices_decay_and_end(self):
        state = Belief("truth", 0.9, 0.1, voices=12.0)
        answers = []
        for _ in range(4):
            verdict, state = run(
                RadarPlus().defend(claims("lie"), state),
                Script(answer=lambda request: saying(request.passages[-1])(request)),
            )
            answers.append(verdict.answer)
        assert answers == ["truth", "truth", "lie", "lie"]

    def test_pages_found_again_are_no_new_witnesses(self):
        state = None
        for _ in range(5):
            _, state = judge(claims("A", "A", "A"), state, answer=saying("A"))
            assert state.voices == pytest.approx(3 * 0.95)

    def test_a_memory_that_is_spoken_for_adds_no_node(self):
        verdict, _ = judge(claims("A", "A", "B"), Belief("A", 0.9, 0.1, voices=2.0))
        assert verdict.memory.decision is MemoryDecision.RETAINED
        assert verdict.memory.previous_answer == "A"
        assert {edge.a for edge in verdict.edges} <= {1, 2, 3}
        verdict, _ = judge(claims("A", "B", "B"), Belief("A", 0.9, 0.1, voices=2.0))
        assert verdict.memory.decision is MemoryDecision.FALSIFIED

    def test_another_answer_starts_anew(self):
        state = Belief("old", 0.9, 0.1, voices=8.0)
        _, after = judge(claims(*["new"] * 5), state, answer=saying("new"))
        assert after.voices == pytest.approx(5 * 0.95, abs=0.1)

    def test_the_memory_is_the_last_claim_shown(self):
        script = Script(answer=saying("truth"))
        evidence = claims("lie", "truth", None)
        run(RadarPlus().defend(evidence, Belief("truth", 0.9, 0.1, voices=8.0)), script)
        (request,) = script.asked(Complete)
        assert request.task is Task.SYNTHESISE_ANSWERS
        assert request.passages == ("truth", "truth")

    def test_without_evidence_or_answer_the_state_stays(self):
        state = Belief("A", 0.9, 0.1, voices=4.0)
        verdict, after = judge(claims(None, None), state)
        assert (verdict.answer, after) == ("A", state)
        verdict, after = judge(claims("A", "B"), state, answer=saying(None))
        assert (verdict.abstention, after) == (Abstention.MODEL_ABSTAINED, state)

    def test_an_empty_cut_may_abstain(self):
        plus = RadarPlus(on_empty="abstain")
        verdict, after = judge(claims("A", "B", leak=0.0), None, plus)
        assert (verdict.abstention, after) == (Abstention.NO_CONSENSUS, None)

    @pytest.mark.parametrize("value", [1.0, -0.1, float("nan")])
    def test_nothing_is_remembered_for_ever(self, value: float):
        with pytest.raises(ValidationError, match="remember"):
            RadarPlus(remember=value)

    def test_the_previous_answer_is_related_to_the_new_one(self):
        script = Script(answer=saying("B"), relation=by_equality)
        run(RadarPlus().defend(claims("B"), Belief("A", 0.9, 0.1, voices=1.0)), script)
        assert script.asked(Relate)[-1].premises == ("B", "A")


class TestStoredVoices:
    def test_radars_rows_stay_as_they_were(self):
        assert encode_state(Belief("A", 0.5, 0.25)) == b'{"v":1,"a":"A","s":0.5,"f":0.25}'
        assert decode_state(b'{"v":1,"a":"A","s":0.5,"f":0.25}') == Belief("A", 0.5, 0.25)

    def test_voices_are_stored_where_there_are_any(self):
        row = b'{"v":1,"a":"A","s":0.5,"f":0.25,"n":2.5}'
        assert encode_state(Belief("A", 0.5, 0.25, 2.5)) == row
        assert decode_state(row) == Belief("A", 0.5, 0.25, 2.5)

    @pytest.mark.parametrize("voices", ["-1", "1e999", "NaN", "true", '"2"', "null"])
    def test_damaged_voices_are_refused(self, voices: str):
        with pytest.raises(InputError, match="voices"):
            decode_state(b'{"v":1,"a":"A","s":0.5,"f":0.25,"n":%s}' % voices.encode())


class TestSites:
    @pytest.mark.parametrize(
        ("url", "site"),
        [
            ("https://www.example.org/a?b#c", "example.org"),
            ("https://News.BBC.co.uk:8080/x", "bbc.co.uk"),
            ("http://example.co/", "example.co"),
            ("https://co.uk/", "co.uk"),
            ("https://a.b.pages.example/", "pages.example"),
            ("https://abc.net.au./", "abc.net.au"),
            ("https://ann.github.io/", "ann.github.io"),
            ("http://192.168.1.7/a", "192.168.1.7"),
            ("http://[2001:db8::1]/a", "2001:db8::1"),
            ("http://localhost/a", "localhost"),
            ("https://user:secret@example.org/", "example.org"),
            ("example.org/a", ""),
            ("http://[broken", ""),
            ("", ""),
        ],
    )
    def test_site_of(self, url: str, site: str):
        assert site_of(url) == site

    @given(st.lists(st.sampled_from(["", "https://a.example/1", "https://b.example", "http://["])))
    def test_every_site_has_one_voice(self, urls: list[str]):
        voices = site_voices(urls)
        unplaced = sum(site_of(url) == "" for url in urls)
        places = {site_of(url) for url in urls} - {""}
        assert sum(voices) == pytest.approx(len(places) + unplaced)
