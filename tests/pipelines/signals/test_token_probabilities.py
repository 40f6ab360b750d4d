"""Token probabilities from the port to a defence: lockstep, checks at the edge, missing models."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.connectors.models import gguf_tokens
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedTokens
from radarstream.defenses.protocol import Complete, LogProbs, LogProbsAll
from radarstream.defenses.radar import Radar
from radarstream.defenses.vanilla import Vanilla
from radarstream.lab.methods.ablations import LeaveOneOut
from radarstream.pipelines.build import build_tokens
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.fulfilment import check_needs, fulfil
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import ContinuationQuery, Task
from tests.scripted_models import last_words, scripted_models

RED = Complete(Task.ATOMIC_ANSWER, "Which colour?", ("The colour: red",))
BLUE = Complete(Task.ATOMIC_ANSWER, "Which colour?", ("The colour: blue",))


def with_tokens(**options: object) -> Models:
    tokens = ScriptedTokens(ScriptedGenerator(script=last_words), **options)  # type: ignore[arg-type]
    return replace(scripted_models(), tokens=tokens)


def test_prompts_and_order_arrive() -> None:
    models = with_tokens()
    responses = fulfil({3: LogProbs((BLUE,), "blue"), 2: LogProbs((RED, BLUE), "red")}, models)
    assert responses[3].sum() == pytest.approx(4 * np.log(0.9999))
    assert responses[2].sum(axis=1)[0] == pytest.approx(3 * np.log(0.9999))
    assert responses[2].sum(axis=1)[1] < -10
    (queries,) = models.tokens.log  # type: ignore[union-attr]
    shown = [prompt.passages for query in queries for prompt in query.prompts]
    assert sorted(shown) == sorted([BLUE.passages, RED.passages, BLUE.passages])


def test_missing_token_probabilities_are_named_with_the_remedy() -> None:
    (response,) = fulfil({1: LogProbs((RED,), "red")}, scripted_models()).values()
    assert isinstance(response, ModelError)
    with pytest.raises(ConfigurationError, match="token probabilities.*`tokens`.*openai"):
        check_needs(LeaveOneOut(), scripted_models())
    check_needs(LeaveOneOut(), with_tokens())
    for defense in (Radar(), Vanilla()):
        check_needs(defense, scripted_models())


def test_a_service_tells_none_unless_said_so_and_the_embedded_model_loads_late(monkeypatch) -> None:
    assert build_tokens(load_settings(profile="api")) is None
    assert build_tokens(load_settings(profile="scripted", tokens={"kind": "none"})) is None
    monkeypatch.setattr(gguf_tokens, "converted", None)  # calling it would fail
    assert build_tokens(load_settings(profile="embedded")) == GgufTokens()
    assert GgufTokens().log_probs([]) == []


def test_several_continuations_share_a_call_with_single_ones_and_keep_order() -> None:
    models = with_tokens()
    wanted = tuple(LogProbs((RED, BLUE), said) for said in ("red", "bl"))
    found = fulfil({0: LogProbsAll(wanted), 1: wanted[0], 2: LogProbsAll(())}, models)
    assert [rows.shape for rows in found[0]] == [(2, 3), (2, 2)]
    assert found[0][0][0].sum() > found[0][0][1].sum()
    np.testing.assert_array_equal(found[0][0], found[1])
    assert found[2] == ()
    assert [len(batch) for batch in models.tokens.log] == [3]  # type: ignore[union-attr]
    bad = LogProbsAll((LogProbs((RED,), "red"), LogProbs((RED,), "")))
    found = fulfil({0: bad, 1: LogProbsAll((LogProbs((RED,), "red"),))}, with_tokens())
    assert isinstance(found[0], ModelError)  # one that fails fails those asked with it alone
    assert found[1][0].shape == (1, 3)


def test_scripted_failures_and_empty_continuations() -> None:
    tokens = ScriptedTokens(fail_on_calls=frozenset({1}))
    with pytest.raises(ModelError, match="call 1"):
        tokens.log_probs([])
    with pytest.raises(ModelError, match="without a token"):
        tokens.log_probs([ContinuationQuery((), "")])
