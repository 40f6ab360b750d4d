"""RAGuard, by perplexity: passages in pieces, quotients that stand out, near duplicates."""

import numpy as np
import pytest

from radarstream.defenses.perplexity import MOST_CHARACTERS, pieces
from radarstream.defenses.protocol import LogProbs
from radarstream.defenses.retrieval.raguard_perplexity import RaguardPerplexity
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Likelihoods, Script, run

COUNT = 7


def perplexing(_: tuple[str, ...], text: str) -> tuple[float]:
    """Pieces with an x are less probable; plain ones differ a little by what they say."""
    return (-9.0 if "x" in text else -1.0 - 0.01 * (len(set(text)) % 5),)


def apart(text: str) -> np.ndarray:
    """A direction for each first word; equal first words mean the same."""
    place = sum(map(ord, text.split()[0])) if text.split() else 0
    return np.eye(97)[place % 97]


def rerank(texts: list[str], *, keep: int = COUNT, **options) -> tuple[Reranking, Likelihoods]:
    script = Likelihoods(log_probs=perplexing, embedding=apart)
    method = RaguardPerplexity(**{"words": 2, **options})
    return run(method.rerank(make_pool(texts, keep=keep)), script), script


def dropped(reranking: Reranking) -> list[int]:
    return [c.found_rank for c in reranking.candidates if c.reason is Reason.SUSPECT]


PLAIN = [f"{letter} says {'abcdefgh'[:place]} plainly" for place, letter in enumerate("abcdef", 1)]


def test_a_passage_with_a_strange_part_is_dropped():
    found, _ = rerank([*PLAIN, "g says xx xx"])
    assert dropped(found) == [7]
    assert found.candidates[-1].penalty > 3.5


def test_strange_throughout_is_not_strange():
    """A passage that is perplexing in all its parts has a quotient of 1: a known limit."""
    found, _ = rerank([*PLAIN, "gx x x x"])
    assert dropped(found) == []


def test_near_duplicates_of_a_nearer_candidate_are_dropped():
    found, _ = rerank(["a says so", *PLAIN])
    assert dropped(found) == [2]
    assert dropped(rerank(["a says so", *PLAIN], duplicate=1.5)[0]) == []


def test_a_dropped_candidate_makes_no_duplicates():
    """The copy of a suspect is judged by itself."""
    found, _ = rerank(["a xx b c", *PLAIN])
    assert dropped(found) == [1]


def test_what_is_dropped_is_replaced():
    found, _ = rerank([PLAIN[0], "b says xx xx", *PLAIN[1:]], keep=3)
    assert [candidate.found_rank for candidate in found.kept] == [1, 3, 4]


def test_only_the_beginning_is_read():
    text = " ".join(["word"] * 4 + ["end"] * 90)
    _, script = rerank([text, "other"], most_pieces=2)
    assert [asked.continuation for asked in script.asked(LogProbs)] == ["word word", "other"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a b c", ["a b c"]),
        ("a b c d", ["a b", "c d"]),
        ("a b c d e", ["a b", "c d e"]),
    ],
)
def test_a_short_rest_belongs_to_the_piece_before(text: str, expected: list[str]):
    assert pieces(text, 2) == expected


def test_a_text_without_spaces_is_cut():
    assert pieces("a" * 9_000, 2) == ["a" * MOST_CHARACTERS]


class TestWeaknesses:
    def test_a_lie_in_plain_words_passes(self):
        assert dropped(rerank([*PLAIN, "g says rome plainly"])[0]) == []

    def test_two_honest_reports_in_the_same_words_lose_one(self):
        found, _ = rerank(["agency says oslo won", "agency says oslo won again", *PLAIN[1:]])
        assert dropped(found) == [2]


def test_models_that_answer_alike_leave_all():
    found = run(RaguardPerplexity(duplicate=1.5).rerank(make_pool(PLAIN)), Script())
    assert dropped(found) == []
