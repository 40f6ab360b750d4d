"""GMTP: which tokens are hidden, where the cut is, and who gets past it."""

import pytest

from radarstream.lab.insights import Insights, TokenSalience
from radarstream.lab.methods.gmtp import Gmtp
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Script, run


def tokens(*lengths: float) -> tuple[TokenSalience, ...]:
    """One character each, in order."""
    return tuple(TokenSalience(place, place + 1, length) for place, length in enumerate(lengths))


def told(probabilities: dict[str, list[float]]) -> Script:
    """Texts of ten characters, of which as many are salient as there are probabilities."""

    def saliences(query):
        salient = len(probabilities[query.passage])
        return tokens(*[1.0] * salient, *[0.0] * (10 - salient))

    return Script(saliences=saliences, masked=lambda query: probabilities[query.text])


def rerank(probabilities: dict[str, list[float]], *, keep: int = 9, **options) -> Reranking:
    pool = make_pool(list(probabilities), keep=keep)
    return run(Gmtp(**options).rerank(pool), told(probabilities))


def kept(reranking: Reranking) -> list[int]:
    return [candidate.found_rank for candidate in reranking.kept]


def texts(**named: list[float]) -> dict[str, list[float]]:
    return {name.ljust(10, "."): values for name, values in named.items()}


def test_the_lowest_of_the_hidden_decide():
    found = rerank(
        texts(first=[0.9, 0.8, 0.7], second=[0.9, 0.1, 0.02]), mode="fixed", tokens=3, lowest=2
    )
    assert [candidate.score for candidate in found.candidates] == pytest.approx([0.75, 0.06])
    assert kept(found) == [1]
    assert found.candidates[-1].reason is Reason.SUSPECT


def test_the_comparison_is_strict():
    assert kept(rerank(texts(a=[0.2], b=[0.21]), mode="fixed")) == [2]


def test_spans_are_those_of_the_salient_tokens():
    """Each is hidden alone, in the order of the text; special tokens cover no character."""
    script = Script(
        saliences=lambda _: (TokenSalience(0, 0, 99.0), *tokens(1.0, 0.0, 3.0, 0.0, 2.0, 0.0))
    )
    run(Gmtp(tokens=2, lowest=1).rerank(make_pool(["abcdef"])), script)
    salient, masked = script.asked(Insights)
    assert masked.queries[0].spans == ((2, 3), (4, 5))
    assert salient.queries[0].passage == "abcdef"


def test_without_a_salient_token_a_candidate_is_dropped_and_all_may_be():
    found = rerank(texts(natural=[0.5], bare=[]))
    assert kept(found) == [1]
    assert found.candidates[-1].score == 0.0
    found = rerank(texts(a=[], b=[]))
    assert kept(found) == []
    assert {candidate.reason for candidate in found.candidates} == {Reason.SUSPECT}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_drops_its_candidate_alone(bad: float):
    script = told(texts(broken=[0.9], natural=[0.9]))
    well = script.saliences
    script.saliences = lambda q: tokens(1.0, bad, 0.0) if "broken" in q.passage else well(q)
    script.masked = lambda query: [0.9] * len(query.spans)
    found = run(Gmtp().rerank(make_pool([*texts(broken=[], natural=[])])), script)
    assert kept(found) == [2]


def test_what_stays_is_cut_to_the_nearest():
    found = rerank(texts(a=[0.5], b=[0.001], c=[0.6], d=[0.7]), keep=2)
    assert kept(found) == [1, 3]
    reasons = [candidate.reason for candidate in found.candidates]
    assert reasons == [None, None, Reason.OUTRANKED, Reason.SUSPECT]


class TestModes:
    def test_calibrated_takes_a_share_of_the_reference(self):
        found = texts(a=[0.04], b=[0.06])
        assert kept(rerank(found, reference=0.5)) == [2]
        assert kept(rerank(found, reference=0.5, share=0.05)) == [1, 2]

    def test_a_reference_is_measured_on_pairs(self):
        """All lowest probabilities count alike: .2, .4 and .9."""
        known = texts(first=[0.2, 0.4, 0.8], second=[0.9])
        pairs = [("Who?", passage) for passage in known]
        assert run(Gmtp(lowest=2).reference_from(pairs), told(known)) == pytest.approx(0.5)

    def test_without_a_reference_the_pool_is_its_own(self):
        """Mean of .8, .8, .8 and .04 is .61, a tenth of it .061."""
        assert kept(rerank(texts(a=[0.8], b=[0.8], c=[0.04], d=[0.8]))) == [1, 2, 4]

    def test_golden_no_operation(self):
        """A threshold of -1 drops nothing, not even what is impossible or has no such token."""
        found = rerank(texts(a=[0.0], b=[1e-9], c=[], d=[0.9]), mode="fixed", threshold=-1.0)
        assert kept(found) == [1, 2, 3, 4]

    def test_quantile_drops_a_share_of_candidates_and_keeps_equal_ones_together(self):
        found = rerank(texts(a=[0.9], b=[0.8], c=[0.7], d=[0.6], e=[0.5]), mode="quantile")
        assert kept(found) == [1, 2]
        assert kept(rerank(texts(a=[0.5], b=[0.5], c=[0.5]), mode="quantile")) == [1, 2, 3]


class TestWeaknesses:
    def test_a_planted_text_in_plain_language_passes(self):
        """Its tokens are as probable as anybody's: the method looks for optimised ones."""
        assert kept(rerank(texts(lie=[0.7, 0.6], truth=[0.6, 0.7]))) == [1, 2]

    def test_rare_names_are_dropped(self):
        """A true answer whose name the masked model has never read counts as planted."""
        assert kept(rerank(texts(name=[0.0001], a=[0.7], b=[0.7]), reference=0.6)) == [2, 3]

    def test_who_plants_most_of_the_pool_moves_its_mean(self):
        """Without a reference, nine planted texts of ten pass: a tenth of their own mean is low."""
        planted = texts(**{f"planted{place}": [0.004] for place in range(9)})
        assert len(kept(rerank({**planted, **texts(natural=[0.01])}, keep=10))) == 10
