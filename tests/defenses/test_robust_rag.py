"""Keyword aggregation: golden numbers, edge cases and known weaknesses."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.keywords import phrases
from radarstream.defenses.protocol import Complete
from radarstream.defenses.robust_rag import RobustRag, increments, tally
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Abstention, Reason, Verdict
from tests.builders import QUESTION, claims_evidence
from tests.driving import Script, run, saying


def judge(claims: Sequence[str | None], defense: RobustRag | None = None, **script) -> Verdict:
    script.setdefault("answer", saying("final"))
    evidence = claims_evidence(claims)
    return run((defense or RobustRag()).defend(evidence, None), Script(**script))[0]


def keywords(claims: Sequence[str | None], defense: RobustRag | None = None) -> tuple[str, ...]:
    """What is shown to the generator; nothing when it is not asked."""
    script = Script(answer=saying("final"))
    run((defense or RobustRag()).defend(claims_evidence(claims), None), script)
    return script.requests[0].passages if script.requests else ()  # type: ignore[union-attr]


# What is shown to the generator of which claims.
SHOWN = [
    (["Lee of Oslo"] * 2, {}, ("lee of oslo", "oslo", "lee")),  # the longest first
    (["c", "b", "dd"], {}, ("dd", "c", "b")),  # then by text, descending
    (["Rome in Italy"], {}, ("rome in italy", "italy", "rome")),
    (["Rome Rome Rome", "Oslo", "Oslo", "Bern", "Bern"], {}, ("oslo", "bern")),  # once an answer
    (["Marie Curie", "Marie Curie", "Marie"], {"long_form": True}, ("marie curie",)),
    (["Rome", "Rome", "Oslo", "Oslo", "Bern", "Bern"], {"gamma": 0.5}, ("rome",)),  # mu = 1.8
    ([None, *["Rome"] * 3], {"gamma": 5e-324}, ("rome",)),  # weights that underflow count alike
    # The absolute threshold does not grow with the number of retrieved documents.
    ([f"page{i}" for i in range(47)] + ["Atlantis"] * 3, {}, ("atlantis",)),
    (["Rome"] * 47 + ["Atlantis"] * 3, {}, ("atlantis", "rome")),
    (["Rome"] * 48 + ["Atlantis"] * 2, {}, ("rome",)),
]


@pytest.mark.parametrize(("claims", "options", "expected"), SHOWN)
def test_phrases_that_are_heard(claims, options, expected):
    assert keywords(claims, RobustRag(**options)) == expected


class TestGolden:
    def test_how_many_must_agree(self):
        for answers, mu, enough in [
            (1, 0.3, 1), (2, 0.6, 1), (3, 0.9, 1), (5, 1.5, 2), (9, 2.7, 3), (10, 3, 3), (50, 3, 3),
        ]:  # fmt: skip
            assert RobustRag().threshold(answers) == pytest.approx(mu, abs=1e-6)
            others = [f"other{i}" for i in range(answers)]
            for agreeing in range(1, answers + 1):
                claims = ["Paris"] * agreeing + others[agreeing:]
                assert ("paris" in keywords(claims)) == (agreeing >= enough)
        long = RobustRag(alpha=0.4, beta=4.0)
        assert [long.threshold(n) for n in (5, 10, 50)] == pytest.approx([2, 4, 4])

    def test_counts_weights_and_what_is_no_abstention(self):
        counts = tally([phrases(answer) for answer in ("Paris", "paris is the capital", "Lyon")])
        assert counts == {"paris": 2, "paris is the capital": 1, "capital": 1, "lyon": 1}
        voices = [phrases("Paris"), frozenset(), phrases("Paris")]
        assert increments(voices, 0.9) == pytest.approx([1.104972, 0, 0.895028], abs=1e-6)
        assert tally(voices, 0.9) == pytest.approx({"paris": 2})
        assert increments(voices, None) == [1, 0, 1]
        assert "hawaii" in keywords(["In Hawaii don't ask"])


class TestInference:
    def test_the_generator_sees_shared_phrases_and_documents_are_kept_for_them(self):
        script = Script(answer=saying("Rome"))
        claims = ["Rome in Italy", "Rome, Italy", "Rome", "Oslo", "Oslo"]
        verdict, state = run(RobustRag().defend(claims_evidence(claims), None), script)
        assert script.requests == [
            Complete(Task.ANSWER_FROM_KEYWORDS, QUESTION, ("italy", "rome", "oslo"))
        ]
        assert (verdict.answer, state) == ("Rome", None)
        verdict = judge(["Rome", None, "Rome", "Oslo", "Rome", "Rome"])
        assert [(d.kept, d.reason) for d in verdict.documents] == [
            (True, Reason.SUPPORTED), (False, Reason.UNINFORMATIVE), (True, Reason.SUPPORTED),
            (False, Reason.OUTVOTED), (True, Reason.SUPPORTED), (True, Reason.SUPPORTED),
        ]  # fmt: skip
        assert verdict.documents[3].atomic_answer == "Oslo"
        assert verdict.documents[1].atomic_answer is None
        # 0.29 * 100 is 28.999999999999996 and 0.28 * 100 is 28.000000000000004 in binary.
        for alpha, needed in ((0.29, 29), (0.28, 28)):
            claims = ["Rome"] * needed + [f"other{i}" for i in range(100 - needed)]
            assert keywords(claims, RobustRag(alpha=alpha, beta=100)) == ("rome",)


class TestEdges:
    def test_why_nothing_is_answered(self):
        script = Script()
        verdict, _ = run(RobustRag().defend(claims_evidence([None] * 3), None), script)
        assert verdict.abstention is Abstention.NO_EVIDENCE
        assert script.requests == []
        verdict = judge([f"other{i}" for i in range(50)])
        assert verdict.abstention is Abstention.NO_CONSENSUS
        assert {d.reason for d in verdict.documents} == {Reason.OUTVOTED}

    @given(st.lists(st.one_of(st.none(), st.text(min_size=1, max_size=30)), max_size=12))
    def test_hostile_text_never_raises_and_order_matters_not(self, claims: list[str | None]):
        assert set(keywords(claims)) == set(keywords(claims[::-1]))


class TestKnownWeaknesses:
    @pytest.mark.parametrize("apostrophe", ["'", "’"])
    def test_a_true_answer_that_says_i_dont_is_silenced(self, apostrophe: str):
        said = f"I don{apostrophe}t think it is Lyon, it is Paris"
        verdict = judge([said, said, said, "Lyon"])
        assert [d.kept for d in verdict.documents] == [False, False, False, True]
