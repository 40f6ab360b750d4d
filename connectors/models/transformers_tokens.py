"""Token probabilities from the model that `transformers_generator` has loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from threading import Lock
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.batching import by_length, split
from radarstream.connectors.models.reply_tokens import (
    Tokenize,
    continuation_tokens,
    refusing_tokens,
)
from radarstream.connectors.models.transformers_generator import (
    TransformersGenerator,
    check_fits,
    prompt_tokens,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

Tokens = tuple[int, ...]
Key = tuple[TransformersGenerator, tuple[Tokens, ...], Tokens]  # model, prompts, reply so far

_LEAST_SHARED: Final = 16  # shorter common beginnings are not worth a pass of their own
_MOST_LOGITS: Final = 2**26  # of a batch of continuations: 256 MB in single precision
_ALIKE: Final = 64  # prompts with the same first tokens are read together
_STALE: Final = 8  # calls after which a half-written reply counts as given up


@dataclass(frozen=True, slots=True)
class TransformersTokens:
    """Tells token probabilities of `generator`'s model, without loading it a second time.

    Prompts run `generator.batch_size` at a time, also those of several queries, and what they begin
    with in common runs once. The attention of replies in progress is kept, up to `kept_positions`
    token positions in the process, so that the next token costs one position a prompt. Raises
    ModelError from every call.
    """

    generator: TransformersGenerator
    kept_positions: int = 65_536

    @property
    def model_id(self) -> str:
        """The generator's."""
        return self.generator.model_id

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query, in order."""
        if not queries:
            return []
        model, tokenizer = self.generator.loaded()
        stops = stop_tokens(model, tokenizer)
        refusals = refusing_tokens(plain_tokens(tokenizer), tokenizer.decode)
        _ONGOING.begin_call()
        answers = []
        for query in queries:
            rows = [self._tokens(tokenizer, prompt) for prompt in query.prompts]
            log_probs = np.empty((len(rows), _vocabulary(model)))
            for part in by_length([len(row) for row in rows], self.generator.batch_size):
                prompts = tuple(tuple(rows[index]) for index in part)
                log_probs[part] = self._next(model, prompts, query.prefix)
            text = tokenizer.decode(list(query.prefix), skip_special_tokens=True)
            answers.append(NextTokenRows(log_probs, text, stops, refusals))
        return answers

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms, one column per token of its continuation."""
        if not queries:
            return []
        model, tokenizer = self.generator.loaded()
        tokenize, is_chat = plain_tokens(tokenizer), bool(getattr(tokenizer, "chat_template", None))
        said = [continuation_tokens(q.continuation, tokenize, is_chat=is_chat) for q in queries]
        logs = [np.empty((len(q.prompts), len(s))) for q, s in zip(queries, said, strict=True)]
        asked: dict[Tokens, list[_Row]] = {}
        for place, query in enumerate(queries):
            for position, prompt in enumerate(query.prompts):
                tokens = self._tokens(tokenizer, prompt)
                reply = said[place]
                row = _Row([*tokens, *reply], reply, place, position)
                asked.setdefault(tuple(tokens[:_ALIKE]), []).append(row)
        most = _MOST_LOGITS // _vocabulary(model)

        def is_full(part: list[_Row], row: _Row) -> bool:
            logits = max(len(other.reply) for other in [*part, row]) + 1
            return len(part) == self.generator.batch_size or (len(part) + 1) * logits > most

        for rows in asked.values():
            for part in split(sorted(rows, key=lambda r: len(r.tokens), reverse=True), is_full):
                keep = max(len(row.reply) for row in part) + 1
                logits, _ = _read(model, [row.tokens for row in part], keep=keep)
                for row, found in zip(part, logits, strict=True):
                    logs[row.query][row.prompt] = _log_of(
                        found[-len(row.reply) - 1 : -1], row.reply
                    )
        return logs

    def _tokens(self, tokenizer: Any, prompt: Prompt) -> list[int]:
        return prompt_tokens(tokenizer, prompt, self.generator.passage_characters)

    def _next(self, model: Any, prompts: tuple[Tokens, ...], prefix: Tokens) -> FloatArray:
        """(r, V) logarithms of the token after each prompt and `prefix`."""
        read = _ONGOING.take((self.generator, prompts, prefix[:-1])) if prefix else None
        if read is None:
            rows = [[*prompt, *prefix] for prompt in prompts]
            logits, read = _read(model, rows, keep=1)
        else:
            logits, read = _read_one_more(model, read, prefix[-1])
        _ONGOING.keep((self.generator, prompts, prefix), read, self.kept_positions)
        logs: FloatArray = logits[:, -1].double().log_softmax(dim=-1).cpu().numpy()
        return logs


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """What the model has read of a batch: its attention cache and (r, positions) mask."""

    cache: Any
    mask: Any


