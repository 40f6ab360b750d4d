"""Hidden words: what is hidden, what is read around it, and the probability of what stood there."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from transformers import AutoModelForMaskedLM

from radarstream.lab.insights import MaskedQuery
from radarstream.lab.models import causal_substitute
from radarstream.lab.models.causal_substitute import CausalSubstitute, before_and_hidden
from radarstream.lab.models.masked_language_model import MaskedLanguageModel
from radarstream.schemas.errors import ConfigurationError
from tests import tiny_encoders

TEXT = "The mayor of Halden is Bo Lee."


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoders.build(tmp_path_factory.mktemp("masked"), masked=True)


def by_hand(directory: Path, text: str, words: list[int]) -> float:
    """The geometric mean of the probabilities of tokens that are hidden together."""
    tokenizer = tiny_encoders.tokenizer()
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    hidden = ids.clone()
    hidden[0, words] = tokenizer.mask_token_id
    with torch.no_grad():
        logits = AutoModelForMaskedLM.from_pretrained(directory).eval()(hidden).logits[0]
    probabilities = logits.double().softmax(dim=-1)[words, ids[0, words]]
    return float(probabilities.log().mean().exp())


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ((4, 9), [2]),  # mayor
        ((23, 29), [6, 7]),  # Bo Lee
        ((5, 7), [2]),  # a part of a word hides it whole
        ((8, 11), [2, 3]),  # so do parts of two
        ((29, 30), [8]),  # the full stop
    ],
)
def test_a_span_hides_every_token_it_touches(
    directory: Path, span: tuple[int, int], words: list[int]
) -> None:
    (found,) = MaskedLanguageModel(directory, device="cpu").masked([MaskedQuery(TEXT, (span,))])
    assert found.tolist() == pytest.approx([by_hand(directory, TEXT, words)], rel=1e-4)


def test_of_a_long_text_what_is_around_the_span_is_read(directory: Path) -> None:
    """30 of 61 tokens fit."""
    filler = "vote " * 30
    text = f"{filler}mayor {filler}"
    start = len(filler)
    (found,) = MaskedLanguageModel(directory, device="cpu").masked(
        [MaskedQuery(text, ((start, start + 5), (0, 4), (len(text) - 5, len(text) - 1)))]
    )
    parts = {(15, 14): 15 + 1, (0, 29): 1, (29, 0): 29 + 1}
    for (before, after), probability in zip(parts, found, strict=True):
        hidden = "mayor " if before and after else "vote "
        read = "vote " * before + hidden + "vote " * after
        expected = by_hand(directory, read, [parts[before, after]])
        assert probability == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("kind", "device"), [("gpt2", "cpu"), ("bert", "nowhere")])
def test_a_model_that_hides_nothing_or_goes_nowhere(tmp_path: Path, kind: str, device: str) -> None:
    model = MaskedLanguageModel(tiny_encoders.build(tmp_path, kind, masked=True), device=device)
    with pytest.raises(ConfigurationError, match="cannot load"):
        model.masked([MaskedQuery(TEXT, ((0, 3),))])


def test_the_substitute_reads_what_stands_before_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    class Tokens:
        def after_texts(self, pairs: list[tuple[str, str]]) -> list[np.ndarray]:
            asked.extend(pairs)
            return [np.log([0.5, 0.125]) for _ in pairs]

    monkeypatch.setattr(CausalSubstitute, "tokens", Tokens())
    found = CausalSubstitute().masked([MaskedQuery(TEXT, ((0, 3), (3, 4), (4, 9), (6, 9)))])
    assert asked == [("\n", "The"), ("The", " mayor"), ("The ma", "yor")]
    assert found[0].tolist() == pytest.approx([0.25, 1.0, 0.25, 0.25])
    long = "a" * 500 + " b"
    assert before_and_hidden(long, 501, 502) == ("a" * causal_substitute.CHARACTERS, " b")
