"""Token probabilities of tiny models, against plain forward passes and the generator's text."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    set_seed,
)

from radarstream.connectors.models import transformers_tokens
from radarstream.connectors.models.reply_tokens import continuation_tokens
from radarstream.connectors.models.transformers_generator import (
    TransformersGenerator,
    prompt_tokens,
)
from radarstream.connectors.models.transformers_tokens import (
    TransformersTokens,
    plain_tokens,
)
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.tokens import ContinuationQuery
from tests import tiny_causal_lm

TOWNS = ["Bern", "Oslo", "Lima", "Kyiv", "Rabat"]


def windowed(directory: Path) -> Path:
    """A model whose attention reaches 300 tokens back, less than any prompt is long."""
    tiny_causal_lm.build(directory)
    set_seed(3)
    config = MistralConfig(
        vocab_size=257,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=4096,
        sliding_window=300,
        initializer_range=0.6,
        bos_token_id=256,
        eos_token_id=256,
    )
    MistralForCausalLM(config).save_pretrained(directory)
    return directory


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """So small a model is slower on several threads, and far slower on busy cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=["completion", "chat", "windowed"])
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param)
    if request.param == "windowed":
        return windowed(path)
    return tiny_causal_lm.build(path, chat=request.param == "chat")


@pytest.fixture
def tokens(directory: Path) -> TransformersTokens:
    return scorer(directory)


def scorer(directory: Path, batch_size: int = 3):
    generator = TransformersGenerator(directory, batch_size=batch_size, device="cpu")
    return TransformersTokens(generator)


def prompts(towns: Sequence[str] = TOWNS) -> tuple[Prompt, ...]:
    """Prompts of unlike length that begin alike."""
    return tuple(
        build_prompt(
            Task.ATOMIC_ANSWER, "Where does Aldo live?", [f"In {town}." + " It rains." * (5 * i)]
        )
        for i, town in enumerate(towns)
    )


def plain_log_probs(directory: Path, tokens: TransformersTokens, ids: list[int]) -> np.ndarray:
    """(len(ids), V) logarithms by one forward pass over one row, no cache, no padding."""
    model = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True).eval()
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1).numpy()


def ids_of(tokens: TransformersTokens, prompt: Prompt) -> list[int]:
    return prompt_tokens(tokens.generator.loaded()[1], prompt)


def test_continuations_equal_plain_forward_passes(
    directory: Path, tokens: TransformersTokens
) -> None:
    _, tokenizer = tokens.generator.loaded()
    is_chat = tokenizer.chat_template is not None
    said = continuation_tokens("Bern is", plain_tokens(tokenizer), is_chat=is_chat)
    (logs,) = tokens.log_probs([ContinuationQuery(prompts(), "Bern is")])
    assert logs.shape == (len(TOWNS), len(said))
    for prompt, row in zip(prompts(), logs, strict=True):
        ids = ids_of(tokens, prompt)
        every = plain_log_probs(directory, tokens, [*ids, *said])
        expected = [every[len(ids) - 1 + i, token] for i, token in enumerate(said)]
        np.testing.assert_allclose(row, expected, atol=2e-4)


def test_neither_batch_size_nor_order_matter(directory: Path) -> None:
    alone, together = scorer(directory, batch_size=1), scorer(directory, batch_size=8)
    (backward,) = together.log_probs([ContinuationQuery(prompts()[::-1], "Bern")])
    (forward,) = alone.log_probs([ContinuationQuery(prompts(), "Bern")])
    np.testing.assert_allclose(forward, backward[::-1], atol=2e-4)


def test_nothing_asked(tokens: TransformersTokens) -> None:
    assert tokens.log_probs([]) == []
    assert tokens.log_probs([ContinuationQuery((), "x")])[0].shape == (0, 1 + tokens_before(tokens))


def tokens_before(tokens: TransformersTokens) -> int:
    """A completion's reply begins with a space, a chat's does not."""
    return 0 if tokens.generator.loaded()[1].chat_template else 1


def test_the_model_is_the_generators(tokens: TransformersTokens) -> None:
    tokens.log_probs([ContinuationQuery(prompts()[:1], "Bern")])
    same = TransformersGenerator(tokens.generator.model_path, batch_size=3, device="cpu")
    assert same.loaded()[0] is tokens.generator.loaded()[0]
    assert tokens.model_id == same.model_id


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_continuation_is_an_error(tokens: TransformersTokens, text: str) -> None:
    with pytest.raises(ModelError, match="without a token"):
        tokens.log_probs([ContinuationQuery(prompts(), text)])


def test_what_does_not_fit_the_model_is_an_error(tmp_path: Path) -> None:
    tokens = scorer(tiny_causal_lm.build(tmp_path, positions=64))
    with pytest.raises(ModelError, match="64 positions"):
        tokens.log_probs([ContinuationQuery(prompts(), "Bern")])
    with pytest.raises(ModelError):
        scorer(tmp_path / "none").log_probs([ContinuationQuery(prompts(), "Bern")])


def test_a_tokenizer_that_adds_spaces_adds_no_second_one() -> None:
    vocabulary = {t: i for i, t in enumerate(["▁:", "▁Bern", "▁", "<end>"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<end>"))
    prepend, replace = normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([prepend, replace])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")
    assert fast(" Bern")["input_ids"] == [2, 1]
    assert continuation_tokens("Bern", plain_tokens(fast)) == [1]


def test_long_continuations_go_a_few_at_a_time(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logits of a large vocabulary would fill the memory."""
    read: list[int] = []
    whole = transformers_tokens._read

    def counting(model, rows, *, keep):
        read.append(len(rows))
        return whole(model, rows, keep=keep)

    monkeypatch.setattr(transformers_tokens, "_read", counting)
    tokens = scorer(directory, batch_size=8)
    (expected,) = tokens.log_probs([ContinuationQuery(prompts(), "Bern is cold")])
    assert read == [5]
    monkeypatch.setattr(transformers_tokens, "_MOST_LOGITS", 2 * (expected.shape[1] + 1) * 257)
    read.clear()
    (found,) = tokens.log_probs([ContinuationQuery(prompts(), "Bern is cold")])
    assert read == [2, 2, 1]
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_replies_of_several_queries_go_together(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    whole = transformers_tokens._read

    def counting(model, rows, *, keep):
        read.append(len(rows))
        return whole(model, rows, keep=keep)

    tokens = scorer(directory, batch_size=8)
    queries = [
        ContinuationQuery((prompt,), said)
        for prompt, said in zip(prompts(), ["a", "Bern is", "no", "cold and wet", "b"], strict=True)
    ]
    alone = [tokens.log_probs([query])[0] for query in queries]
    monkeypatch.setattr(transformers_tokens, "_read", counting)
    for one, other in zip(alone, tokens.log_probs(queries), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4)
    assert read == [5]
