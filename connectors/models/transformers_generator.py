"""Text generation with `transformers` on a GPU, or on the CPU where there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

from radarstream.connectors.models.batching import Outcome, in_order, places, split
from radarstream.connectors.models.local_weights import weights_digest
from radarstream.connectors.models.rendering import chat_messages, completion_text, rendering_name
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt

_LOADED: Final[dict["TransformersGenerator", tuple[Any, Any]]] = {}
_LOADING: Final = Lock()


@dataclass(frozen=True, slots=True)
class TransformersGenerator:
    """A causal language model in a local directory, greedy.

    Prompts become chat messages when the tokenizer has a chat template, few-shot completions
    otherwise, where `passage_characters` are shown of each of several passages, by default those of
    the task. `batch_size` prompts of similar length run together; `device` is a torch device, by
    default CUDA where present. An `eager` one computes attention so that its weights can be told.
    The object holds settings only; the model is loaded by the first
    `complete` and shared in the process. Raises ModelError from `complete`.
    """

    model_path: Path
    batch_size: int = 16
    device: str | None = None
    passage_characters: int | None = None
    eager: bool = False

    @property
    def model_id(self) -> str:
        """Directory name and checksum of its files, sampling, and how prompts are rendered.

        Raises ModelError without a directory.
        """
        if not self.model_path.is_dir():
            raise ModelError(f"no model directory at {self.model_path}")
        checksum = weights_digest(self.model_path)
        rendering = rendering_name(self.passage_characters)
        return f"transformers/{self.model_path.name}@{checksum}/greedy/{rendering}"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order; equal prompts are computed once."""
        return in_order(self.complete_each(prompts), len(prompts))

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield each prompt's index with its completion, batch by batch. Raises ModelError."""
        if not prompts:
            return
        model, tokenizer = self.loaded()
        tokens = {
            prompt: prompt_tokens(tokenizer, prompt, self.passage_characters) for prompt in prompts
        }
        where = places(prompts)
        # Longest first, so that a batch that does not fit in memory fails at once.
        ordered = sorted(where, key=lambda p: (p.max_tokens, len(tokens[p])), reverse=True)
        for batch in split(ordered, self._is_full):
            sequences = [tokens[prompt] for prompt in batch]
            replies = _generate(model, tokenizer, sequences, batch[0].max_tokens)
            for prompt, reply in zip(batch, replies, strict=True):
                yield from ((index, reply) for index in where[prompt])

    def _is_full(self, batch: list[Prompt], prompt: Prompt) -> bool:
        return len(batch) == self.batch_size or batch[0].max_tokens != prompt.max_tokens

    def loaded(self) -> tuple[Any, Any]:
        """Model and tokenizer, loaded once in the process. Raises ModelError."""
        with _LOADING:
            if self not in _LOADED:
                _LOADED[self] = _load(self)
            return _LOADED[self]


def _load(settings: TransformersGenerator) -> tuple[Any, Any]:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise ModelError("transformers is not installed: install the extra `gpu`") from error
    logging.disable_progress_bar()  # type: ignore[no-untyped-call] # would run through the logs
    if not settings.model_path.is_dir():
        raise ModelError(f"no model directory at {settings.model_path}")
    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            settings.model_path, local_files_only=True, padding_side="left"
        )
        model: Any = AutoModelForCausalLM.from_pretrained(
            settings.model_path,
            local_files_only=True,
            dtype=dtype,
            attn_implementation="eager" if settings.eager else None,
        )
        model.to(device).eval()
        unmap_file(model)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ModelError(f"cannot load {settings.model_path}: {error}") from error
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise ModelError(f"the tokenizer of {settings.model_path} has no end-of-text token")
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def unmap_file(model: Any) -> None:
    """Copy the vectors, which may be views of the mapped file: one keeps all of it in memory."""
    for weight in (*model.parameters(), *model.buffers()):
        if weight.ndim < 2:
            weight.data = weight.data.clone()


def prompt_tokens(
    tokenizer: Any, prompt: Prompt, passage_characters: int | None = None
) -> list[int]:
    """A prompt as the model reads it, up to where its reply begins."""
    is_chat = bool(getattr(tokenizer, "chat_template", None))
    text = prompt_text(tokenizer, prompt, passage_characters)
    return list(tokenizer(text, add_special_tokens=not is_chat)["input_ids"])


def prompt_text(tokenizer: Any, prompt: Prompt, passage_characters: int | None = None) -> str:
    """A prompt as text: chat messages if the tokenizer has a template for them."""
    if getattr(tokenizer, "chat_template", None):
        messages = chat_messages(prompt)
        return str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )
    return completion_text(prompt, passage_characters)


def _generate(
    model: Any, tokenizer: Any, sequences: list[list[int]], max_tokens: int
) -> list[Completion]:
    """Continue token sequences greedily, up to `max_tokens` or the end of text."""
    import torch

    longest = max(map(len, sequences))
    check_fits(model, longest + max_tokens)
    batch = tokenizer.pad({"input_ids": sequences}, padding=True, return_tensors="pt")
    try:
        with torch.inference_mode():
            output = model.generate(
                **batch.to(model.device),
                max_new_tokens=max_tokens,
                do_sample=False,
                num_beams=1,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=tokenizer.pad_token_id,
            )
    except (RuntimeError, ValueError, IndexError) as error:  # includes CUDA out of memory
        raise ModelError(f"generation failed: {error}") from error
    replies = output[:, longest:].tolist()
    return [
        Completion(
            text=tokenizer.decode(reply, skip_special_tokens=True),
            prompt_tokens=len(sequence),
            completion_tokens=sum(token != tokenizer.pad_token_id for token in reply),
        )
        for sequence, reply in zip(sequences, replies, strict=True)
    ]


def check_fits(model: Any, tokens: int) -> None:
    """Raise ModelError when the model cannot read and write so many tokens together."""
    limit = getattr(model.config, "max_position_embeddings", None)
    if limit is not None and tokens > limit:
        raise ModelError(f"a prompt and its reply of {tokens} tokens do not fit {limit} positions")
