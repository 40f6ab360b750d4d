"""What every relation scorer must do, whatever model stands behind it."""

from collections.abc import Callable

import numpy as np
import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedRelations
from radarstream.pipelines.signals.ports import RelationScorer
from radarstream.pipelines.signals.relation_judge import JudgedRelations
from radarstream.schemas.prompt import AnswerPair

QUESTION = "Which city hosts the archive?"
ANSWERS = (
    "Oslo", "Oslo, Norway", "Bergen", "I don't know", "1971", "The archive is in Bergen.", "",
)  # fmt: skip
PAIRS = [AnswerPair(QUESTION, a, b) for a in ANSWERS for b in ANSWERS]


def _tiny_cross_encoder(directory) -> RelationScorer:
    pytest.importorskip("transformers")
    from radarstream.connectors.models.cross_encoder_nli import CrossEncoderNli
    from tests.connectors.models import tiny_nli

    return CrossEncoderNli(tiny_nli.build(directory))


def _judged() -> RelationScorer:
    return JudgedRelations(ScriptedGenerator(), AnswerAgreement())


READERS: list = [
    pytest.param(_judged, id="language_model"),
    pytest.param(AnswerAgreement, id="answer_agreement"),
    pytest.param(ScriptedRelations, id="scripted"),
]
EVERY = [*READERS, pytest.param(None, id="cross_encoder", marks=pytest.mark.models)]


@pytest.fixture(scope="module")
def scorer_of(tmp_path_factory) -> Callable[..., RelationScorer]:
    """Builds a scorer once; None stands for the cross-encoder, which needs a directory."""
    built: dict = {}

    def build(make) -> RelationScorer:
        if make not in built:
            built[make] = make() if make else _tiny_cross_encoder(tmp_path_factory.mktemp("nli"))
        return built[make]

    return build


@pytest.fixture
def scorer(request, scorer_of) -> RelationScorer:
    return scorer_of(request.param)


every_scorer = pytest.mark.parametrize("scorer", EVERY, indirect=True)
every_reader = pytest.mark.parametrize("scorer", READERS, indirect=True)


@every_scorer
def test_rows_are_probabilities(scorer):
    rows = scorer.probabilities(PAIRS)
    assert rows.shape == (len(PAIRS), 3)
    assert rows.dtype == np.float64
    assert (rows >= 0.0).all()
    assert np.allclose(rows.sum(axis=1), 1.0, atol=1e-6)
    assert scorer.probabilities([]).shape == (0, 3)
    rows = scorer.probabilities([PAIRS[1], PAIRS[2], PAIRS[1]])
    assert np.array_equal(rows[0], rows[2])
    assert scorer.model_id == scorer.model_id != ""


@every_scorer
def test_order_and_batches_do_not_matter(scorer):
    whole = scorer.probabilities(PAIRS)
    turn = np.random.default_rng(5).permutation(len(PAIRS))
    turned = scorer.probabilities([PAIRS[i] for i in turn])
    assert np.allclose(turned, whole[turn], atol=1e-5)
    alone = np.vstack([scorer.probabilities([pair]) for pair in PAIRS])
    assert np.allclose(alone, whole, atol=1e-5)


@every_reader
@pytest.mark.parametrize("answer", ["Oslo", "Oslo, Norway", "1971", "The archive is in Bergen."])
def test_identical_answers_entail(scorer, answer):
    row = scorer.probabilities([AnswerPair(QUESTION, answer, answer)])[0]
    assert row.argmax() == 0
    assert row[0] >= 0.9


@every_reader
def test_different_answers_contradict_without_leaking(scorer):
    rows = scorer.probabilities(
        [AnswerPair(QUESTION, "Oslo", "Bergen"), AnswerPair(QUESTION, "Bergen", "Oslo")]
    )
    assert (rows[:, 0] <= 0.02).all()
    assert (rows[:, 2] >= 0.9).all()


@pytest.mark.parametrize("scorer", READERS[:2], indirect=True)
@pytest.mark.parametrize("abstention", ["I don't know", "I don\u2019t know", ""])
def test_abstentions_are_neutral(scorer, abstention):
    rows = scorer.probabilities(
        [AnswerPair(QUESTION, abstention, "Oslo"), AnswerPair(QUESTION, "Oslo", abstention)]
    )
    assert (rows.argmax(axis=1) == 1).all()
