import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.rouge import MOST_WORDS, rouge_l


def score(first: str, second: str) -> float:
    return float(rouge_l([first, second])[0, 1])


def by_table(a: list[str], b: list[str]) -> float:
    """F of the longest common subsequence, by the textbook table."""
    table = np.zeros((len(a) + 1, len(b) + 1))
    for i, x in enumerate(a, start=1):
        for j, y in enumerate(b, start=1):
            table[i, j] = (
                table[i - 1, j - 1] + 1 if x == y else max(table[i - 1, j], table[i, j - 1])
            )
    return 2.0 * table[-1, -1] / (len(a) + len(b)) if a or b else 0.0


def test_worked_examples():
    for first, second, expected in [
        ("the cat sat on the mat", "the dog sat on a mat", 0.666667),
        ("a b c d", "e f g h", 0.0),
        ("a b c d", "a b c d", 1.0),
        ("a b c d", "d c b a", 0.25),
        ("Winners, agreed!", "winner agrees", 1.0),  # stems, case, punctuation
        ("ties", "tying", 0.0),
        ("has", "ha", 0.0),  # words of three letters are not stemmed
        ("", "", 0.0),
        ("", "a", 0.0),
        ("?!", "...", 0.0),
        ("Σίσυφος έλα", "σίσυφοσ έλα", 1.0),
    ]:
        assert score(first, second) == pytest.approx(expected, abs=1e-6)
        assert score(second, first) == pytest.approx(expected, abs=1e-6)


def test_the_matrix_and_long_texts():
    np.testing.assert_allclose(
        rouge_l(["a b", "a b", "a c"]), [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]]
    )
    same = "a " * (MOST_WORDS - 1)
    assert score(same + "b " * 5000, same + "b " + "c " * 90_000) == 1.0
    assert score(same + "b", same + "c") == pytest.approx(1.0 - 1.0 / MOST_WORDS)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_texts_to_compare(n: int):
    assert rouge_l(["a"] * n).tolist() == [[0.0]] * n


@given(*[st.lists(st.sampled_from("abc"), max_size=8)] * 2)
def test_equals_the_textbook(a: list[str], b: list[str]):
    assert score(" ".join(a), " ".join(b)) == pytest.approx(by_table(a, b))
