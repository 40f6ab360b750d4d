"""Decoding aggregation: golden numbers, edge cases, known weaknesses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

from radarstream.defenses.protocol import Complete, LogProbs, NextTokens, NextTokenStep
from radarstream.defenses.robust_rag_decoding import REFUSAL, RobustRagDecoding, aggregate
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Abstention, Reason, Verdict
from tests.builders import QUESTION, claims_evidence, make_snapshot
from tests.driving import Script, run

NOBODY: frozenset[int] = frozenset()
ROWS = [[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.2, 0.7, 0.1]]
ALONE = [0.0, 0.0, 1.0]


def chosen(rows: Sequence[Sequence[float]], barred: frozenset[int] = NOBODY, **options: Any) -> int:
    """The next token; the last row is the model without documents."""
    with np.errstate(divide="ignore"):
        return RobustRagDecoding(**options).next_token(np.log(np.array(rows)), barred)


class TestGolden:
    def test_votes_are_sums_of_probabilities(self):
        assert aggregate(np.log(ROWS)) == pytest.approx([1.5, 1.2, 0.3], abs=1e-6)

    @pytest.mark.parametrize(("eta", "token"), [(0.0, 0), (0.29, 0), (0.3, 2), (4.0, 2)])
    def test_the_lead_must_exceed_eta(self, eta: float, token: int):
        """A lead of exactly .3 does not exceed .3, whatever rounding makes of it."""
        assert chosen([*ROWS, ALONE], eta=eta) == token

    def test_weights_by_place_among_the_remaining(self):
        votes = aggregate(np.log(ROWS), gamma=0.5)
        assert votes == pytest.approx([0.6 + 0.35 + 0.05, 0.3 + 0.1 + 0.175, 0.175], abs=1e-6)

    def test_temperature_sharpens_each_row(self):
        assert aggregate(np.log([[0.8, 0.2]]), temperature=0.5) == pytest.approx(
            [0.64 / 0.68, 0.04 / 0.68]
        )


class TestNextToken:
    def test_a_tie_falls_to_the_model_alone_even_at_eta_zero(self):
        assert chosen([[0.5, 0.5, 0.0], ALONE]) == 2

    def test_barred_tokens_get_no_vote_from_documents(self):
        assert chosen([*ROWS, ALONE], barred=frozenset({0})) == 1
        assert chosen([*ROWS, ALONE], barred=frozenset({0, 99})) == 1

    def test_a_barred_token_may_still_come_from_the_model_alone(self):
        """As in the authors' decoder, which bars tokens after it has looked at that row."""
        assert chosen([*ROWS, [0.9, 0.1, 0.0]], barred=frozenset({0}), eta=2.0) == 0

    def test_impossible_tokens(self):
        assert chosen([[0.0, 1.0, 0.0], ALONE]) == 1

    def test_one_confident_poison_is_outvoted(self):
        assert chosen([[0.0, 1.0, 0.0], *[[0.6, 0.0, 0.4]] * 2, ALONE]) == 0

    def test_weakness_one_confident_poison_beats_two_hesitant_documents(self):
        assert chosen([[0.0, 1.0, 0.0], *[[0.4, 0.2, 0.4]] * 2, ALONE]) == 1

    @given(arrays(np.float64, (4, 5), elements=st.floats(-20, 0)), st.permutations(range(3)))
    def test_order_of_documents_matters_only_with_weights(self, logs: np.ndarray, order: list[int]):
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        shuffled = np.vstack([logs[:-1][order], logs[-1:]])
        assert aggregate(logs[:-1]).sum() == pytest.approx(3.0)
        np.testing.assert_allclose(aggregate(logs[:-1]), aggregate(shuffled[:-1]))


def judge(
    claims: Sequence[str | None], defense: RobustRagDecoding | None = None, *, alone: str = REFUSAL
) -> tuple[Verdict, Script]:
    """Document r makes the model say claim r; without documents it says `alone`."""
    said = {f"Title {r}\ndocument {r}": claim for r, claim in enumerate(claims, start=1)}

    def answer(request: Complete) -> AtomicAnswer:
        claim = said[request.passages[0]] if request.passages else alone
        return AtomicAnswer(claim) if claim else AtomicAnswer(REFUSAL, abstained=True)

    script = Script(answer=answer)
    evidence = make_snapshot([f"document {r}" for r in range(1, len(claims) + 1)])
    bare = claims_evidence(claims)
    assert evidence.documents == bare.documents
    verdict, state = run((defense or RobustRagDecoding()).defend(bare, None), script)
    assert state is None
    return verdict, script


