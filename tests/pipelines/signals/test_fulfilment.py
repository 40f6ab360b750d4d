"""Lockstep: many defences, one model batch per kind and round; responses are checked once."""

import pickle
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    Norms,
    Relate,
    Request,
)
from radarstream.defenses.radar import Radar
from radarstream.defenses.vanilla import Vanilla
from radarstream.lab.insights import (
    AttentionQuery,
    Insights,
    MaskedQuery,
    ProbeQuery,
    SalienceQuery,
    TokenSalience,
)
from radarstream.lab.methods.ablations import LeaveOneOut
from radarstream.pipelines.signals.fulfilment import check_needs, drive, fulfil
from radarstream.pipelines.signals.metering import Meter
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.pipelines.signals.responses import checked
from radarstream.schemas.arrays import embedding_rows, log_prob_rows, norm_values, relation_rows
from radarstream.schemas.errors import (
    ConfigurationError,
    EvidenceError,
    ModelError,
    ModelOutageError,
    PartialModelError,
)
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion, Prompt, Task
from radarstream.schemas.verdict import Verdict
from tests.scripted_models import FixedRows, last_words, nan_rows, scripted_models, tasks

Steps = Generator[Request, Any, tuple[Verdict, Any]]


def complete(claim: str) -> Complete:
    return Complete(Task.ANSWER_FROM_DOCUMENTS, "Who won?", (f"The winner: {claim}",))


def asking(*requests: Request) -> Steps:
    """Yields the requests in turn; the new state is the list of responses."""
    responses = []
    for request in requests:
        responses.append((yield request))  # noqa: PERF401 no comprehension may yield
    return Verdict("done", ()), responses


def test_completions_asked_together_share_the_batch_with_single_ones() -> None:
    models = scripted_models()
    several = CompleteAll((complete("Rome"), complete("Oslo"), complete("Rome")))
    first, second, third = drive(
        [asking(several, complete("Bern")), asking(complete("Kiel")), asking(CompleteAll(()))],
        models,
    )
    assert [answer.text for answer in first[1][0]] == ["Rome", "Oslo", "Rome"]
    assert isinstance(first[1][0], tuple)
    assert (first[1][1].text, [answer.text for answer in second[1]]) == ("Bern", ["Kiel"])
    assert (third[1], [len(batch) for batch in models.generator.log]) == ([()], [4, 1])


def test_attempts_fail_one_by_one() -> None:
    models = scripted_models(fail_on_text="broken")
    relate = Relate("Who won?", ("Rome",), ("Rome",))
    several = AttemptAll((complete("Rome"), complete("broken"), relate))
    mixed, single = drive([asking(several, complete("Bern")), asking(complete("Kiel"))], models)
    rome, failure, rows = mixed[1][0]
    assert rome.text == "Rome"
    assert isinstance(failure, ModelError)
    assert (rows.tolist(), mixed[1][1].text) == ([[0.95, 0.03, 0.02]], "Bern")
    assert [answer.text for answer in single[1]] == ["Kiel"]
    assert [len(batch) for batch in models.relations.log] == [1]


class Absent(ScriptedGenerator):
    """Its service is down."""

    def complete(self, prompts: list[Prompt]) -> list[Completion]:
        raise ModelOutageError("no answer")


def test_an_outage_is_no_failed_attempt() -> None:
    models = Models(Absent(), ScriptedRelations(), ScriptedEmbedder())
    (result,) = drive([asking(AttemptAll((complete("Rome"), complete("Oslo"))))], models)
    assert isinstance(result, ModelOutageError)


def test_a_failure_of_one_query_stays_its_own() -> None:
    models = scripted_models(fail_on_text="broken")
    closed = []

    def failing() -> Steps:
        try:
            yield complete("broken")
        finally:
            closed.append(True)
        raise AssertionError("must not be resumed")

    good, bad, other = drive(
        [asking(complete("Rome"), complete("Oslo")), failing(), asking(complete("Bern"))], models
    )
    assert isinstance(bad, ModelError)
    assert (closed, [answer.text for answer in good[1]]) == ([True], ["Rome", "Oslo"])
    assert [answer.text for answer in other[1]] == ["Bern"]
    assert [size for _, size in tasks(models)] == [3, 1, 1, 1, 1]  # batch, one by one, next round


def test_a_passing_failure_costs_no_query_its_answer() -> None:
    models = scripted_models(fail_on_calls=frozenset({1}))
    results = drive([asking(complete("Rome")), asking(complete("Oslo"))], models)
    assert [state[0].text for _, state in results] == ["Rome", "Oslo"]


