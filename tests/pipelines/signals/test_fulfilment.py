"""Lockstep: many defences, one model batch per kind and round, failures that stay their own."""

from collections.abc import Generator
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
from radarstream.lab.methods.ablations import LeaveOneOut
from radarstream.pipelines.signals.fulfilment import check_needs, drive, fulfil
from radarstream.pipelines.signals.metering import Meter
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import (
    ConfigurationError,
    EvidenceError,
    ModelError,
    ModelOutageError,
)
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
    """Of any of the shapes in test_responses."""
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
