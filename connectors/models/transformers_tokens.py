"""Token probabilities from the model that `transformers_generator` has loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.batching import split
from radarstream.connectors.models.reply_tokens import (
    Tokenize,
    continuation_tokens,
)
from radarstream.connectors.models.transformers_generator import (
    TransformersGenerator,
    check_fits,
    prompt_tokens,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.tokens import ContinuationQuery

Tokens = tuple[int, ...]

_LEAST_SHARED: Final = 16  # shorter common beginnings are not worth a pass of their own
_MOST_LOGITS: Final = 2**26  # of a batch of continuations: 256 MB in single precision
_ALIKE: Final = 64  # prompts with the same first tokens are read together


@dataclass(frozen=True, slots=True)
class TransformersTokens:
    """Tells token probabilities of `generator`'s model, without loading it a second time.

    Prompts run `generator.batch_size` at a time, also those of several queries, and what they begin
    with in common runs once. Raises ModelError from every call.
    """

    generator: TransformersGenerator

    @property
    def model_id(self) -> str:
        """The generator's."""
        return self.generator.model_id

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
                logits = _read(model, [row.tokens for row in part], keep=keep)
                for row, found in zip(part, logits, strict=True):
                    logs[row.query][row.prompt] = _log_of(
                        found[-len(row.reply) - 1 : -1], row.reply
                    )
        return logs

    def _tokens(self, tokenizer: Any, prompt: Prompt) -> list[int]:
        return prompt_tokens(tokenizer, prompt, self.generator.passage_characters)


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


def _read(model: Any, rows: Sequence[Sequence[int]], *, keep: int) -> Any:
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
        _forward(model, beginning, torch.ones_like(beginning), cache, keep=1)
        cache.batch_repeat_interleave(len(rows))
    read, seen = (torch.tensor(one, device=model.device) for one in (ids, mask))
    return _forward(model, read, seen, cache, keep=keep)


def _forward(model: Any, ids: Any, mask: Any, cache: Any, *, keep: int) -> Any:
    """Run `ids`, the last columns of (r, positions) `mask`; the last `keep` logits."""
    import torch

    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    try:
        with torch.inference_mode():
            output = model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
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
