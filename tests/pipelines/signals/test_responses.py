"""What models return is checked once; a malformed response is a failed call."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from radarstream.defenses.protocol import Complete
from radarstream.lab.insights import (
    AttentionQuery,
    Insights,
    MaskedQuery,
    ProbeQuery,
    SalienceQuery,
    TokenSalience,
)
from radarstream.pipelines.signals.fulfilment import fulfil
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.pipelines.signals.responses import checked
from radarstream.schemas.arrays import embedding_rows, log_prob_rows, norm_values, relation_rows
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from tests.scripted_models import scripted_models

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


def test_a_partial_failure_says_how_much_failed_and_pickles() -> None:
    error = PartialModelError(["fine", ModelError("no answer")])
    assert str(error) == "1 of 2 failed, the first with: no answer"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.outcomes[0]) == (str(error), "fine")
    with pytest.raises(ValueError, match="no outcome"):
        PartialModelError(["fine"])


def test_single_precision_becomes_double() -> None:
    assert checked(embedding_rows, GOOD[embedding_rows].astype(np.float32), 2).dtype == np.float64


# --- what networks say of their own workings: two requests, of which one is spoiled -----------

PROBES = [Insights((ProbeQuery("q", text, runs=2, layer=0),)) for text in ("good", "bad")]
SALIENT = [Insights((SalienceQuery("q", text),)) for text in ("good", "bad")]
HIDDEN = [Insights((MaskedQuery(text, ((0, 3),)),)) for text in ("good", "bad")]
ANSWERED = [Complete(Task.ANSWER_FROM_DOCUMENTS, "q", (text, "other")) for text in ("good", "bad")]
ATTENDED = [Insights((AttentionQuery(prompt, "Rome"),)) for prompt in prompts_of(ANSWERED)]
GRAM, TOKEN = np.eye(2), TokenSalience(0, 3, 1.0)
HALVES = np.array([50.0, 50.0])


class Spoiled:
    """A model of every kind that replies nonsense about texts that say "bad"."""

    model_id = "spoiled"

    def __init__(self, good: Any, bad: Any) -> None:
        self.good, self.bad = good, bad

    def told(self, queries: list[Any]) -> list[Any]:
        return [self.bad if "bad" in str(query) else self.good for query in queries]

    probe = saliences = masked = attention = told


@pytest.mark.parametrize(
    ("requests", "good", "bad"),
    [(PROBES, GRAM, -GRAM), (PROBES, GRAM, np.eye(3)), (PROBES, GRAM, GRAM[0]),
     (SALIENT, (TOKEN,), (replace(TOKEN, length=-1.0),)),
     (SALIENT, (TOKEN,), (replace(TOKEN, start=-1),)),
     (SALIENT, (TOKEN,), (replace(TOKEN, stop=9),)), (HIDDEN, np.array([0.5]), np.array([1.1])),
     (HIDDEN, np.array([0.5]), np.array([np.nan])),
     (HIDDEN, np.array([0.5]), np.array([0.5, 0.5])), (ATTENDED, HALVES, HALVES / 100.0),
     (ATTENDED, HALVES, np.array([np.inf, 0.0])), (ATTENDED, HALVES, np.array([100.0]))],
)  # fmt: skip
def test_nonsense_costs_only_the_request_it_belongs_to(requests, good, bad) -> None:
    plugins = dict.fromkeys(("gradients", "masked", "attention"), Spoiled(good, bad))
    found = fulfil(dict(enumerate(requests)), replace(scripted_models(), plugins=plugins))
    assert [isinstance(found[n], ModelError) for n in (0, 1)] == [False, True]


def test_a_query_that_fails_costs_only_its_request() -> None:
    """A model answers the others; a request may hold several queries."""

    class Partly:
        model_id = "partly"

        def masked(self, queries: list[Any]) -> list[Any]:
            bad = ["bad" in query.text for query in queries]
            raise PartialModelError([ModelError("long") if b else np.array([0.5]) for b in bad])

    both = Insights(tuple(query for request in HIDDEN for query in request.queries))
    models = replace(scripted_models(), plugins={"masked": Partly()})
    found = fulfil({0: HIDDEN[0], 1: both}, models)
    assert (found[0], str(found[1])) == ((np.array([0.5]),), "long")