class TestInference:
    def test_documents_are_read_alone_and_once_without_any(self):
        _, script = judge(["Rome", "Rome"])
        rows = tuple(
            Complete(Task.ATOMIC_ANSWER, QUESTION, (f"Title {r}\ndocument {r}",)) for r in (1, 2)
        )
        alone = Complete(Task.RECALL_PASSAGE, QUESTION, ())
        assert script.requests[:2] == [LogProbs(rows, REFUSAL), NextTokens((*rows, alone))]
        assert [r.prefix for r in script.asked(NextTokens)] == [
            tuple(b"Rome"[:n]) for n in range(5)
        ]

    def test_the_majority_is_spelt_out(self):
        verdict, _ = judge(["Rome", "Oslo", "Rome", "Oslo", "Rome"])
        assert verdict.answer == "Rome"
        assert [d.reason for d in verdict.documents] == [Reason.NOT_JUDGED] * 5

    def test_documents_that_make_the_model_refuse_are_dropped(self):
        verdict, script = judge([None, "Rome", None])
        assert verdict.answer == "Rome"
        assert [(d.kept, d.reason) for d in verdict.documents] == [
            (False, Reason.UNINFORMATIVE),
            (True, Reason.NOT_JUDGED),
            (False, Reason.UNINFORMATIVE),
        ]
        assert all(len(request.rows) == 2 for request in script.asked(NextTokens))

    def test_a_hesitant_refusal_is_not_dropped(self):
        """The scripted model refuses with probability .9999 ** 12, about .9988."""
        _, script = judge([None, "Rome"], RobustRagDecoding(refusal_probability=0.999))
        assert all(len(request.rows) == 3 for request in script.asked(NextTokens))

    def test_a_high_eta_leaves_the_answer_to_the_model_alone(self):
        assert judge(["Oslo"] * 3, RobustRagDecoding(eta=4.0), alone="Rome")[0].answer == "Rome"

    def test_weights_favour_the_best_rank(self):
        claims = ["Rome", "Oslo", "Oslo"]
        assert judge(claims)[0].answer == "Oslo"
        assert judge(claims, RobustRagDecoding(gamma=0.5))[0].answer == "Rome"

    def test_the_answer_is_one_line(self):
        verdict, script = judge(["Rome\nQuestion: who?"] * 2)
        assert verdict.answer == "Rome"
        assert len(script.asked(NextTokens)[-1].prefix) == len("Rome\n")

    def test_a_line_break_cannot_come_first(self):
        assert judge(["\nRome"] * 2 + ["Oslo"])[0].answer == "Oslo"

    def test_the_answer_ends_at_the_limit(self):
        verdict, script = judge(["Rome in Italy"], RobustRagDecoding(max_tokens=4))
        assert verdict.answer == "Rome"
        assert len(script.asked(NextTokens)) == 5


class TestEdges:
    def test_no_documents(self):
        verdict, script = judge([])
        assert verdict.abstention is Abstention.NO_DOCUMENTS
        assert script.requests == []

    @pytest.mark.parametrize("count", [1, 2, 50])
    def test_any_number_of_documents(self, count: int):
        assert judge(["Rome"] * count)[0].answer == "Rome"

    @pytest.mark.parametrize("count", [1, 2, 50])
    def test_all_abstain(self, count: int):
        verdict, script = judge([None] * count)
        assert verdict.abstention is Abstention.NO_EVIDENCE
        assert script.asked(NextTokens) == []

    def test_two_documents_that_differ_leave_it_to_the_model_alone(self):
        assert judge(["Rome", "Oslo"], alone="Bern")[0].answer == "Bern"
        assert judge(["Rome", "Oslo"])[0].abstention is Abstention.MODEL_ABSTAINED

    @pytest.mark.parametrize(
        "options",
        [
            {"eta": -0.1},
            {"temperature": 0.0},
            {"refusal_probability": 1.1},
            {"gamma": 0.0},
            {"max_tokens": 0},
        ],
    )
    def test_options_out_of_range(self, options: dict):
        with pytest.raises(ValidationError):
            RobustRagDecoding(**options)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda rows: rows[:-1],
            lambda rows: rows[:, :0],
            lambda rows: rows[0],
            lambda rows: np.where(rows < -1, np.nan, rows),
            lambda rows: np.where(rows < -1, np.inf, rows),
        ],
    )
    def test_malformed_responses(self, spoil: Callable[[np.ndarray], np.ndarray]):
        defending = RobustRagDecoding().defend(claims_evidence(["Rome", "Oslo"]), None)
        script = Script(answer=lambda _: AtomicAnswer("Rome"))
        refusals = script.respond(next(defending))
        step = script.respond(defending.send(refusals))
        bad = NextTokenStep(spoil(step.log_probs), step.reply, False, step.stops, step.refusals)
        with pytest.raises(EvidenceError, match="token probabilities"):
            defending.send(bad)
        other = RobustRagDecoding().defend(claims_evidence(["Rome", "Oslo"]), None)
        next(other)
        with pytest.raises(EvidenceError, match="token probabilities"):
            other.send(spoil(refusals))
