"""How a causal language model of transformers shares its attention among passages."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.local_weights import weights_digest
from radarstream.connectors.models.rendering import (
    RENDERING_VERSION,
    chat_messages,
    completion_text,
    ever_shorter,
)
from radarstream.lab.insights import AttentionQuery, percentages
from radarstream.lab.models.local_network import LocalNetwork
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt

_VERSION: Final = "attention-1"  # part of model_id: what is summed
BoolArray = NDArray[np.bool_]
Span = tuple[int, int]  # characters, start and stop
# A private-use character around a number: no rendering changes it, and no prompt has it.
_MARK: Final = re.compile("\ue000([0-9]+)\ue000")


class TransformersAttention(LocalNetwork):
    """Attention of the tokens of an answer to the tokens of each passage.

    The weights are averaged over all layers and heads, and summed over the tokens of the answer's
    first line and over a passage's tokens. Tokens without a letter or a digit count on neither
    side. Prompts are read one by one, so that no batch changes a result: as chat messages when the
    tokenizer has a template for them, else as few-shot completions. Where a prompt does not fit the
    model, its passages are cut in half until it does.
    """

    @property
    def model_id(self) -> str:
        """What is summed, name and checksum of the weights, and how prompts are rendered."""
        weights = f"{self.directory.name}@{weights_digest(self.directory)}"
        return f"{_VERSION}/transformers/{weights}/{RENDERING_VERSION}"

    def attention(self, queries: Sequence[AttentionQuery]) -> list[FloatArray]:
        """Per query (n,) percentages, in order. Raises ModelError."""
        if not queries:
            return []
        with self._lock:
            model, tokenizer = self.network()
            return [self._shares(model, tokenizer, query) for query in queries]

    def _read(self, directory: Path) -> tuple[Any, Any]:
        """Model and tokenizer."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        if not tokenizer.is_fast:
            raise ValueError("the tokenizer does not tell where in a text its tokens are")
        model: Any = AutoModelForCausalLM.from_pretrained(
            directory,
            local_files_only=True,
            dtype=torch.float32 if device == "cpu" else torch.bfloat16,
            attn_implementation="eager",  # others do not tell their weights
        )
        return model.to(device).eval(), tokenizer

    def _shares(self, model: Any, tokenizer: Any, query: AttentionQuery) -> FloatArray:
        count = len(query.prompt.passages)
        read = self._tokens(model, tokenizer, query)
        asking = read.words.copy()
        asking[: read.prompt_tokens] = False
        if not asking.any() or not read.words[: read.prompt_tokens].any():
            return np.zeros(count)
        weights = attention_of(model, read.ids, read.prompt_tokens)
        attended = weights[asking[read.prompt_tokens :]].sum(axis=0) * read.words
        return percentages(np.array([attended[read.within(span)].sum() for span in read.passages]))

    def _tokens(self, model: Any, tokenizer: Any, query: AttentionQuery) -> "_Read":
        """The tokens of prompt and answer, passages cut until all fits. Raises ModelError."""
        limit = getattr(model.config, "max_position_embeddings", None)
        for prompt in ever_shorter(query.prompt):
            read = _tokens(tokenizer, prompt, query.first_line)
            if limit is None or len(read.ids) <= limit:
                return read
        raise ModelError(f"a prompt and its answer do not fit {limit} positions")


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A prompt and its answer as tokens; `words` are those with a letter or a digit. `places` are
    (t, 2) characters of the tokens, `passages` of the passages.
    """

    ids: list[int]
    places: NDArray[np.intp]
    words: BoolArray
    prompt_tokens: int
    passages: list[Span]

    def within(self, span: Span) -> BoolArray:
        """(t,) whether each token has a character of the span."""
        starts, stops = self.places.T
        return np.asarray((starts < span[1]) & (stops > span[0]))


def prompt_text(tokenizer: Any, prompt: Prompt) -> str:
    """A prompt as text: chat messages if the tokenizer has a template for them."""
    if getattr(tokenizer, "chat_template", None):
        messages = chat_messages(prompt)
        return str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )
    return completion_text(prompt)


def _tokens(tokenizer: Any, prompt: Prompt, reply: str) -> _Read:
    text, passages = passage_places(prompt, lambda p: prompt_text(tokenizer, p))
    is_chat = bool(getattr(tokenizer, "chat_template", None))
    whole = text + (reply if is_chat else f" {reply}")
    told = tokenizer(whole, add_special_tokens=not is_chat, return_offsets_mapping=True)
    places = np.array(told["offset_mapping"], np.intp).reshape(-1, 2)
    words = np.array([is_word(whole[start:stop]) for start, stop in places], np.bool_)
    prompt_tokens = int(np.count_nonzero(places[:, 1] <= len(text)))
    return _Read(list(told["input_ids"]), places, words, prompt_tokens, passages)


def passage_places(prompt: Prompt, render: Callable[[Prompt], str]) -> tuple[str, list[Span]]:
    r"""The text of a prompt, and the span of each passage in it, in the order of the prompt.

    `render` is asked twice, once with a mark in place of every passage: what stands between two
    marks stands between the passages, too. It has line breaks, which no rendered passage has, so
    that a passage cannot pretend to end. Raises ModelError where a passage is not found.

    >>> from radarstream.schemas.prompt import Task
    >>> prompt = Prompt(Task.BARE_TEXT, "", (), "", ("one", "two"), 1)
    >>> passage_places(prompt, lambda p: "\n".join(["A:", *reversed(p.passages), "B"]))
    ('A:\ntwo\none\nB', [(7, 10), (3, 6)])
    """
    marks = tuple(f"\ue000{place}\ue000" for place in range(len(prompt.passages)))
    pieces = _MARK.split(render(replace(prompt, passages=marks)))
    between, order = pieces[::2], [int(place) for place in pieces[1::2]]
    text = render(prompt)
    if sorted(order) != list(range(len(marks))) or not text.startswith(between[0]):
        raise ModelError("the passages of a prompt are not in the text that the model reads")
    spans: list[Span] = [(0, 0)] * len(marks)
    at = len(between[0])
    for place, behind in zip(order, between[1:], strict=True):
        last = place == order[-1]
        stop = len(text) - len(behind) if last else text.find(behind, at)
        if stop < at or not text.startswith(behind, stop):
            raise ModelError(f"passage {place + 1} of a prompt is not where it should be")
        spans[place] = (at, stop)
        at = stop + len(behind)
    return text, spans


def is_word(text: str) -> bool:
    """Whether there is a letter, a mark of one, or a digit.

    >>> [is_word(text) for text in (" Rome", "3", "…!", "")]
    [True, True, False, False]
    """
    return any(category(character)[0] in "LMN" for character in text)


def attention_of(model: Any, ids: Sequence[int], prompt_tokens: int) -> FloatArray:
    """(t, T) the attention of the last t of T tokens, `prompt_tokens` fewer, to all T. The mean
    over layers and heads. The prompt is read first, so that no more than t rows of each matrix are
    kept. Raises ModelError.
    """
    import torch
    from transformers import DynamicCache

    rows = torch.tensor([list(ids)], device=model.device)
    cache = DynamicCache()
    try:
        with torch.inference_mode():
            model(input_ids=rows[:, :prompt_tokens], past_key_values=cache, use_cache=True)
            told = model(
                input_ids=rows[:, prompt_tokens:],
                past_key_values=cache,
                use_cache=True,
                output_attentions=True,
            ).attentions
    except (RuntimeError, ValueError, IndexError, TypeError) as error:  # includes out of memory
        raise ModelError(f"reading attention failed: {error}") from error
    if not told or any(layer is None or layer.shape[-1] != len(ids) for layer in told):
        raise ModelError("the model does not tell its attention to every token")
    mean = torch.stack([layer[0].double().mean(dim=0) for layer in told]).mean(dim=0)
    weights: FloatArray = mean.cpu().numpy()
    if not np.isfinite(weights).all():
        raise ModelError("the model's attention is not finite")
    return weights
