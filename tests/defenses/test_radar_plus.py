"""RADAR+: RADAR with everything off, mirrored attacks and news, its propositions and its memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from radarstream.defenses.protocol import Complete, Relate
from radarstream.defenses.radar import Radar
from radarstream.defenses.radar_plus import RadarPlus
from radarstream.schemas.codec import decode_state, encode_state
from radarstream.schemas.errors import InputError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.sites import site_of
from radarstream.schemas.verdict import Abstention, MemoryDecision, Reason, Verdict
from tests.builders import OBSERVED_AT, camps, claims_evidence, make_evidence
from tests.driving import Script, by_equality, most_common, run, saying
from tests.verdicts import recomputed_energy

OFF = {"votes": False, "normalise": False, "self_support": False, "site_cap": False}
DAY = timedelta(days=1)
HALF_LIFE = RadarPlus().half_life_days * DAY


def on_sites(evidence: Evidence, sites: list[str] | None = None) -> Evidence:
    """The same documents, every one on a site of its own unless `sites` says otherwise."""
    named = sites or [f"site{document.rank}.example" for document in evidence.documents]
    documents = tuple(
        replace(document, text=answer.text, title="", url=f"https://www.{site}/{document.rank}")
        for document, answer, site in zip(
            evidence.documents, evidence.answers or (), named, strict=True
        )
    )
    return replace(evidence, documents=documents)


def claims(*texts: str | None, sites: list[str] | None = None, after=0 * DAY, **how) -> Evidence:
    """One document per claim, observed some time after the first snapshot."""
    evidence = on_sites(claims_evidence(list(texts), **how), sites)
    return replace(evidence, observed_at=OBSERVED_AT + after)


def judge(
    evidence: Evidence, state: Belief | None = None, plus: RadarPlus | Radar | None = None, **script
) -> tuple[Verdict, Belief | None]:
    script.setdefault("answer", most_common)
    return run((plus or RadarPlus()).defend(evidence, state), Script(**script))


def remembered(answer: str, documents: float, voices: float | None = None, **prior) -> Belief:
    """An answer that so many documents, each on its own site, stood behind at the start."""
    prior = {"support": 0.9, "conflict": 0.05} | prior
    voices = documents if voices is None else voices
    return Belief(answer, voices=voices, documents=documents, confirmed_at=OBSERVED_AT, **prior)


class TestEverythingOff:
    @settings(max_examples=120, deadline=None)
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
        plus = RadarPlus(on_empty="best_document", **OFF)
        ours = run(plus.defend(evidence, state), scripts[1])
        assert ours == theirs
        assert scripts[0].requests == scripts[1].requests

    @pytest.mark.parametrize("option", [*OFF, "half_life_days"])
    def test_each_change_matters_by_itself(self, option: str):
        rng = np.random.default_rng(5)
        evidence = on_sites(
            make_evidence(*rng.random((2, 5, 5))),
            ["a.example", "a.example", "b.example", "c.example", "b.example"],
        )
        state = remembered("M", 9.0)
        whole, _ = judge(evidence, state)
        part, _ = judge(evidence, state, RadarPlus(**{option: OFF.get(option, 0.0)}))
        assert part.edges != whole.edges or part.documents != whole.documents


def hosts(*counts: int) -> list[str]:
    """So many pages on one host, so many on the next."""
    return [f"host{i}.example" for i, count in enumerate(counts) for _ in range(count)]


class TestMirroredAttacks:
    """What helps honest pages of one host helps lies of one host: both are tried."""

    @pytest.mark.parametrize(
        ("lies", "honest"),
        [
            (hosts(1), [f"x{s}" for s in hosts(9)]),  # an encyclopaedia against one lie at rank 1
            (hosts(1, 1), [f"x{s}" for s in hosts(4, 4)]),
            (hosts(1, 1, 1), [f"x{s}" for s in hosts(9)]),
            (hosts(1, 1), [f"x{s}" for s in hosts(1, 1, 1)]),
            (hosts(2), [f"x{s}" for s in hosts(3)]),
        ],
    )
    def test_honest_pages_of_few_hosts_beat_fewer_lies(self, lies: list[str], honest: list[str]):
        texts = ["lie"] * len(lies) + ["truth"] * len(honest)
        verdict, _ = judge(claims(*texts, sites=lies + honest))
        assert verdict.answer == "truth"
        assert set(verdict.kept_ranks) == set(range(len(lies) + 1, len(texts) + 1))

    @pytest.mark.parametrize(("pages", "sites"), [(6, 4), (7, 3), (9, 4), (40, 10)])
    def test_one_host_with_many_lies_does_not_beat_independent_sites(self, pages: int, sites: int):
        texts = ["lie"] * pages + ["truth"] * sites
        evidence = claims(*texts, sites=hosts(pages, *[1] * sites))
        assert judge(evidence)[0].abstention is Abstention.NO_CONSENSUS
        assert judge(evidence, plus=Radar())[0].kept_ranks == tuple(range(1, pages + 1))

    def test_many_sites_with_fewer_lies_do_not_beat_one_host(self):
        """The mirror image of the case before: again nothing tells which is which."""
        evidence = claims(*["lie"] * 4, *["truth"] * 6, sites=hosts(1, 1, 1, 1, 6))
        assert judge(evidence)[0].abstention is Abstention.NO_CONSENSUS

    @pytest.mark.parametrize("sites", [hosts(6, 1, 1, 1, 1), hosts(1, 1, 1, 1, 6)])
    def test_a_memory_decides_what_the_counts_cannot(self, sites: list[str]):
        """While it lasts; it may be of either side."""
        first = ["A" if site == sites[0] else "B" for site in sites]
        texts = first if sites[0] == sites[1] else ["A"] * 4 + ["B"] * 6
        for answer in "AB":
            state = remembered(answer, 4.0, 2.0)
            verdict, _ = judge(claims(*texts, sites=sites, after=DAY), state)
            assert verdict.answer == answer
            late = judge(claims(*texts, sites=sites, after=9 * HALF_LIFE), state)[0]
            assert late.abstention is Abstention.NO_CONSENSUS

    def test_a_tie_is_no_consensus_whatever_the_ranks(self):
        assert judge(claims("lie", "lie", "truth", "truth"))[0].abstained
        assert judge(claims("lie", "truth"))[0].abstained

    def test_weakness_more_lies_on_more_sites_are_the_truth(self):
        assert judge(claims("truth", "lie", "lie", "lie"))[0].kept_ranks == (2, 3, 4)

    def test_weakness_a_single_document_is_believed_when_nothing_is_remembered(self):
        assert judge(claims("lie", None, None))[0].kept_ranks == (1,)

    def test_pages_on_the_host_of_the_truth_do_not_weaken_it(self):
        """Voices are shared with pages that say the same, not with all of a host."""
        alone, _ = judge(claims("truth", "truth", "lie", sites=hosts(1, 1, 1)))
        texts = ["truth", "truth", "lie", "stray 1", "stray 2", "stray 3"]
        joined, _ = judge(claims(*texts, sites=["host0.example", *hosts(0, 1, 1), *hosts(3)]))
        assert joined.kept_ranks == alone.kept_ranks == (1, 2)


def fewest_lies(method: Radar | RadarPlus, *, one_host: bool, old_answer: bool) -> int:
    """The fewest of ten documents, at the best ranks, that make a lie kept; 11 for never."""
    for lies in range(1, 11):
        texts = ["lie"] * lies + ["truth"] * (10 - lies)
        sites = (hosts(lies) if one_host else hosts(*[1] * lies)) + [
            f"x{site}" for site in hosts(*[1] * (10 - lies))
        ]
        evidence = claims(*texts, sites=sites, agree=1.0, leak=0.0, after=DAY)
        state = remembered("truth", 10.0) if old_answer else None
        if 1 in judge(evidence, state, method)[0].kept_ranks:
            return lies
    return 11


@pytest.mark.parametrize(
    ("one_host", "old_answer", "radar", "plus"),
    [(False, False, 5, 6), (True, False, 5, 8), (False, True, 5, 10), (True, True, 5, 11)],
)
def test_breaking_point_of_ten_documents_with_exact_relations(
    one_host: bool, old_answer: bool, radar: int, plus: int
):
    found = {"one_host": one_host, "old_answer": old_answer}
    assert fewest_lies(Radar(), **found) == radar
    assert fewest_lies(RadarPlus(), **found) == plus


@pytest.mark.parametrize(("lies", "answer"), [(3, "truth"), (4, ""), (9, ""), (10, "lie")])
def test_an_encyclopaedia_is_silenced_by_fewer_sites_than_fool(lies: int, answer: str):
    """Nine pages of one host have 3.2 voices: four sites speak louder, and are fewer documents."""
    texts, sites = ["lie"] * lies + ["truth"] * 9, hosts(*[1] * lies) + ["x.example"] * 9
    assert judge(claims(*texts, sites=sites))[0].answer == answer


class TestLeakyRelations:
    @pytest.mark.parametrize("n", [10, 50])
    @pytest.mark.parametrize("leak", [0.02, 0.1, 0.3, 0.4])
    def test_a_lie_is_cut_at_every_k(self, n: int, leak: float):
        matrices = camps([1, n - 1], within=(0.95, 0.01), across=(leak, 0.4))
        verdict, _ = judge(on_sites(make_evidence(*matrices)), relation=lambda p, h: (0.9, 0.05))
        assert verdict.kept_ranks == tuple(range(2, n + 1))

    @pytest.mark.parametrize("k", [10, 50])
    @pytest.mark.parametrize("error", [0.01, 0.1])
    def test_wrong_relations_keep_no_lie(self, k: int, error: float):
        """A third of k lies, pairs scored wrongly at random in either way."""
        kept = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            lies = k // 3
            entails, contradicts = camps([lies, k - lies], (0.95, 0.01), (0.02, 0.95))
            wrong = np.triu(rng.random((k, k)) < error, 1)
            entails = np.where(wrong | wrong.T, 0.97 - entails, entails)
            verdict, _ = judge(on_sites(make_evidence(entails, contradicts)))
            kept.append(np.mean([rank <= lies for rank in verdict.kept_ranks]))
        assert np.mean(kept) < 0.02


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    n, seed = draw(st.integers(1, 8)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    evidence = make_evidence(*rng.random((2, n, n)))
    return on_sites(evidence, [f"s{site}.example" for site in rng.integers(0, n, n)])


class TestPropositions:
    """Of docs/radar_plus.md."""

    @settings(max_examples=80, deadline=None)
    @given(evidences())
    def test_a_document_worse_than_its_mean_bond_is_cut(self, evidence: Evidence):
        verdict, _ = judge(evidence, relation=lambda p, h: (0.5, 0.2))
        bonds = dict.fromkeys((d.rank for d in verdict.documents), 0.0)
        for a, b, capacity in verdict.edges:
            bonds[a] += capacity
            bonds[b] += capacity
        for document in verdict.documents:
            gap = document.reject_evidence - document.keep_evidence
            if gap > bonds[document.rank] + 1e-6:
                assert document.reason is Reason.CUT
            if -gap > bonds[document.rank] + 1e-6:
                assert document.reason in (Reason.SUPPORTED, Reason.ISOLATED)

    @settings(max_examples=120, deadline=None)
    @given(st.data())
    def test_exact_relations_no_lie_is_kept_that_radar_cuts(self, data: st.DataObject):
        """Wherever the pages stand, and whoever is remembered, if it is not the lie."""
        texts = data.draw(st.lists(st.sampled_from("ABC"), min_size=1, max_size=12))
        names = [f"s{i}.example" for i in range(len(texts))]
        sites = [data.draw(st.sampled_from(names)) for _ in texts]
        lie = data.draw(st.sampled_from("ABC"))
        other = data.draw(st.sampled_from([c for c in "ABC" if c != lie]))
        weight = data.draw(st.floats(0.0, 12.0))
        state = data.draw(st.sampled_from([None, remembered(other, weight, weight / 2)]))
        exact = {True: (1.0, 0.0), False: (0.0, 1.0)}
        evidence = claims(*texts, sites=sites, agree=1.0, leak=0.0, after=DAY)

        def keeps(method: Radar | RadarPlus) -> bool:
            verdict, _ = judge(evidence, state, method, relation=lambda p, h: exact[p == h])
            return any(texts[rank - 1] == lie for rank in verdict.kept_ranks)

        assert keeps(Radar(on_empty="abstain")) or not keeps(RadarPlus())

    @settings(max_examples=120, deadline=None)
    @given(evidences())
    def test_any_relations_nothing_is_kept_that_counting_documents_cuts(self, evidence: Evidence):
        same = {"similarity_threshold": -1.0}
        both, _ = judge(evidence, None, RadarPlus(**same), relation=by_equality)
        documents, _ = judge(evidence, None, RadarPlus(site_cap=False, **same))
        assert set(both.kept_ranks) <= set(documents.kept_ranks)

    @settings(max_examples=60, deadline=None)
    @given(evidences(), st.floats(0.0, 20.0), st.integers(0, 2**32 - 1))
    def test_the_verdict_is_enough_to_recompute_its_energy(
        self, evidence: Evidence, documents: float, seed: int
    ):
        rng = np.random.default_rng(seed)
        table = {}

        def relation(premise: str, hypothesis: str) -> tuple[float, float]:
            return table.setdefault((premise, hypothesis), tuple(rng.random(2) / 2))

        for normalise in (True, False):
            verdict, after = judge(
                evidence,
                remembered("M", documents),
                RadarPlus(normalise=normalise, on_empty="best_document"),
                relation=relation,
            )
            assert verdict.energy == pytest.approx(recomputed_energy(verdict))
            assert decode_state(encode_state(after)) == after


def history(evidences: list[Evidence], state: Belief | None = None) -> list[str | None]:
    """The answers along a history; None where RADAR+ abstains."""
    found = []
    for evidence in evidences:
        verdict, state = judge(evidence, state)
        found.append(None if verdict.abstained else verdict.answer)
    return found


class TestMemory:
    def test_a_pulse_of_lies_does_not_pass(self):
        days = [(["truth"] * 10, 0), (["lie"] * 6 + ["truth"] * 4, 1), (["truth"] * 10, 2)]
        seen = history([claims(*texts, after=day * DAY) for texts, day in days])
        assert seen == ["truth"] * 3

    def test_a_real_change_is_learned_after_some_time(self):
        """Six of ten pages know. It looks like the pulse, and it lasts."""
        first = claims(*["old"] * 10)
        later = [claims(*["new"] * 6, *["old"] * 4, after=d * HALF_LIFE / 4) for d in range(1, 9)]
        seen = history([first, *later])
        assert seen[1] == "old"
        assert seen[-1] == "new"
        assert seen.index("new") * HALF_LIFE / 4 <= 1.5 * HALF_LIFE

    @pytest.mark.parametrize("snapshots", [1, 3, 30])
    def test_it_fades_in_event_time_not_in_steps(self, snapshots: int):
        """However often one looks, the change is learned on the same day."""
        times = np.linspace(0.0, 1.2, snapshots + 1)[1:]
        seen = history(
            [
                claims(*["old"] * 10),
                *[claims(*["new"] * 6, *["old"] * 4, after=t * HALF_LIFE) for t in times],
            ]
        )
        assert seen[-1] == "new"
        assert "new" not in seen[: int(0.6 / 1.2 * snapshots)]

    def test_three_new_pages_are_not_locked_out_by_an_old_answer_of_many_voices(self):
        evidence = [claims(*["new"] * 3, after=d * HALF_LIFE / 2) for d in range(1, 7)]
        seen = history(evidence, remembered("old", 9.5))
        assert seen[0] == "old"
        assert "new" in seen[: 1 + int(2 * np.log2(9.5 / 3) + 1)]
        assert seen[-1] == "new"

    def test_one_new_page_ends_an_answer_that_nobody_repeats_in_the_end(self):
        seen = history([claims("new", after=20 * HALF_LIFE)], remembered("old", 9.5))
        assert seen == ["new"]

    def test_a_constant_pair_of_lies_needs_time(self):
        """Three documents, two of them lies: RADAR keeps them at once, beside the truth."""
        attacked = [claims("lie", "lie", "truth", after=d * HALF_LIFE / 8) for d in range(1, 4)]
        assert history([claims(*["truth"] * 3), *attacked]) == ["truth"] * 4
        state = judge(claims(*["truth"] * 3))[1]
        assert judge(attacked[0], state, Radar())[0].kept_ranks == (1, 2, 3)

    @pytest.mark.parametrize("age", [0, 1, 1000])
    def test_it_is_never_weaker_than_radar_s_node(self, age: int):
        """A tie goes to the memory however old it is; to more documents than that, in the end."""
        state = remembered("truth", 5.0)
        tie = claims(*["lie"] * 5, *["truth"] * 5, after=age * DAY, agree=1.0, leak=0.0)
        assert judge(tie, state)[0].answer == "truth"
        more = claims(*["lie"] * 6, *["truth"] * 4, after=1000 * DAY)
        assert judge(more, state)[0].answer == "lie"

    def test_voices_and_their_time_stay_while_others_lead(self):
        state = remembered("truth", 10.0)
        verdict, after = judge(claims(*["lie"] * 6, *["truth"] * 4, after=DAY), state)
        assert verdict.memory.decision is MemoryDecision.RETAINED
        assert (after.documents, after.voices, after.confirmed_at) == (10.0, 10.0, OBSERVED_AT)
        _, after = judge(claims(*["lie"] * 3, *["truth"] * 7, after=2 * DAY), after)
        assert after.confirmed_at == OBSERVED_AT + 2 * DAY
        assert after.documents == pytest.approx(10 * 0.5 ** (2 * DAY / HALF_LIFE), abs=1e-3)

    def test_pages_found_again_are_no_new_witnesses(self):
        state = None
        for day in range(5):
            _, state = judge(claims("A", "A", "A", after=day * DAY), state)
            assert state.documents == pytest.approx(3 * 0.95)

    def test_another_answer_starts_anew(self):
        _, after = judge(claims(*["new"] * 9, after=HALF_LIFE), remembered("old", 8.0))
        assert (after.answer, after.confirmed_at) == ("new", OBSERVED_AT + HALF_LIFE)
        assert after.documents == pytest.approx(9 * 0.95)
        assert after.voices == after.documents

    def test_a_late_snapshot_does_not_strengthen_it(self):
        plus, state = RadarPlus(), remembered("A", 3.0)
        assert plus.fade(state, OBSERVED_AT - DAY) == 1.0
        assert plus.fade(state, OBSERVED_AT + HALF_LIFE) == pytest.approx(0.5)
        assert plus.fade(Belief("A", 0.9, 0.1, voices=7.0), OBSERVED_AT) == 0.0

    def test_the_memory_is_the_last_claim_shown(self):
        script = Script(answer=saying("truth"))
        evidence = claims("lie", "truth", None)
        run(RadarPlus().defend(evidence, remembered("truth", 8.0)), script)
        (request,) = script.asked(Complete)
        assert request.task is Task.SYNTHESISE_ANSWERS
        assert request.passages == ("truth", "truth")

    def test_without_evidence_or_answer_the_state_stays(self):
        state = remembered("A", 4.0)
        verdict, after = judge(claims(None, None), state)
        assert (verdict.answer, after) == ("A", state)
        verdict, after = judge(claims("A", "B"), state, answer=saying(None))
        assert (verdict.abstention, after) == (Abstention.MODEL_ABSTAINED, state)

    @pytest.mark.parametrize("value", [-1.0, float("inf"), float("nan")])
    def test_half_lives_out_of_range(self, value: float):
        with pytest.raises(ValidationError, match="half_life_days"):
            RadarPlus(half_life_days=value)

    def test_the_previous_answer_is_related_to_the_new_one(self):
        script = Script(answer=saying("B"), relation=by_equality)
        run(RadarPlus().defend(claims("B", after=9 * HALF_LIFE), remembered("A", 1.0)), script)
        assert script.asked(Relate)[-1].premises == ("B", "A")


class TestStoredVoices:
    TIMED = b'{"v":2,"a":"A","s":0.5,"f":0.25,"n":2.5,"d":4.0,"u":1748779200000}'

    def test_radars_rows_stay_as_they_were(self):
        assert encode_state(Belief("A", 0.5, 0.25)) == b'{"v":1,"a":"A","s":0.5,"f":0.25}'
        assert decode_state(b'{"v":1,"a":"A","s":0.5,"f":0.25}') == Belief("A", 0.5, 0.25)

    def test_voices_of_earlier_rows_are_read_and_have_no_time(self):
        row = b'{"v":1,"a":"A","s":0.5,"f":0.25,"n":2.5}'
        assert decode_state(row) == Belief("A", 0.5, 0.25, 2.5)
        assert encode_state(Belief("A", 0.5, 0.25, 2.5)) == row

    def test_a_time_makes_it_version_2(self):
        state = Belief("A", 0.5, 0.25, 2.5, 4.0, datetime(2025, 6, 1, 12, tzinfo=UTC))
        assert encode_state(state) == self.TIMED
        assert decode_state(self.TIMED) == state

    def test_about_a_hundred_bytes(self):
        _, state = judge(claims(*["Emmanuel Macron"] * 9))
        assert len(encode_state(state)) < 140

    @pytest.mark.parametrize("name", ["n", "d"])
    @pytest.mark.parametrize("value", [b"-1", b"1e999", b"NaN", b"true", b'"2"', b"null"])
    def test_damaged_counts_are_refused(self, name: str, value: bytes):
        row = b'{"v":2,"a":"A","s":0.5,"f":0.25,"%s":%s,"u":0}' % (name.encode(), value)
        with pytest.raises(InputError, match="voices|documents"):
            decode_state(row)

    @pytest.mark.parametrize("time", [b"1.5", b'"x"', b"null", b"true", b"%d" % 10**18])
    def test_damaged_times_are_refused(self, time: bytes):
        with pytest.raises(InputError, match="stored time"):
            decode_state(b'{"v":2,"a":"A","s":0.5,"f":0.25,"u":%s}' % time)

    @pytest.mark.parametrize("row", [b'{"v":1,"a":"A","s":0.5,"f":0.25,"u":0}', b'{"v":2}'])
    def test_a_version_and_its_time_go_together(self, row: bytes):
        with pytest.raises(InputError, match="version"):
            decode_state(row)


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