class _Ongoing:
    """Replies in progress. Those that nobody goes on with go after a few calls.

    A full store takes nothing more: many queries that take turns would otherwise throw each other
    out just before their turn.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Key, tuple[_Read, int]] = {}
        self._calls = 0

    def begin_call(self) -> None:
        """Count a call and forget replies that were not continued for some."""
        with self._lock:
            self._calls += 1
            oldest = self._calls - _STALE
            self._kept = {key: kept for key, kept in self._kept.items() if kept[1] > oldest}

    def take(self, key: Key) -> _Read | None:
        """Remove and return what is kept: reading on changes it."""
        with self._lock:
            return self._kept.pop(key, (None, 0))[0]

    def keep(self, key: Key, read: _Read, limit: int) -> None:
        """Keep `read` if no more than `limit` positions are kept then."""
        with self._lock:
            used = sum(kept.mask.numel() for kept, _ in self._kept.values())
            if used + read.mask.numel() <= limit:
                self._kept[key] = (read, self._calls)


_ONGOING: Final = _Ongoing()


@dataclass(frozen=True, slots=True)
class _Row:
    """A prompt of a query with the reply behind it, as tokens."""

    tokens: list[int]
    reply: list[int]
    query: int
    prompt: int


def plain_tokens(tokenizer: Any) -> Tokenize:
    """Tokens of a text, without those that begin or end every text."""
    return lambda text: list(tokenizer(text, add_special_tokens=False)["input_ids"])


def stop_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Tokens that end a reply."""
    configured = getattr(model.generation_config, "eos_token_id", None)
    listed = configured if isinstance(configured, list) else [configured]
    return frozenset(t for t in (*listed, tokenizer.eos_token_id) if t is not None)


def _read(model: Any, rows: Sequence[Sequence[int]], *, keep: int) -> tuple[Any, _Read]:
    """Read token rows of any lengths; the last `keep` logits of each, (r, keep, V)."""
    import torch
    from transformers import DynamicCache

    check_fits(model, max(map(len, rows)))
    shared = _shared(model, rows, keep)
    cache = DynamicCache(config=model.config)
    rest = [list(row[shared:]) for row in rows]
    longest = max(map(len, rest))
    padding = [longest - len(row) for row in rest]
    ids = [[0] * n + row for n, row in zip(padding, rest, strict=True)]  # the mask hides padding
    mask = [[1] * shared + [0] * n + [1] * (longest - n) for n in padding]
    if shared:
        beginning = torch.tensor([rows[0][:shared]], device=model.device)
        _forward(model, beginning, _Read(cache, torch.ones_like(beginning)), keep=1)
        cache.batch_repeat_interleave(len(rows))
    read = _Read(cache, torch.tensor(mask, device=model.device))
    return _forward(model, torch.tensor(ids, device=model.device), read, keep=keep), read


def _read_one_more(model: Any, read: _Read, token: int) -> tuple[Any, _Read]:
    """Read the same token in every row; the logits after it, (r, 1, V)."""
    import torch

    check_fits(model, int(read.mask.sum(dim=1).max()) + 1)
    one = torch.ones_like(read.mask[:, :1])
    further = _Read(read.cache, torch.cat([read.mask, one], dim=1))
    return _forward(model, one * token, further, keep=1), further


def _forward(model: Any, ids: Any, read: _Read, *, keep: int) -> Any:
    """Run `ids`, the last columns of `read`, and return the last `keep` logits."""
    import torch

    positions = (read.mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    try:
        with torch.inference_mode():
            output = model(
                input_ids=ids,
                attention_mask=read.mask,
                position_ids=positions,
                past_key_values=read.cache,
                use_cache=True,
                logits_to_keep=keep,
            )
    except (RuntimeError, ValueError, IndexError, TypeError) as error:  # includes out of memory
        raise ModelError(f"reading token probabilities failed: {error}") from error
    return output.logits[:, -keep:]


def _shared(model: Any, rows: Sequence[Sequence[int]], keep: int) -> int:
    """How many first tokens of the rows to read once for all.

    None for one row, and none where padding between the shared and the own part would push tokens
    out of a model's attention window.
    """
    window = getattr(model.config.get_text_config(), "sliding_window", None)
    if len(rows) == 1 or (window is not None and max(map(len, rows)) > window):
        return 0
    columns = zip(*rows, strict=False)
    common = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    shared = min(common, min(map(len, rows)) - keep)
    return shared if shared >= _LEAST_SHARED else 0


def _log_of(logits: Any, tokens: Sequence[int]) -> FloatArray:
    """(t,) logarithms of the probability of each token, from (t, V) logits."""
    import torch

    wanted = torch.tensor(tokens, device=logits.device)[:, None]
    exact = logits.double()
    logs: FloatArray = (exact.gather(1, wanted)[:, 0] - exact.logsumexp(dim=-1)).cpu().numpy()
    return logs


def _vocabulary(model: Any) -> int:
    return int(model.get_output_embeddings().weight.shape[0])
