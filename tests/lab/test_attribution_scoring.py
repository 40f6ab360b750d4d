"""What attributors flag against what was planted: worked examples."""

import polars as pl
import pytest

from radarstream.lab.attribution.records import (
    After,
    AttributionRow,
    CaseState,
    EventRow,
    EventText,
    Role,
)
from radarstream.lab.attribution.scoring import OF_TEXTS, Confusion, confusion, line_of, texts_of
from radarstream.lab.study.rates import rates_by
from radarstream.schemas.attribution import Attribution, Finding, TextScore
from radarstream.schemas.snapshot import Document, Labels

POISON, BENIGN = Role.POISON, Role.BENIGN
MIXED = [POISON, BENIGN, Role.BYSTANDER, POISON, BENIGN, POISON]


def event(roles, planted=None):
    texts = tuple(
        EventText(f"t-{rank}", Document(rank, "text"), 0.5, role)
        for rank, role in enumerate(roles, start=1)
    )
    poison = planted or tuple(text.id for text in texts if text.role is POISON)
    return EventRow(
        "injection", "q-1", "Who?", CaseState.EVENT, 2, Labels(("Bern",)), "Rome", "Bern",
        planted=poison, texts=texts
    )  # fmt: skip


def row(flagged, named, scope=None):
    entries = tuple(TextScore(f"t-{rank}", rank, rank in flagged) for rank in range(1, named + 1))
    return AttributionRow(
        contender="made",
        condition="injection",
        query_id="q-1",
        scope=scope or named,
        attribution=Attribution("made", Finding.TEXTS_FLAGGED, entries),
        after=After("Bern", attacked=False, correct=True, persists=False),
    )


@pytest.mark.parametrize(
    ("case", "found", "counts"),
    [
        (event(MIXED), row({1, 2, 3, 6}, 5), Confusion(tp=1, fp=1, tn=1, fn=1, planted=3)),
        # Texts that a method does not name are not flagged.
        (event([POISON, BENIGN] * 2), row({1}, 2, 4), Confusion(1, 0, 2, 1, planted=2)),
        # Planted texts that were never near count in the corpus alone.
        (event([POISON, BENIGN], ("t-1", "t-8", "t-9")), row({1}, 2), Confusion(1, 0, 1, 0, 3)),
        (event([BENIGN] * 3), row({1}, 3), Confusion(0, 1, 2, 0, 0)),
    ],
)
def test_texts_are_counted_by_role_and_flag_within_the_scope(case, found, counts):
    assert confusion(case, found) == counts
    tp, fp, tn, fn = counts.tp, counts.fp, counts.tn, counts.fn
    lines = [{"query_id": "q-1"} | line for line in texts_of(case, found)]
    frame = pl.DataFrame(
        lines, schema={"query_id": pl.String, **dict.fromkeys(OF_TEXTS, pl.Boolean)}
    )
    rates = rates_by(frame, (pl.lit(0),), OF_TEXTS)[0,]
    assert {name: (rate.hits, rate.trials) for name, rate in rates.items()} == {
        "dacc": (tp + tn, tp + fp + tn + fn),
        "fpr": (fp, fp + tn),
        "fnr": (fn, fn + tp),
        "fnr_corpus": (counts.planted - tp, counts.planted),
    }


def test_a_line_has_counts_and_what_is_answered_and_neither_where_it_failed():
    line = line_of(event([POISON, BENIGN]), row({1}, 2))
    told = ("tp", "fp", "tn", "fn", "exact", "flagged", "family", "error")
    assert [line[name] for name in told] == [1, 0, 1, 0, True, True, "plain", None]
    answers = ("correct_before", "correct_clean", "correct_after", "attacked_after")
    assert [line[name] for name in answers] == [False, True, True, False]
    failed = AttributionRow(contender="x", condition="injection", query_id="q-1", error="gone")
    assert "tp" not in line_of(event([POISON]), failed)
