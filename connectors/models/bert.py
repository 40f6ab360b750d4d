"""The forward pass of a small BERT in numpy, from local weights.

Devlin et al., "BERT" (2019), as sentence-transformers runs it for all-MiniLM-L6-v2: post-norm
layers, exact GELU, mean over the tokens of a text. It agrees with torch to 1e-6 per component
and needs less than half of its CPU time (`tests/benchmarks/bench_embeddings.py`).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.batching import split
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray

Array = NDArray[np.float32]

_MOST_TOKENS: Final = 4096  # of a batch with padding, for at most about 150 MB of memory
_SETTINGS: Final = {"model_type": "bert", "hidden_act": "gelu"}


class Bert:
    """A BERT model with mean pooling.

    `directory` has config.json, tokenizer.json, sentence_bert_config.json and model.safetensors.
    Raises ConfigurationError for other architectures, ImportError without the libraries, OSError
    and ValueError for unreadable files.
    """

    def __init__(self, directory: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        config = json.loads((directory / "config.json").read_bytes())
        if any(config.get(name) != value for name, value in _SETTINGS.items()):
            raise ConfigurationError(f"the model in {directory} is not a BERT with exact GELU")
        longest = json.loads((directory / "sentence_bert_config.json").read_bytes())
        weights = load_file(directory / "model.safetensors")
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        self._weights: dict[str, Array] = {
            name: np.asarray(values, np.float32)
            for name, values in weights.items()
            if values.dtype.kind == "f"
        }
        self._layers = range(int(config["num_hidden_layers"]))
        self._tokenizer: Any = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(int(longest["max_seq_length"]))
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return (m, d) float64 means over the tokens of each text, not normalised."""
        tokens = [read.ids for read in self._tokenizer.encode_batch(list(texts))]
        rows = np.empty((len(tokens), self._weights["embeddings.LayerNorm.weight"].size))
        lengths = [len(row) for row in tokens]
        shortest_first = sorted(range(len(lengths)), key=lengths.__getitem__)
        for part in split(
            shortest_first, lambda part, index: (len(part) + 1) * lengths[index] > _MOST_TOKENS
        ):
            rows[part] = self._means([tokens[index] for index in part])
        return rows

    def _means(self, rows: Sequence[Sequence[int]]) -> Array:
        """Return the mean token states of rows, padded to the longest."""
        lengths = np.array([len(row) for row in rows])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(mask.shape, np.intp)
        ids[mask] = np.concatenate(rows)
        w = self._weights
        states = w["embeddings.word_embeddings.weight"][ids]
        states += w["embeddings.position_embeddings.weight"][: mask.shape[1]]
        states += w["embeddings.token_type_embeddings.weight"][0]
        states = self._norm(states, "embeddings.LayerNorm")
        for number in self._layers:
            states = self._layer(states, mask, f"encoder.layer.{number}.")
        return np.asarray((states * mask[:, :, None]).sum(axis=1) / lengths[:, None], np.float32)

    def _layer(self, states: Array, mask: NDArray[np.bool_], name: str) -> Array:
        """Apply attention, then two linear maps, each added to its input and normalised."""
        attended = self._linear(self._attend(states, mask, name), f"{name}attention.output.dense")
        states = self._norm(states + attended, f"{name}attention.output.LayerNorm")
        wide = _gelu(self._linear(states, f"{name}intermediate.dense"))
        return self._norm(
            states + self._linear(wide, f"{name}output.dense"), f"{name}output.LayerNorm"
        )

    def _attend(self, states: Array, mask: NDArray[np.bool_], name: str) -> Array:
        """Return the attention of all heads, (m, n, d)."""
        m, n, d = states.shape

        def heads(part: str) -> Array:
            mapped = self._linear(states, f"{name}attention.self.{part}")
            return mapped.reshape(m, n, self._heads, -1).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2)
        scores /= np.float32((d // self._heads) ** 0.5)
        scores += np.where(mask, np.float32(0), np.float32(-np.inf))[:, None, None]
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ heads("value")).transpose(0, 2, 1, 3).reshape(m, n, d))

    def _linear(self, states: Array, name: str) -> Array:
        flat = states.reshape(-1, states.shape[-1]) @ self._weights[f"{name}.weight"].T
        flat += self._weights[f"{name}.bias"]
        return np.asarray(flat.reshape(*states.shape[:-1], -1))

    def _norm(self, states: Array, name: str) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        centred /= np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + self._epsilon)
        centred *= self._weights[f"{name}.weight"]
        centred += self._weights[f"{name}.bias"]
        return np.asarray(centred)


def _gelu(values: Array) -> Array:
    """Apply GELU, with erf by Abramowitz and Stegun 7.1.26 (error at most 1.5e-7)."""
    size = np.abs(values) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    tail = t * np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += np.float32(factor)
        tail *= t
    tail *= np.exp(-size * size)
    return np.asarray(np.float32(0.5) * values * (1 + np.copysign(1 - tail, values)))
