"""Keeping one failed item from failing its batch."""

import pickle
from collections.abc import Sequence

import pytest

from radarstream.pipelines.signals.responses import isolating
from radarstream.schemas.errors import ModelError, PartialModelError


def test_a_call_that_names_its_failures_is_not_repeated() -> None:
    calls = []
    failed = ModelError("no answer to 2")

    def halves(batch: Sequence[int]) -> list[int]:
        calls.append(list(batch))
        raise PartialModelError([10, failed, 30])

    assert isolating(halves, [1, 2, 3]) == [10, failed, 30]
    assert calls == [[1, 2, 3]]


def test_a_call_that_fails_as_a_whole_is_repeated_item_by_item() -> None:
    def whole(batch: Sequence[int]) -> list[int]:
        if 2 in batch:
            raise ModelError("something is wrong")
        return [10 * item for item in batch]

    first, second, third = isolating(whole, [1, 2, 3])
    assert (first, third) == (10, 30)
    assert isinstance(second, ModelError)


def test_a_partial_failure_says_how_much_failed_and_pickles() -> None:
    error = PartialModelError(["fine", ModelError("no answer")])
    assert str(error) == "1 of 2 failed, the first with: no answer"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.outcomes[0]) == (str(error), "fine")
    with pytest.raises(ValueError, match="no outcome"):
        PartialModelError(["fine"])