def test_a_failed_single_request_is_not_asked_twice() -> None:
    models = scripted_models(fail_on_calls=frozenset({1}))
    (result,) = drive([asking(complete("Rome"))], models)
    assert isinstance(result, ModelError)
    assert len(models.generator.log) == 1


@pytest.mark.parametrize(
    ("name", "rows", "request_"),
    [
        ("relations", nan_rows(2, 3), Relate("Who won?", ("Rome", "Rome"), ("Rome", "Oslo"))),
        ("embedder", nan_rows(2, 4), Embed(("a", "b"))),
        ("embedder", np.ones((2, 1)), Norms(("a", "b"))),
        ("tokens", [np.full((2, 1), np.nan)], LogProbs((complete("Rome"),) * 2, "Rome")),
        ("tokens", [], LogProbs((complete("Rome"),), "Rome")),  # an answer too few
        ("generator", [], complete("Rome")),
    ],
)
def test_a_malformed_response_is_a_model_error(name: str, rows: Any, request_: Any) -> None:
    """Of any of the shapes below."""
    fixed = FixedRows(rows)
    fixed.norms = fixed.log_probs = fixed.complete = fixed.embed  # type: ignore[attr-defined]
    (result,) = drive([asking(request_)], replace(scripted_models(), **{name: fixed}))
    assert isinstance(result, ModelError)


def test_lengths_of_embeddings_are_asked_for_in_one_call_and_come_in_order() -> None:
    class Counted(ScriptedEmbedder):
        def norms(self, texts: Any) -> Any:
            asked.append(texts)
            return super().norms(texts)

    asked: list[Any] = []
    requests = {3: Norms(("a b", "c")), 1: Norms(()), 2: Norms(("d e f",))}
    found = fulfil(requests, replace(scripted_models(), embedder=Counted()))
    assert ([found[i].tolist() for i in (3, 1, 2)], len(asked)) == ([[3.0, 2.0], [], [4.0]], 1)


def with_tokens() -> Models:
    return replace(scripted_models(), tokens=ScriptedTokens(ScriptedGenerator(script=last_words)))


def test_several_continuations_share_a_call_with_single_ones_and_keep_order() -> None:
    models, (red, blue) = with_tokens(), (complete("red"), complete("blue"))
    wanted = tuple(LogProbs((red, blue), said) for said in ("red", "bl"))
    found = fulfil({3: LogProbsAll(wanted), 1: wanted[0], 2: LogProbsAll(())}, models)
    assert [rows.shape for rows in found[3]] == [(2, 3), (2, 2)]
    assert found[3][0].sum(axis=1)[0] == pytest.approx(3 * np.log(0.9999))
    assert found[3][0].sum(axis=1)[1] < -10
    np.testing.assert_array_equal(found[3][0], found[1])
    assert found[2] == ()
    assert [len(batch) for batch in models.tokens.log] == [3]  # type: ignore[union-attr]
    bad = LogProbsAll((LogProbs((red,), "red"), LogProbs((red,), "")))
    found = fulfil({0: bad, 1: LogProbsAll((LogProbs((red,), "red"),))}, with_tokens())
    assert isinstance(found[0], ModelError)  # one that fails fails those asked with it alone
    assert found[1][0].shape == (1, 3)


def test_missing_token_probabilities_are_named_with_the_remedy() -> None:
    (response,) = fulfil({1: LogProbs((complete("red"),), "red")}, scripted_models()).values()
    assert isinstance(response, ModelError)
    with pytest.raises(ConfigurationError, match="token probabilities.*`tokens`.*openai"):
        check_needs(LeaveOneOut(), scripted_models())
    check_needs(LeaveOneOut(), with_tokens())
    for defense in (Radar(), Vanilla()):
        check_needs(defense, scripted_models())


def test_a_defect_of_a_defence_is_not_mistaken_for_a_failed_model() -> None:
    def defective() -> Steps:
        yield complete("Rome")
        raise EvidenceError("wrong shape")

    with pytest.raises(EvidenceError):
        drive([defective()], scripted_models())


class Counter:
    def __init__(self) -> None:
        self.calls = 5
        self.hits = 7


def test_a_stage_is_charged_what_was_asked_inside_it() -> None:
    meter, model, other = Meter(), Counter(), Counter()
    with meter.stage("atomic answers", model):
        model.calls += 2
        model.hits += 1
        other.calls += 100
    model.calls += 50
    with meter.stage("relations", model, other):
        other.calls += 3
    with meter.stage("atomic answers", model):
        model.calls += 1
    totals = {name: (t.calls, t.hits) for name, t in meter.stages.items()}
    assert totals == {"atomic answers": (3, 1), "relations": (3, 0)}
    assert list(meter.stages) == ["atomic answers", "relations"]


# --- a malformed response is a failed call


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
