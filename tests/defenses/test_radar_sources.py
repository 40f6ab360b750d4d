"""RADAR with a ledger: a bounded term that is nothing until a source has lied."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from radarstream.defenses.protocol import Complete, Embed, Relate, Signal
from radarstream.defenses.radar import Radar
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.sources import NEUTRAL, Counts
from radarstream.schemas.verdict import Reason, Verdict
from tests.builders import camps, claims_evidence, make_evidence, read_only
from tests.driving import Script, most_common, run
from tests.verdicts import keep_values, recomputed_energy, reject_values

PRIOR = Radar(source_prior=1.0)
ONE_LIE, TWO_LIES = Counts(dishonest=1.0).honesty, Counts(dishonest=2.0).honesty
CERTAIN_LIAR = 1e-9


def knowing(evidence: Evidence, *honesty: float) -> Evidence:
    return replace(evidence, source_honesty=read_only(honesty))


def told(radar: Radar, evidence: Evidence, state: Belief | None = None) -> tuple[Verdict, Script]:
    script = Script(
        answer=most_common, relation=lambda a, b: (0.9, 0.05) if a == b else (0.02, 0.95)
    )
    verdict, _ = run(radar.defend(evidence, state), script)
    return verdict, script


def requests(script: Script) -> list[list[object]]:
    return [script.asked(kind) for kind in (Complete, Relate, Embed)]


@pytest.mark.parametrize("state", [None, Belief("A", 0.9, 0.1)])
@pytest.mark.parametrize("claims", [["A"], ["A", "B"], ["B", "A", None, "A"], ["A", "A", "B", "B"]])
@pytest.mark.parametrize(
    ("bare", "radar", "honesty"),
    [
        (Radar(), Radar(), CERTAIN_LIAR),
        (Radar(), PRIOR, NEUTRAL),
        (Radar(), PRIOR, 0.999),
    ],
)
def test_off_or_neutral_it_changes_not_a_bit(
    bare: Radar,
    radar: Radar,
    honesty: float,
    claims: list[str | None],
    state: Belief | None,
):
    evidence = claims_evidence(claims)
    plain, asked = told(bare, evidence, state)
    verdict, asked_too = told(radar, knowing(evidence, *[honesty] * len(claims)), state)
    assert verdict == plain
    assert requests(asked_too) == requests(asked)


def test_off_it_reads_no_ledger():
    assert Signal.SOURCE_HONESTY not in Radar().needs
    assert Signal.SOURCE_HONESTY in PRIOR.needs


def test_the_term_is_added_to_the_reject_evidence_and_the_energy_is_rechecked():
    entailment, contradiction = camps([1, 4], within=(0.9, 0.01), across=(0.02, 0.95))
    evidence = make_evidence(entailment, contradiction)
    plain, _ = told(Radar(), evidence)
    liars = knowing(evidence, TWO_LIES, NEUTRAL, ONE_LIE, 0.99, NEUTRAL)
    verdict, _ = told(Radar(source_prior=0.6), liars)
    assert keep_values(verdict) == keep_values(plain)
    added = np.subtract(reject_values(verdict), reject_values(plain))
    assert added == pytest.approx([0.4, 0.0, 0.3, 0.0, 0.0])
    assert verdict.energy == pytest.approx(recomputed_energy(verdict), abs=1e-12)
    assert verdict.energy == pytest.approx(
        0.12 + 0.3
    )  # the liar at rank 3 agrees: kept, at a price
    assert verdict.kept_ranks == (2, 3, 4, 5)


def test_sparse_truth_wins_after_one_lie_of_the_better_rank():
    """Two contradict each other: the cut keeps nothing and the fallback weighs keep and reject."""
    evidence = claims_evidence(["lie", "truth", None])
    assert told(Radar(), evidence)[0].kept_ranks == (1,)
    for honesty in (ONE_LIE, TWO_LIES):
        verdict, _ = told(PRIOR, knowing(evidence, honesty, NEUTRAL, NEUTRAL))
        assert verdict.kept_ranks == (2,)


def test_the_first_of_ten_loses_to_the_last_after_two_lies():
    evidence = claims_evidence(["lie", *[None] * 8, "truth"])
    rest = [NEUTRAL] * 9
    assert told(PRIOR, knowing(evidence, ONE_LIE, *rest))[0].kept_ranks == (1,)
    assert told(PRIOR, knowing(evidence, TWO_LIES, *rest))[0].kept_ranks == (10,)


def test_agreeing_sources_outvote_a_past():
    """One agreeing source is enough against two lies, two against any past."""
    verdict, _ = told(PRIOR, knowing(claims_evidence(["A", "A"]), TWO_LIES, NEUTRAL))
    assert verdict.kept_ranks == (1, 2)
    evidence = claims_evidence(["A", "A", "A"])
    verdict, _ = told(PRIOR, knowing(evidence, CERTAIN_LIAR, NEUTRAL, NEUTRAL))
    assert verdict.kept_ranks == (1, 2, 3)


@pytest.mark.parametrize("state", [None, Belief("A", 0.9, 0.1)])
def test_no_single_lie_silences_a_source(state: Belief | None):
    """It is believed where it is alone, as without a ledger."""
    evidence = claims_evidence(["A", None, None])
    verdict, _ = told(PRIOR, knowing(evidence, ONE_LIE, NEUTRAL, NEUTRAL), state)
    assert verdict.kept_ranks == (1,)


@pytest.mark.parametrize("claims", [["lie"], ["lie", "lie"], ["lie", None, "lie", None]])
def test_known_liars_alone_carry_no_answer(claims: list[str | None]):
    evidence = knowing(claims_evidence(claims), *[TWO_LIES] * len(claims))
    verdict, script = told(PRIOR, evidence)
    assert verdict.abstained
    assert verdict.kept_ranks == ()
    assert script.asked(Complete) == []
    assert verdict.energy == pytest.approx(recomputed_energy(verdict), abs=1e-12)


def test_what_liars_say_is_answered_where_another_source_says_it():
    evidence = knowing(claims_evidence(["A", "A", "A"]), TWO_LIES, TWO_LIES, NEUTRAL)
    assert told(PRIOR, evidence)[0].kept_ranks == (1, 2, 3)


def test_a_liar_kept_by_the_cut_is_told_apart_from_one_that_is_cut():
    """At the best rank of ten a single document is kept by the cut, two lies or not."""
    evidence = knowing(claims_evidence(["lie", *[None] * 9]), TWO_LIES, *[NEUTRAL] * 9)
    verdict, _ = told(PRIOR, evidence)
    assert verdict.documents[0].reason is Reason.DISTRUSTED
    last = knowing(claims_evidence([*[None] * 9, "lie"]), *[NEUTRAL] * 9, TWO_LIES)
    assert told(PRIOR, last)[0].documents[9].reason is Reason.CUT


def test_the_memory_stands_where_only_known_liars_agree_with_it():
    """The memory has no source: what it learnt, it may have learnt from somebody else."""
    evidence = knowing(claims_evidence(["A"]), TWO_LIES)
    verdict, _ = told(PRIOR, evidence, Belief("A", 0.9, 0.1))
    assert (verdict.answer, verdict.kept_ranks) == ("A", ())


def test_the_fallback_passes_over_known_liars():
    """All contradict each other and the cut keeps nothing; the liar has the best margin."""
    evidence = claims_evidence(["lie", "one", "two"])
    quiet = Radar(source_prior=0.01)
    assert told(Radar(), evidence)[0].kept_ranks == (1,)
    assert told(quiet, knowing(evidence, ONE_LIE, NEUTRAL, NEUTRAL))[0].kept_ranks == (1,)
    assert told(quiet, knowing(evidence, TWO_LIES, NEUTRAL, NEUTRAL))[0].kept_ranks == (2,)


def test_the_memory_has_no_source():
    evidence = claims_evidence(["A", "B", "A"])
    state = Belief("B", 0.8, 0.2)
    plain, _ = told(Radar(), evidence, state)
    verdict, _ = told(PRIOR, knowing(evidence, NEUTRAL, CERTAIN_LIAR, NEUTRAL), state)
    assert verdict.memory.support_posterior == plain.memory.support_posterior
    assert verdict.memory.conflict_posterior == plain.memory.conflict_posterior


def test_honesty_goes_with_its_document_when_others_say_nothing():
    evidence = knowing(claims_evidence([None, "A", None, "B"]), 0.8, ONE_LIE, 0.8, TWO_LIES)
    plain, _ = told(Radar(), claims_evidence([None, "A", None, "B"]))
    verdict, _ = told(PRIOR, evidence)
    added = np.subtract(reject_values(verdict), reject_values(plain))
    assert added == pytest.approx([1 / 2, 2 / 3])


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["A", "B", None]), min_size=1, max_size=7),
    st.lists(st.floats(0.01, 0.99), min_size=7, max_size=7),
    st.integers(0, 6),
)
def test_a_worse_past_never_brings_a_document_in(claims, honesty, place: int):
    evidence = claims_evidence(claims)
    place %= len(claims)
    before = honesty[: len(claims)]
    after = [value / 2 if i == place else value for i, value in enumerate(before)]
    radar = Radar(source_prior=1.0, on_empty="abstain", similarity_threshold=-1.0)
    kept = told(radar, knowing(evidence, *before))[0].kept_ranks
    assert (
        place + 1 in kept or place + 1 not in told(radar, knowing(evidence, *after))[0].kept_ranks
    )


@pytest.mark.parametrize("weight", [-0.1, 10.1, float("nan")])
def test_weights_out_of_range(weight: float):
    with pytest.raises(ValidationError):
        Radar(source_prior=weight)
