"""RAGuard, leave one out: whose absence changes the answer, and whose does not."""

import numpy as np
import pytest

from radarstream.defenses.protocol import AttemptAll, Complete, Embed, LogProbs, Signal
from radarstream.lab.methods.raguard import UNSAID, RaguardLeaveOneOut
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Likelihoods, run

TEXTS = [f"text {place}" for place in range(8)]


def believing(request) -> AtomicAnswer:
    """Repeats a lie where one is told."""
    return AtomicAnswer("Rome" if any("lie" in p for p in request.passages) else "Oslo")


def direction(text: str) -> tuple[float, float]:
    return {"Rome": (1.0, 0.0), "Oslo": (0.1, np.sqrt(0.99))}.get(text, (0.6, 0.8))


def script(**changes) -> Likelihoods:
    return Likelihoods(**{"answer": believing, "embedding": direction, **changes})


def rerank(texts, *, keep: int = 5, models: Likelihoods | None = None, **options) -> Reranking:
    pool = make_pool(texts, keep=keep)
    return run(RaguardLeaveOneOut(**options).rerank(pool), models or script())


def dropped(reranking: Reranking) -> list[int]:
    return [c.found_rank for c in reranking.candidates if c.reason is Reason.SUSPECT]


def test_golden_spike_and_how_many_go():
    """Shifts of .9, 0, 0, 0, 0 have standard scores 2 and -.5 four times."""
    found = rerank(["a lie", *TEXTS[:4]])
    scores = {candidate.found_rank: candidate.penalty for candidate in found.candidates}
    assert [scores[rank] for rank in range(1, 6)] == pytest.approx([2.0, -0.5, -0.5, -0.5, -0.5])
    assert dropped(found) == [1]
    assert dropped(rerank(["a lie", *TEXTS[:4]], remove_count=0)) == []
    assert dropped(rerank(["a lie", *TEXTS[:4]], threshold=-1.0, remove_count=2)) == [1, 2]
    found = rerank(["a lie", *TEXTS[:3]], keep=4)  # too few: a lone spike among four scores 1.732
    assert dropped(found) == []
    assert found.candidates[0].penalty == pytest.approx(np.sqrt(3))


def test_both_signals_are_added():
    """Without the lie the answer is surer, which makes three candidates enough."""
    models = script(log_probs=lambda _, answer: (-2.0,) if answer == "Rome" else (-0.5,))
    found = rerank(["a lie", *TEXTS[:2]], keep=3, models=models)
    assert found.candidates[-1].penalty == pytest.approx(2 * np.sqrt(2))
    assert dropped(found) == [1]


def test_what_is_dropped_is_not_replaced():
    """The next candidate was not read: of the nearest five, four stay."""
    found = rerank(["a lie", *TEXTS])
    assert [candidate.found_rank for candidate in found.kept] == [2, 3, 4, 5]
    assert [c.found_rank for c in found.candidates if c.reason is Reason.OUTRANKED] == [6, 7, 8, 9]
    assert [c.penalty for c in found.candidates if c.found_rank > 5] == [None] * 4


class TestWhatIsAsked:
    def test_an_answer_with_all_and_one_without_each(self):
        models = script()
        rerank(TEXTS, keep=3, models=models)
        (whole,), (without,) = models.asked(Complete), models.asked(AttemptAll)
        assert whole.passages == ("text 0", "text 1", "text 2")
        assert [row.passages for row in without.requests] == [
            ("text 1", "text 2"),
            ("text 0", "text 2"),
            ("text 0", "text 1"),
        ]

    def test_every_answer_under_its_own_passages(self):
        models = script()
        rerank(["a lie", *TEXTS[:2]], keep=3, models=models)
        asked = [(len(r.rows[0].passages), r.continuation) for r in models.asked(LogProbs)]
        assert asked == [(3, "Rome"), (2, "Oslo"), (2, "Rome"), (2, "Rome")]

    def test_the_shift_alone(self):
        models = script()
        rerank(TEXTS, models=models, entropy=False)
        assert models.asked(LogProbs) == []
        assert RaguardLeaveOneOut(entropy=False).needs == frozenset()
        assert RaguardLeaveOneOut().needs == {Signal.TOKEN_PROBABILITIES}

    def test_a_long_answer_is_read_from_its_beginning(self):
        models = script(answer=lambda _: AtomicAnswer("word " * 900))
        rerank(TEXTS, models=models, characters=40)
        assert {len(asked.continuation) for asked in models.asked(LogProbs)} == {40}

    def test_an_abstention_is_an_answer_like_others(self):
        """Even one without words, which no model can read."""
        models = script(answer=lambda _: AtomicAnswer("", True))
        found = rerank(TEXTS, models=models)
        assert set(models.asked(Embed)[0].texts) == {UNSAID}
        assert dropped(found) == []


def test_impossible_tokens_do_not_spoil_the_others():
    """A probability of 0 counts as e^-100."""
    models = script(log_probs=lambda passages, _: (-np.inf if len(passages) == 5 else -1.0,))
    assert [c.penalty for c in rerank(TEXTS, models=models).kept] == [0.0] * 5


def test_an_answer_that_fails_spares_its_candidate_alone():
    def failing(request) -> AtomicAnswer:
        if len(request.passages) == 5 and "text 4" not in request.passages:
            raise ModelError("too long")
        return believing(request)

    found = rerank(["a lie", *TEXTS[:5]], keep=6, models=script(answer=failing))
    assert dropped(found) == [1]
    spared = next(candidate for candidate in found.candidates if candidate.found_rank == 6)
    assert (spared.kept, spared.penalty) == (True, None)


class TestWeaknesses:
    def test_two_that_say_the_same_hide_each_other(self):
        """Without one of them the other still tells the lie: nothing changes."""
        found = rerank(["a lie", "a lie, too", *TEXTS[:3]])
        assert dropped(found) == []
        assert {candidate.penalty for candidate in found.candidates} == {0.0}

    def test_the_only_source_of_the_truth_is_dropped(self):
        """One passage that answers among four that do not is a spike like a lie."""
        models = script(answer=lambda r: AtomicAnswer("Oslo" if "truth" in r.passages else UNSAID))
        assert dropped(rerank(["truth", *TEXTS[:4]], models=models)) == [1]
