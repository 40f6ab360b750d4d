"""Thresholds that benign texts set: lengths of embeddings, perplexities."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.defenses.protocol import Norms
from radarstream.lab.methods.thresholds import Norm, Perplexity
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.schemas.attribution import Finding
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import Task
from tests.builders import make_case
from tests.driving import Likelihoods, Script, attribute_all, run
from tests.scripted_models import scripted_models

LENGTHS = {"short": 1.0, "mid": 3.0, "long": 4.5, "longest": 6.0}


def by_word(_: tuple[str, ...], continuation: str) -> tuple[float, ...]:
    """A plain word costs log 2, any other log 1000."""
    return tuple(-np.log(2.0 if w.isalpha() else 1_000.0) for w in continuation.split())


def measuring() -> Script:
    return Script(norm=LENGTHS.__getitem__)


def reading() -> Likelihoods:
    return Likelihoods(log_probs=by_word)


def calibrated(method, benign):
    """The method with the threshold of benign texts."""
    threshold = yield from method.threshold_from(benign)
    return replace(method, threshold=threshold)


class TestNorm:
    def test_longer_than_any_benign_text(self):
        norm = run(calibrated(Norm(), ["short", "long", "mid"]), measuring())
        assert norm == Norm(threshold=4.5)
        script = measuring()
        event = make_case(["mid", "longest", "long"])
        found = run(norm.attribute(event), script)
        assert found.flagged == ("d2",)
        assert [text.score for text in found.texts] == [3.0, 6.0, 4.5]
        assert found.gap == pytest.approx(6.0 - 3.75)
        assert script.requests == [Norms(("mid", "longest", "long"))]

    def test_unit_rows_flag_nothing(self):
        script = Script(norm=lambda _: 1.0)
        norm = run(calibrated(Norm(), ["a", "b"]), script)
        found = run(norm.attribute(make_case(["c", "d"])), script)
        assert found.finding is Finding.NOTHING_FLAGGED

    def test_through_the_driver(self):
        models = scripted_models()
        (norm,) = drive([calibrated(Norm(), ["three words here", "one"])], models)
        events = [make_case(["a b c d", "a b c"]), make_case(["a", "b"])]
        assert [a.flagged for a in attribute_all(norm, events, models)] == [("d1",), ()]


class TestPerplexity:
    def test_higher_than_any_benign_text(self):
        method = run(calibrated(Perplexity(), ["a b", "a b c 4"]), reading())
        assert method.threshold == pytest.approx((8.0 * 1_000.0) ** 0.25)
        script = reading()
        event = make_case(["plain words", "zx9 q1", "a b c 4"])
        found = run(method.attribute(event), script)
        assert found.flagged == ("d2",)
        expected = [2.0, 1_000.0, (8.0 * 1_000.0) ** 0.25]
        assert [text.score for text in found.texts] == pytest.approx(expected)
        request = script.requests[-1]
        assert request.rows[0].task is Task.BARE_TEXT
        assert request.rows[0].passages == ()

    def test_equal_texts_are_read_once_and_empty_ones_not_at_all(self):
        script = reading()
        event = make_case(["a", " ", "a", "b"])
        found = run(Perplexity(threshold=1.5).attribute(event), script)
        assert [request.continuation for request in script.requests] == ["a", "b"]
        assert found.flagged == ("d1", "d3", "d4")
        assert [text.score for text in found.texts] == pytest.approx([2.0, 1.0, 2.0, 2.0])

    def test_only_the_beginning_is_read(self):
        script = reading()
        method = Perplexity(threshold=5.0, characters=4)
        found = run(method.attribute(make_case(["ab cd 123 456", "a"])), script)
        assert script.requests[0].continuation == "ab c"
        assert found.flagged == ()

    def test_impossible_tokens_stay_finite(self):
        script = Likelihoods(log_probs=lambda *_: (-np.inf,))
        found = run(Perplexity(threshold=9.0).attribute(make_case(["a", "b"])), script)
        assert np.isfinite([text.score for text in found.texts]).all()
        assert found.flagged == ("d1", "d2")

    def test_through_the_driver(self):
        """A scripted model is sure of what it says itself and of nothing else."""
        tokens = ScriptedTokens()
        models = replace(scripted_models(), tokens=tokens)
        (method,) = drive([calibrated(Perplexity(), ["I don't know"])], models)
        assert method.threshold == pytest.approx(1.0001, rel=1e-4)
        (found,) = attribute_all(method, [make_case(["I don't", "gibberish"])], models)
        assert found.flagged == ("d2",)
        assert [len(batch) for batch in tokens.log] == [1, 2]
        with pytest.raises(ConfigurationError, match="Perplexity needs"):
            attribute_all(method, [], scripted_models())


@pytest.mark.parametrize(("method", "script"), [(Norm, Script), (Perplexity, reading)])
class TestBoth:
    def test_without_benign_texts_there_is_no_threshold(self, method, script):
        with pytest.raises(ValueError, match="benign"):
            next(calibrated(method(), []))
        found = run(method().attribute(make_case(["a", "b"])), script())
        assert found.finding is Finding.NOTHING_FLAGGED
        assert "no threshold" in found.detail

    def test_equal_to_the_largest_benign_score_is_benign(self, method, script):
        chosen = run(calibrated(method(), ["word"]), script())
        found = run(chosen.attribute(make_case(["word", "word"])), script())
        assert found.finding is Finding.NOTHING_FLAGGED
        assert found.detail == ""

    def test_calibrating_keeps_the_other_options(self, method, script):
        assert run(calibrated(method(max_texts=3), ["a"]), script()).max_texts == 3
