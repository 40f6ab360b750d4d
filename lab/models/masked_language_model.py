"""How probable hidden words of a text are, told by a masked language model of transformers.

GMTP hides one part of a passage at a time: words that an attacker searched for are hardly ever what
a language model expects in their place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.batching import split
from radarstream.connectors.models.local_weights import weights_digest
from radarstream.lab.insights import MaskedQuery
from radarstream.lab.models.local_network import LocalNetwork
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray

LONGEST: Final = 512  # tokens that are read around a hidden part
_MOST_TOKENS: Final = 1024  # of a batch: each costs a row of the whole vocabulary


@dataclass(frozen=True, slots=True)
class _Hidden:
    """A text with the tokens of one span hidden: `ids` as read, and what stood at `places`."""

    ids: list[int]
    places: list[int]
    truth: list[int]


class MaskedLanguageModel(LocalNetwork):
    """A masked language model with a fast tokenizer.

    A span hides every token that it touches, all at once; its probability is the geometric mean of
    those of the tokens, 1 where it touches none. Of a text longer than the model reads, the tokens
    around the span are read.
    """

    @property
    def model_id(self) -> str:
        """Fingerprint of the weights."""
        return f"masked-language-model@{weights_digest(self.directory)}"

    def masked(self, queries: Sequence[MaskedQuery]) -> list[FloatArray]:
        """Per query (s,) probabilities, in order. Raises ModelError."""
        if not queries:
            return []
        with self.failing("reading hidden words"):
            self._tokenizer, self._model, self._longest = self.network()
            hidden = [list(self._hidden(query)) for query in queries]
            found = iter(self._probabilities([each for row in hidden for each in row]))
        return [np.array([next(found) for _ in row], np.float64) for row in hidden]

    def _hidden(self, query: MaskedQuery) -> Iterator[_Hidden]:
        """The query's text once for each span, cut to what the model reads."""
        told = self._tokenizer(query.text, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = list(told["input_ids"]), told["offset_mapping"]
        first, last = self._around()
        room = self._longest - len(first) - len(last)
        for start, stop in query.spans:
            touched = [i for i, (a, b) in enumerate(offsets) if a < stop and b > start][:room]
            middle = (touched[0] + touched[-1]) // 2 if touched else 0
            begin = max(0, min(middle - room // 2, len(ids) - room))
            read = ids[begin : begin + room]
            for place in touched:
                read[place - begin] = self._tokenizer.mask_token_id
            places = [place - begin + len(first) for place in touched]
            yield _Hidden(first + read + last, places, [ids[place] for place in touched])

    def _around(self) -> tuple[list[int], list[int]]:
        """The special tokens before and after a text."""
        told = self._tokenizer("a", return_special_tokens_mask=True)
        ids, special = list(told["input_ids"]), list(told["special_tokens_mask"])
        own = special.index(0)
        return ids[:own], ids[own + special[own:].count(0) :]

    def _probabilities(self, hidden: Sequence[_Hidden]) -> FloatArray:
        """(s,) probabilities of hidden parts, those of similar length together."""
        found = np.ones(len(hidden))
        order = sorted(
            (i for i, h in enumerate(hidden) if h.places), key=lambda i: len(hidden[i].ids)
        )
        for part in split(
            order, lambda part, i: (len(part) + 1) * len(hidden[i].ids) > _MOST_TOKENS
        ):
            found[part] = self._forward([hidden[index] for index in part])
        if not np.isfinite(found).all():
            raise ModelError("the masked language model returned a probability that is not finite")
        return np.minimum(found, 1.0)

    def _forward(self, batch: Sequence[_Hidden]) -> list[float]:
        import torch

        rows = self._tokenizer.pad(
            [{"input_ids": each.ids, "attention_mask": [1] * len(each.ids)} for each in batch],
            return_tensors="pt",
        )
        with torch.inference_mode():
            logits = self._model(**rows.to(self._model.device)).logits
        means = []
        for row, each in zip(logits, batch, strict=True):
            logs = row[each.places].double().log_softmax(dim=-1)
            means.append(logs[range(len(each.truth)), each.truth].mean().exp().item())
        return means

    def _read(self, directory: Path) -> tuple[Any, Any, int]:
        """The tokenizer, the model, and how many tokens it reads."""
        import torch
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer = AutoTokenizer.from_pretrained(str(directory), local_files_only=True)
        model = AutoModelForMaskedLM.from_pretrained(str(directory), local_files_only=True)
        if tokenizer.mask_token_id is None or not tokenizer.is_fast:
            raise ValueError(
                "its tokenizer has no mask token, or does not tell where in a text its tokens are"
            )
        # RoBERTa's positions begin behind the number of its padding token.
        positions = int(getattr(model.config, "max_position_embeddings", LONGEST))
        if "roberta" in model.config.model_type:
            positions -= (tokenizer.pad_token_id or 0) + 1
        longest = min(LONGEST, positions, int(tokenizer.model_max_length))
        return tokenizer, model.to(device).eval(), longest
