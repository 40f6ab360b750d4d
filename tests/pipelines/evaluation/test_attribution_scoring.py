"""Rates of attributors: worked examples, single classes, intervals."""

from dataclasses import asdict, replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.evaluation.attribution.results import score_table
from radarstream.pipelines.evaluation.attribution.rows import (
    AttributionRow,
    CaseState,
    EventRow,
    EventText,
    Role,
)
from radarstream.pipelines.evaluation.attribution.scoring import (
    COUNTS,
    Confusion,
    confusion,
    scores,
)
from radarstream.schemas.attribution import Attribution, Finding, TextScore
from radarstream.schemas.snapshot import Document

DRAWN = st.tuples(*[st.integers(0, 6)] * 4, st.integers(0, 3))


def made(counts, outside=0):
    tp, fp, tn, fn = counts
    return Confusion(tp, fp, tn, fn, tp + fn + outside)


def rates(counted, questions=None):
    table = pl.DataFrame([asdict(one) for one in counted], schema=dict.fromkeys(COUNTS, pl.Int64))
    names = questions or [str(place) for place in range(len(counted))]
    return scores(table.with_columns(query_id=pl.Series(names, dtype=pl.String)))


def event(roles, planted=None):
    texts = tuple(
        EventText(f"t-{rank}", Document(rank, "text"), 0.5, role)
        for rank, role in enumerate(roles, start=1)
    )
    poison = tuple(text.id for text in texts if text.role is Role.POISON)
    return EventRow(
        "injection", "q-1", "Who?", CaseState.EVENT, 2, planted=planted or poison, texts=texts
    )


def row(flagged, scope):
    entries = tuple(TextScore(f"t-{rank}", rank, rank in flagged) for rank in range(1, scope + 1))
    found = Attribution("made", Finding.TEXTS_FLAGGED, entries)
    return AttributionRow("made", "injection", "q-1", scope, found)


def test_micro_adds_counts_up_and_macro_averages_rates():
    found = rates([made((5, 0, 5, 0)), made((4, 6, 9, 1))])
    micro = [found[name].micro for name in ("dacc", "fpr", "fnr")]
    macro = [found[name].macro for name in ("dacc", "fpr", "fnr")]
    assert micro == pytest.approx([0.766667, 0.3, 0.1], abs=1e-6)
    assert macro == pytest.approx([0.825, 0.2, 0.1])


def test_the_rates_of_one_event():
    found = rates([made((3, 1, 3, 1))])
    assert [found[name].micro for name in ("dacc", "fpr", "fnr")] == [0.75, 0.25, 0.25]
    assert all(score.empty == 0 for score in found.values())


def test_a_single_class_has_rates_of_zero_and_says_so():
    only_benign = rates([made((0, 0, 10, 0))])
    assert only_benign["dacc"].micro == 1.0 and only_benign["dacc"].empty == 0
    assert (only_benign["fnr"].micro, only_benign["fnr"].macro) == (0.0, 0.0)
    assert only_benign["fnr"].empty == 1 and only_benign["fnr"].micro_interval is None
    only_poison = rates([made((2, 0, 0, 8))])
    assert only_poison["fpr"].empty == 1 and only_poison["fnr"].micro == 0.8
    assert rates([made((0, 0, 0, 0))])["dacc"].empty == 1


def test_nothing_to_score():
    assert rates([]) == {}


def test_poison_outside_the_scope_is_missed_in_the_corpus_only():
    found = rates([made((2, 0, 3, 0), outside=3)])
    assert found["fnr"].micro == 0.0
    assert found["fnr_corpus"].micro == pytest.approx(0.6)


def test_texts_are_counted_by_role_and_flag_within_the_scope():
    roles = [Role.POISON, Role.BENIGN, Role.BYSTANDER, Role.POISON, Role.BENIGN, Role.POISON]
    counted = confusion(event(roles), row({1, 2, 3, 6}, scope=5))
    assert counted == Confusion(tp=1, fp=1, tn=1, fn=1, planted=3)


def test_texts_that_a_method_does_not_name_are_not_flagged():
    roles = [Role.POISON, Role.BENIGN, Role.POISON, Role.BENIGN]
    stopped = replace(row({1}, scope=2), scope=4)
    assert confusion(event(roles), stopped) == Confusion(tp=1, fp=0, tn=2, fn=1, planted=2)


def test_planted_texts_that_were_never_near_count_in_the_corpus():
    counted = confusion(event([Role.POISON, Role.BENIGN], ("t-1", "t-98", "t-99")), row({1}, 2))
    assert rates([counted])["fnr_corpus"].micro == pytest.approx(2 / 3)


@given(st.lists(DRAWN, min_size=1, max_size=6))
def test_rates_are_shares_and_accuracy_is_theirs_weighed(counted):
    found = rates([made(c[:4], c[4]) for c in counted])
    tp, fp, tn, fn = (sum(c[i] for c in counted) for i in range(4))
    for score in found.values():
        assert 0.0 <= score.micro <= 1.0 and 0.0 <= score.macro <= 1.0
        assert score.empty <= len(counted)
        if score.micro_interval is not None:
            low, high = score.micro_interval
            assert 0.0 <= low <= high <= 1.0
    if tp + fp + tn + fn:
        wrong = found["fpr"].micro * (fp + tn) + found["fnr"].micro * (fn + tp)
        assert found["dacc"].micro == pytest.approx(1.0 - wrong / (tp + fp + tn + fn))
    assert found["fnr_corpus"].micro >= found["fnr"].micro - 1e-12


def test_cases_of_one_question_are_one_cluster():
    events = [made((n, 1, 4, 5 - n)) for n in (0, 0, 0, 5, 5, 5)]
    apart, shared = rates(events)["fnr"], rates(events, questions=list("aaabbb"))["fnr"]
    assert apart.micro == shared.micro == 0.5
    for far, near in ((apart.micro_interval, shared.micro_interval),
                      (apart.macro_interval, shared.macro_interval)):  # fmt: skip
        assert near[0] < far[0] < 0.5 < far[1] < near[1]


def test_no_wrong_text_in_few_cases_is_no_certainty():
    found = rates([made((5, 0, 5, 0))] * 7)["fnr"]
    assert found.micro_interval[0] == 0.0
    assert found.micro_interval[1] == pytest.approx(0.41, abs=0.01)


def test_the_table_has_a_line_per_attributor_and_case_and_no_counts_where_it_failed():
    case = replace(event([Role.POISON, Role.BENIGN]), answer="Rome", clean_answer="Bern")
    case = replace(case, answers=("Bern",))
    failed = AttributionRow("other", "injection", "q-1", error="gone")
    elsewhere = replace(failed, query_id="q-2")
    table = score_table({case.key: case}, [row({1}, 2), failed, elsewhere])
    assert table["contender"].to_list() == ["made", "other"]
    counts = table.select("tp", "fp", "tn", "fn", "planted", "exact", "error").rows()
    assert counts == [(1, 0, 1, 0, 1, True, None), (*[None] * 6, "gone")]
    assert table["correct_before"].to_list() == [False, None]
    assert table["correct_clean"].to_list() == [True, None]
    assert table.select("condition", "family", "query_id").row(0) == ("injection", "plain", "q-1")
    resisted = replace(case, outcome=CaseState.RESISTED)
    assert score_table({case.key: resisted}, [row({1}, 2)]).is_empty()
