"""How often the scorer takes a lie for the truth, and how often it misses a paraphrase.

`development*.csv` were at hand while the rules were written. `held_out.csv` was written by
somebody who did not know the rules, which were not made with its pairs in view; `held_out_2.csv`
was written once the rules were finished, in families that the other files do not have. The aim is
2 % and 10 %; asserted is what was reached, with a pair or two of slack.
"""

from pathlib import Path

import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.answer_agreement.comparison import Likeness
from radarstream.connectors.models.answer_agreement.scorer import compare_pair
from radarstream.pipelines.evaluation.own_pairs import errors, read_own
from radarstream.schemas.prompt import AnswerPair

PAIRS = Path(__file__).parents[2] / "data" / "answer_pairs"
SCORER = AnswerAgreement()


@pytest.mark.parametrize(
    ("name", "wrong", "lost"),
    [
        ("development", 2, 2),
        ("development_2", 2, 10),
        ("development_3", 2, 12),
        ("held_out", 7, 38),
        ("held_out_2", 4, 17),
    ],
)
def test_few_lies_are_the_same_and_not_many_paraphrases_are_lost(
    name: str, wrong: int, lost: int
) -> None:
    found = errors(SCORER, read_own(name, PAIRS))
    assert found["wrong_same"] <= wrong
    assert found["lost"] <= lost


def test_the_pairs_are_many_of_many_families_and_differ() -> None:
    names = ("development", "development_2", "development_3", "held_out", "held_out_2")
    files = {name: read_own(name, PAIRS) for name in names}
    fitted = [pair for name in names[:3] for pair in files[name]]
    held = [pair for name in names[3:] for pair in files[name]]
    assert len({pair.family for pair in fitted}) >= 35
    assert len(fitted) >= 400
    assert len(held) >= 400
    asked = [{(p.question, p.one, p.other) for p in pairs} for pairs in (fitted, held)]
    repeated = len(asked[0] & asked[1])
    assert repeated <= 3  # two people thought of the same three plain pairs
    families = {pair.family for pair in [*fitted, *files["held_out"]]}
    assert not families & {pair.family for pair in files["held_out_2"]}


def test_the_same_one_way_is_the_same_the_other_way() -> None:
    """Of all pairs, with the sides exchanged, the finding is mirrored."""
    mirrored = {
        Likeness.PREMISE_ADDS: {Likeness.HYPOTHESIS_ADDS, Likeness.HYPOTHESIS_LISTS_MORE},
        Likeness.HYPOTHESIS_ADDS: {Likeness.PREMISE_ADDS},
        Likeness.HYPOTHESIS_LISTS_MORE: {Likeness.PREMISE_ADDS},
    }
    for name in ("development", "development_2", "development_3"):
        for pair in read_own(name, PAIRS):
            forth = compare_pair(AnswerPair(pair.question, pair.one, pair.other)).ruled
            back = compare_pair(AnswerPair(pair.question, pair.other, pair.one)).ruled
            assert back in mirrored.get(forth, {forth}), pair
