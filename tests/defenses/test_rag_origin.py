"""RAGOrigin: the published example, its invariants, and what it must not flag."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.defenses.protocol import AttemptAll, Complete, Embed, LogProbs, LogProbsAll, Signal
from radarstream.schemas.attribution import Attribution, Case, Finding, RankedText
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Document, Query
from tests.driving import Script, run

QUESTION = "Who won the cup?"
SIMILARITY = (0.91, 0.89, 0.90, 0.62, 0.60, 0.58, 0.55, 0.61)
SEMANTIC = (-1.1, -1.3, -1.2, -2.4, -2.6, -2.2, -2.9, -2.5)
GENERATION = (-0.2, -0.3, -0.25, -3.1, -2.8, -3.3, -3.0, -2.9)
SCORES = (1.351530, 1.182493, 1.267011, -0.657958, -0.728092, -0.696008, -1.038313, -0.680663)


class Measured(Script):
    """Log-probabilities from tables by the number in a text; every answer but a lie is the truth.

    The logarithms of a continuation differ from token to token; their mean is the table's value.
    """

    def __init__(self, semantic, generation, answer=lambda _: AtomicAnswer("truth")) -> None:
        super().__init__(answer=answer)
        self.tables = {Task.PREDICT_QUESTION: semantic, Task.ATOMIC_ANSWER: generation}

    def respond(self, request):
        if isinstance(request, LogProbsAll):
            self.requests.append(request)
            return tuple(map(self.means, request.requests))
        return super().respond(request)

    def means(self, request: LogProbs) -> np.ndarray:
        means = np.array([self.tables[r.task][int(r.passages[0].split()[1]) - 1]
                          for r in request.rows])  # fmt: skip
        return np.stack([means * 0.5, means, means * 1.5], axis=1)


def event(similarity=SIMILARITY, k: int = 4) -> Case:
    texts = tuple(
        RankedText(f"t{rank}", Document(rank, f"text {rank}"), value)
        for rank, value in enumerate(similarity, start=1)
    )
    return Case(Query("cup", QUESTION), "lie", texts, k)


def attribute(
    similarity=SIMILARITY,
    semantic=SEMANTIC,
    generation=GENERATION,
    *,
    k: int = 4,
    **options: object,
) -> Attribution:
    script = Measured(semantic, generation)
    return run(RagOrigin(**options).attribute(event(similarity, k)), script)


def test_the_published_example() -> None:
    found = attribute()
    assert found.method == "rag_origin"
    assert found.finding is Finding.TEXTS_FLAGGED
    assert found.flagged == ("t1", "t2", "t3")
    assert [text.score for text in found.texts] == pytest.approx(SCORES, abs=1e-6)
    assert found.gap == pytest.approx(1.267011 + 0.760207, abs=2e-6)
    assert found.generation_gap == pytest.approx(-0.25 + 3.02)
    assert [t.rank for t in found.texts] == list(range(1, 9))
    assert [t.similarity for t in found.texts] == pytest.approx(SIMILARITY)
    assert [t.semantic for t in found.texts] == pytest.approx(SEMANTIC)
    assert [t.generation for t in found.texts] == pytest.approx(GENERATION)
    script = Measured(SEMANTIC, GENERATION)
    run(RagOrigin().attribute(event()), script)
    (both,) = script.asked(LogProbsAll)
    semantic, generation = both.requests
    assert semantic.continuation == QUESTION
    assert semantic.rows[2] == Complete(Task.PREDICT_QUESTION, "", ("text 3",), final=False)
    assert generation.continuation == "lie"
    assert generation.rows[2] == Complete(Task.ATOMIC_ANSWER, QUESTION, ("text 3",), final=False)
    assert [len(r.rows) for r in (semantic, generation)] == [8, 8]
    assert script.asked(Embed) == []


def test_splits_of_few_poisoned_and_impossible_texts() -> None:
    # Why a scope must hold texts that taught nothing.
    values = (1.4, 1.3, 1.2, 1.1, 1.0)
    logs = tuple(value - 5.0 for value in values)
    found = attribute(values, logs, logs, k=5)
    assert found.flagged == ("t1", "t2", "t3")
    assert found.gap < 2.0
    found = attribute((0.5, 0.6), (-2.0, -1.0), (-3.0, -0.5), k=1)
    assert found.flagged == ("t2",)
    assert found.gap == pytest.approx(2.0)
    assert found.generation_gap == pytest.approx(2.5)
    found = attribute(generation=(*GENERATION[:7], -math.inf))
    assert found.texts[7].generation == -100.0
    assert all(math.isfinite(text.score) for text in found.texts)


class TestNothingFlagged:
    def test_too_little_to_tell_apart(self) -> None:
        found = attribute((0.9,), (-1.0,), (-0.1,))
        assert found.finding is Finding.NO_SEPARATION
        assert (found.flagged, found.gap, found.generation_gap) == ((), None, None)
        assert (found.texts[0].score, found.texts[0].generation) == (0.0, pytest.approx(-0.1))
        found = attribute((0.5,) * 4, (-1.0,) * 4, (-2.0,) * 4)
        assert (found.finding, found.flagged) == (Finding.NO_SEPARATION, ())
        assert [text.score for text in found.texts] == [0.0] * 4
        script = Measured(SEMANTIC, GENERATION)
        found = run(RagOrigin(scope="algorithm_1").attribute(event()), script)
        assert (found.finding, found.texts) == (Finding.NOTHING_FLAGGED, ())
        assert script.asked(LogProbsAll) == []

    def test_an_error_of_the_model_itself(self) -> None:
        lying = Measured(
            SEMANTIC, GENERATION, lambda r: AtomicAnswer("lie" if not r.passages else "x")
        )
        found = run(RagOrigin().attribute(event()), lying)
        assert (found.finding, found.texts) == (Finding.INTRINSIC_ERROR, ())
        assert len(lying.requests) == 1  # the same words need no judge
        unchecked = run(RagOrigin(check_unaided=False).attribute(event()), lying)
        assert unchecked.flagged == ("t1", "t2", "t3")
        # A weak model may guess the lie by itself; then only other answers show who taught it.
        options = RagOrigin(check_unaided="uncontradicted")
        believing = Measured(SEMANTIC, GENERATION, lambda _: AtomicAnswer("lie"))
        found = run(options.attribute(event()), believing)
        assert (found.finding, found.texts) == (Finding.INTRINSIC_ERROR, ())
        assert "nothing contradicts it in 8 texts after 2 segments" in found.detail
        assert believing.asked(LogProbsAll) == []

        told = Measured(SEMANTIC, GENERATION, lambda r: AtomicAnswer("x" if r.passages else "lie"))
        found = run(options.attribute(event()), told)
        assert found.flagged == ("t1", "t2", "t3")
        assert "without any text, but not with every segment" in found.detail

    def test_a_segment_that_nobody_could_ask_contradicts_nothing(self) -> None:
        def answer(request: Complete) -> AtomicAnswer:
            if request.passages:
                raise ModelError("failed")
            return AtomicAnswer("lie")

        script = Measured(SEMANTIC, GENERATION, answer)
        found = run(RagOrigin(check_unaided="uncontradicted").attribute(event()), script)
        assert found.finding is Finding.INTRINSIC_ERROR
        assert "no model call succeeded for segment 2" in found.detail

    @pytest.mark.parametrize("check", [False, "uncontradicted"])
    def test_a_model_that_knows_the_truth_is_no_error_of_itself(self, check: object) -> None:
        believing = Measured(
            SEMANTIC, GENERATION, lambda r: AtomicAnswer("lie" if r.passages else "truth")
        )
        assert run(RagOrigin(check_unaided=check).attribute(event()), believing).flagged


@pytest.mark.parametrize(
    ("scores", "flagged"),
    [
        (("similarity",), ("t1", "t2")),
        (("semantic",), ("t3", "t4")),
        (("generation",), ("t1", "t4")),
        (("similarity", "semantic", "generation"), ("t1", "t2", "t3", "t4")),
    ],
)
def test_scores_can_be_used_alone(scores: tuple[str, ...], flagged: tuple[str, ...]) -> None:
    names = ("similarity", "semantic", "generation")
    tables = ((9, 9, 1, 1), (-9, -9, -1, -1), (-1, -9, -9, -1))
    if len(scores) == 3:
        tables = tuple((*values, -99) for values in tables)
    count = len(tables[0])
    found = attribute(*tables, k=count, scores=scores)
    assert set(found.flagged) == set(flagged)
    for name in names:
        assert all((getattr(text, name) is None) == (name not in scores) for text in found.texts)
    assert (found.generation_gap is None) == ("generation" not in scores)


def test_similarities_are_computed_where_unknown_and_need_no_tokens() -> None:
    assert RagOrigin().needs == {Signal.TOKEN_PROBABILITIES}
    assert RagOrigin(scores=("semantic",)).needs == {Signal.TOKEN_PROBABILITIES}
    assert RagOrigin(scores=["similarity"]).needs == frozenset()
    script = Measured(SEMANTIC, GENERATION)
    script.embedding = lambda text: (0.6, 0.8) if text in (QUESTION, "text 2") else (1.0, 0.0)
    partly = event((0.91, None, *SIMILARITY[2:]))
    found = run(RagOrigin(scores=("similarity",)).attribute(partly), script)
    (embed,) = script.asked(Embed)
    assert embed.texts == (QUESTION, *(f"text {rank}" for rank in range(1, 9)))
    assert [t.similarity for t in found.texts] == pytest.approx([0.6, 1.0, *[0.6] * 6])
    assert found.flagged == ("t2",)


VALUES = st.lists(st.integers(-40, 40).map(lambda i: i / 4), min_size=2, max_size=8)


@given(VALUES, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_units_of_the_scores_change_nothing(values, scale, shift):
    logs = [value - 11.0 for value in values]
    plain = attribute(values, logs, logs)
    moved = attribute([scale * v + shift for v in values], [v - 3.0 for v in logs], logs)
    assert [t.score for t in moved.texts] == pytest.approx([t.score for t in plain.texts], abs=1e-6)


def test_what_could_not_be_asked_is_said() -> None:
    def answer(request: Complete) -> AtomicAnswer:
        raise ModelError("failed")

    script = Measured(SEMANTIC, GENERATION, answer)
    found = run(RagOrigin().attribute(event()), script)
    assert found.flagged == ("t1", "t2", "t3")
    assert "segment 2, taken as no match" in found.detail
    assert "without any text is unknown" in found.detail
    kinds = [type(request) for request in script.requests]
    assert kinds == [AttemptAll] * 2 + [LogProbsAll]  # each round is one request
