"""Token probabilities from the port to a defence: lockstep, checks at the edge, missing models."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from radarstream.connectors.models import gguf_tokens
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.models.scripted_tokens import VOCABULARY, ScriptedTokens
from radarstream.defenses.attribution.ablations import LeaveOneOut
from radarstream.defenses.protocol import Complete, LogProbs, LogProbsAll, NextTokens
from radarstream.defenses.radar import Radar
from radarstream.defenses.robust_rag_decoding import RobustRagDecoding
from radarstream.defenses.vanilla import Vanilla
from radarstream.pipelines.build import build_models, build_tokens
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.fulfilment import drive, fulfil
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs, step_of
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows
from tests import tiny_causal_lm
from tests.builders import make_snapshot
from tests.scripted_models import last_words, scripted_models

RED = Complete(Task.ATOMIC_ANSWER, "Which colour?", ("The colour: red",))
BLUE = Complete(Task.ATOMIC_ANSWER, "Which colour?", ("The colour: blue",))


def with_tokens(**options: object) -> Models:
    tokens = ScriptedTokens(ScriptedGenerator(script=last_words), **options)  # type: ignore[arg-type]
    return replace(scripted_models(), tokens=tokens)


def evidence_of(*claims: str) -> Evidence:
    snapshot = make_snapshot([f"The winner: {claim}." for claim in claims])
    return Evidence(snapshot.query, snapshot.observed_at, snapshot.documents)


class TestFulfilment:
    def test_one_call_per_round_for_all_queries(self) -> None:
        models = with_tokens()
        pages = [("Rome", "Rome", "Oslo"), ("Bern", "Bern"), ("Oslo",) * 3]
        outcomes = drive([RobustRagDecoding().defend(evidence_of(*p), None) for p in pages], models)
        assert [o[0].answer for o in outcomes if not isinstance(o, ModelError)] == [
            "Rome",
            "Bern",
            "Oslo",
        ]
        log = models.tokens.log  # type: ignore[union-attr]
        assert [len(batch) for batch in log] == [3] * 6  # refusals, four letters and the stop

    def test_prompts_prefixes_and_order_arrive(self) -> None:
        models = with_tokens()
        responses = fulfil(
            {
                3: NextTokens((RED, BLUE), tuple(b"bl")),
                1: NextTokens((BLUE,)),
                2: LogProbs((RED, BLUE), "red"),
            },
            models,
        )
        assert responses[3].log_probs.shape == (2, VOCABULARY)
        assert responses[3].log_probs[1].argmax() == ord("u")
        assert responses[3].reply.text == "bl"
        assert responses[1].log_probs[0].argmax() == ord("b")
        assert responses[2].sum(axis=1)[0] == pytest.approx(3 * np.log(0.9999))
        assert responses[2].sum(axis=1)[1] < -10
        asked = models.tokens.log[0][0]  # type: ignore[union-attr]
        assert isinstance(asked, NextTokenQuery)
        assert [prompt.passages for prompt in asked.prompts] == [RED.passages, BLUE.passages]

    def test_a_failed_call_fails_no_more_queries_than_it_must(self) -> None:
        models = with_tokens(fail_on_calls=frozenset({2, 4}))  # the first round, and one repetition
        outcomes = drive(
            [RobustRagDecoding().defend(evidence_of(c), None) for c in ("Rome", "Oslo")], models
        )
        assert [isinstance(outcome, ModelError) for outcome in outcomes] == [False, True]

    def test_without_a_model_the_request_fails(self) -> None:
        responses = fulfil({0: NextTokens((RED,)), 1: LogProbs((RED,), "red")}, scripted_models())
        assert all(isinstance(response, ModelError) for response in responses.values())


class TestChecks:
    @pytest.mark.parametrize(
        "rows",
        [
            np.log(np.full((1, 4), 0.25)),
            np.log(np.full(4, 0.25)),
            np.empty((2, 0)),
            np.full((2, 4), np.nan),
            np.zeros((2, 4)),
            np.log(np.full((2, 4), 0.1)),
        ],
    )
    def test_what_is_no_distribution_is_a_failed_call(self, rows: np.ndarray) -> None:
        with pytest.raises(ModelError):
            step_of(NextTokenRows(rows, "", frozenset(), frozenset()), 2)

    @pytest.mark.parametrize(
        ("text", "answer", "ended"),
        [
            ("", "", False),
            (" Par", "Par", False),
            (" Paris\n", "Paris", True),
            ("\n\n Par", "Par", False),
            ("\n", "", False),
        ],
    )
    def test_the_reply_is_read_as_a_completion_is(
        self, text: str, answer: str, ended: bool
    ) -> None:
        rows = np.log(np.full((1, 4), 0.25))
        step = step_of(NextTokenRows(rows, text, frozenset({3}), frozenset({1})), 1)
        assert (step.reply.text, step.ended) == (answer, ended)
        assert (step.stops, step.refusals) == ({3}, {1})

    def test_impossible_tokens_are_allowed(self) -> None:
        rows = np.array([[0.0, -np.inf]])
        assert step_of(NextTokenRows(rows, "", frozenset(), frozenset()), 1).log_probs is rows

    @pytest.mark.parametrize(
        "logs", [np.zeros((1, 2)), np.full((2, 1), np.nan), np.ones((2, 2)), np.zeros(2)]
    )
    def test_what_is_no_log_probability_is_a_failed_call(self, logs: np.ndarray) -> None:
        class Fixed(ScriptedTokens):
            def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[np.ndarray]:
                return [logs for _ in queries]

        models = replace(scripted_models(), tokens=Fixed())
        assert isinstance(fulfil({0: LogProbs((RED, BLUE), "red")}, models)[0], ModelError)

    def test_an_answer_too_few_is_a_failed_call(self) -> None:
        class Forgetful(ScriptedTokens):
            def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
                return super().next_tokens(queries)[:-1]

        models = replace(scripted_models(), tokens=Forgetful())
        assert isinstance(fulfil({0: NextTokens((RED,))}, models)[0], ModelError)


class TestNeeds:
    def test_a_guard_without_token_probabilities_is_refused_before_any_event(self) -> None:
        models = scripted_models()
        with pytest.raises(ConfigurationError, match="token probabilities.*`tokens`.*transformers"):
            Guard("robust_rag_decoding", RobustRagDecoding(), models)
        with pytest.raises(ConfigurationError, match="token probabilities"):
            Guard("radar", Radar(), models, baseline=RobustRagDecoding())
        assert models.generator.log == []  # type: ignore[attr-defined]

    def test_others_need_none(self) -> None:
        for defense in (Radar(), Vanilla()):
            check_needs(defense, scripted_models())
        check_needs(RobustRagDecoding(), with_tokens())

    def test_a_guard_asks_for_no_atomic_answers(self) -> None:
        models = with_tokens()
        guard = Guard("robust_rag_decoding", RobustRagDecoding(), models)
        snapshot = make_snapshot(["The winner: Rome."] * 2 + ["The winner: Oslo."])
        event, _ = guard.answer(snapshot, guard.initial_memory())
        assert event.answer == "Rome"
        assert models.generator.log == []  # type: ignore[attr-defined]


class TestBuild:
    def test_the_scripted_profile_tells_probabilities(self) -> None:
        models = build_models(load_settings(profile="scripted"), None)  # type: ignore[arg-type]
        check_needs(RobustRagDecoding(), models)

    def test_a_service_tells_none_unless_said_so(self) -> None:
        assert build_tokens(load_settings(profile="api")) is None
        assert build_tokens(load_settings(profile="scripted", tokens={"kind": "none"})) is None

    def test_a_service_that_is_said_to_tell_them_serves_no_decoding(self) -> None:
        service = {"kind": "openai", "model": "m", "api_key_variable": ""}
        models = build_models(load_settings(profile="scripted", tokens=service), None)  # type: ignore[arg-type]
        check_needs(LeaveOneOut(), models)
        with pytest.raises(ConfigurationError, match="every next token"):
            check_needs(RobustRagDecoding(), models)

    def test_the_embedded_model_is_asked_and_loads_nothing_before(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gguf_tokens, "converted", None)  # calling it would fail
        assert build_tokens(load_settings(profile="embedded")) == GgufTokens()
        assert GgufTokens().log_probs([]) == GgufTokens().next_tokens([]) == []

    def test_a_proxy_is_a_model_of_its_own(self, tmp_path: Path) -> None:
        directory = tiny_causal_lm.build(tmp_path)
        proxy = {"kind": "transformers", "model": str(directory), "batch_size": 3}
        tokens = build_tokens(load_settings(profile="scripted", tokens=proxy))
        assert tokens.model_id.startswith(f"transformers/{tmp_path.name}@")  # type: ignore[union-attr]

    def test_transformers_share_the_generators_model(self, tmp_path: Path) -> None:
        pytest.importorskip("transformers")
        from radarstream.connectors.models.transformers_tokens import TransformersTokens

        directory = tiny_causal_lm.build(tmp_path)
        generator = {"kind": "transformers", "model": str(directory)}
        settings = load_settings(profile="scripted", generator=generator)
        models = build_models(settings, None)  # type: ignore[arg-type]
        tokens = models.tokens.wrapped  # type: ignore[union-attr]
        assert isinstance(tokens, TransformersTokens)
        assert tokens.generator == models.generator.wrapped  # type: ignore[attr-defined]

    def test_a_tiny_model_answers_by_decoding(self, tmp_path: Path) -> None:
        pytest.importorskip("transformers")
        from radarstream.connectors.models.transformers_generator import TransformersGenerator
        from radarstream.connectors.models.transformers_tokens import TransformersTokens

        generator = TransformersGenerator(tiny_causal_lm.build(tmp_path), device="cpu")
        models = replace(
            scripted_models(), generator=generator, tokens=TransformersTokens(generator)
        )
        guard = Guard("robust_rag_decoding", RobustRagDecoding(max_tokens=6), models)
        snapshot = make_snapshot([f"The winner: {w}." for w in ("Rome", "Rome", "Oslo")])
        first, _ = guard.answer(snapshot, guard.initial_memory())
        again, _ = guard.answer(snapshot, guard.initial_memory())
        assert first == again
        assert 0 < len(first.answer) <= 6 or first.abstention is not None


class TestSeveralContinuations:
    def test_they_share_a_call_with_single_ones_and_keep_order(self) -> None:
        models = with_tokens()
        wanted = tuple(LogProbs((RED, BLUE), said) for said in ("red", "bl"))
        found = fulfil({0: LogProbsAll(wanted), 1: wanted[0], 2: LogProbsAll(())}, models)
        assert [rows.shape for rows in found[0]] == [(2, 3), (2, 2)]
        assert found[0][0][0].sum() > found[0][0][1].sum()
        np.testing.assert_array_equal(found[0][0], found[1])
        assert found[2] == ()
        assert [len(batch) for batch in models.tokens.log] == [3]  # type: ignore[union-attr]

    def test_one_that_fails_fails_those_asked_with_it_alone(self) -> None:
        bad = LogProbsAll((LogProbs((RED,), "red"), LogProbs((RED,), "")))
        found = fulfil({0: bad, 1: LogProbsAll((LogProbs((RED,), "red"),))}, with_tokens())
        assert isinstance(found[0], ModelError)
        assert found[1][0].shape == (1, 3)


class TestScripted:
    def prompt(self, claim: str) -> Prompt:
        return Prompt(Task.ATOMIC_ANSWER, "", (), "Which?", (f"It: {claim}",), 8)

    def test_bytes_lead_to_the_completion_and_stop(self) -> None:
        tokens = ScriptedTokens(ScriptedGenerator(script=last_words))
        said: tuple[int, ...] = ()
        while True:
            (rows,) = tokens.next_tokens([NextTokenQuery((self.prompt("Zürich"),), said)])
            np.testing.assert_allclose(np.exp(rows.log_probs).sum(axis=1), 1.0)
            best = int(rows.log_probs[0].argmax())
            if best in rows.stops:
                break
            said = (*said, best)
        assert rows.text == "Zürich"

    def test_beside_the_path_all_tokens_are_alike(self) -> None:
        tokens = ScriptedTokens(ScriptedGenerator(script=last_words))
        (rows,) = tokens.next_tokens([NextTokenQuery((self.prompt("Bern"),), tuple(b"O"))])
        assert np.ptp(rows.log_probs) == 0.0

    def test_failures_and_empty_continuations(self) -> None:
        tokens = ScriptedTokens(fail_on_calls=frozenset({1}))
        with pytest.raises(ModelError, match="call 1"):
            tokens.next_tokens([])
        with pytest.raises(ModelError, match="without a token"):
            tokens.log_probs([ContinuationQuery((), "")])
        assert len(tokens.log) == 2
