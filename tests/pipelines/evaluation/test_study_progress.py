"""How long a run may still take is learned from what each kind of work took."""

import pytest

from radarstream.pipelines.evaluation.study.progress import EVIDENCE_WORK, Progress


def test_each_kind_of_work_has_its_own_pace() -> None:
    progress = Progress()
    progress.expected.update({EVIDENCE_WORK: 10, "slow": 4, "fast": 4})
    assert progress.seconds_left() is None
    progress.finished.update({EVIDENCE_WORK: 10, "slow": 1, "fast": 2})
    progress.seconds |= {EVIDENCE_WORK: 5.0, "slow": 12.0, "fast": 2.0}
    assert progress.seconds_left() == pytest.approx(3 * 12.0 + 2 * 1.0)
    assert (progress.total, progress.done) == (18, 13)


def test_an_unknown_contender_takes_what_the_others_take() -> None:
    progress = Progress()
    progress.expected.update({EVIDENCE_WORK: 4, "new": 2})
    progress.finished[EVIDENCE_WORK] = 2
    progress.seconds[EVIDENCE_WORK] = 1.0
    assert progress.seconds_left() == pytest.approx(2 * 0.5 + 2 * 1.0)
    progress.finished["known"] = progress.expected["known"] = 1
    progress.seconds["known"] = 7.0
    assert progress.seconds_left() == pytest.approx(2 * 0.5 + 2 * 7.0)


def test_work_is_timed_and_counted() -> None:
    progress = Progress()
    for units in (2, 3):
        progress.record("radar", units, 0.5 * units)
    assert progress.finished["radar"] == 5
    assert progress.seconds["radar"] == 2.5
