"""Keeping one failed item from failing its batch."""

import pickle

import pytest

from radarstream.schemas.errors import ModelError, PartialModelError


def test_a_partial_failure_says_how_much_failed_and_pickles() -> None:
    error = PartialModelError(["fine", ModelError("no answer")])
    assert str(error) == "1 of 2 failed, the first with: no answer"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.outcomes[0]) == (str(error), "fine")
    with pytest.raises(ValueError, match="no outcome"):
        PartialModelError(["fine"])
