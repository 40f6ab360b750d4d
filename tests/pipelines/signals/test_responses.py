"""What models return is checked once; a malformed response is a failed call."""

from collections.abc import Callable

import numpy as np
import pytest

from radarstream.pipelines.signals.responses import checked
from radarstream.schemas.arrays import (
    embedding_rows,
    log_prob_rows,
    norm_values,
    relation_rows,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray

Check = Callable[[object, int], FloatArray]
GOOD: dict[Check, FloatArray] = {
    relation_rows: np.array([[0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]),
    embedding_rows: np.array([[0.6, 0.8], [1.0, 0.0]]),
    norm_values: np.array([1.0, 12.5]),
    log_prob_rows: np.array([[-1.0, -np.inf], [0.0, -2.0]]),
}
BAD: list[tuple[Check, object]] = [
    *((check, None) for check in GOOD),
    *((check, rows[:1]) for check, rows in GOOD.items()),
    *((check, np.full(rows.shape, np.nan)) for check, rows in GOOD.items()),
    *((check, rows[None]) for check, rows in GOOD.items()),
    (relation_rows, np.array([[1.1, 0.0, 0.0]] * 2)),
    (relation_rows, np.array([[0.5, 0.5]] * 2)),
    (embedding_rows, np.empty((2, 0))),
    (norm_values, np.array([1.0, 0.0])),
    (norm_values, np.array([[1.0], [2.0]])),
    (log_prob_rows, np.array([[0.1], [0.0]])),
    (log_prob_rows, np.empty((2, 0))),
]


@pytest.mark.parametrize("check", GOOD)
def test_a_sound_array_is_passed_on_without_a_copy(check: Check) -> None:
    assert checked(check, GOOD[check], 2) is GOOD[check]


@pytest.mark.parametrize(("check", "response"), BAD)
def test_a_malformed_array_is_a_failed_call(check: Check, response: FloatArray) -> None:
    with pytest.raises(ModelError):
        checked(check, response, 2)


@pytest.mark.parametrize("check", GOOD)
def test_of_no_requests_the_number_of_rows_counts(check: Check) -> None:
    for columns in (0, 3):
        assert len(checked(check, np.empty((0, columns)), 0)) == 0
    with pytest.raises(ModelError):
        checked(check, GOOD[check], 0)


def test_single_precision_becomes_double() -> None:
    assert checked(embedding_rows, GOOD[embedding_rows].astype(np.float32), 2).dtype == np.float64
