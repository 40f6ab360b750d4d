"""Gradients of sentence embeddings with respect to the words of a text: what an attacker who owns
the retriever's weights can compute.

Attacks read tens of thousands of texts, so the embeddings come from torch, too: for many texts of
one length it needs two thirds of the time of the numpy network. Both agree to 1e-6 a component.
Only encoders with a WordPiece vocabulary, such as the BERT family, are read.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.batching import by_length
from radarstream.connectors.models.local_weights import forbid_hub_access
from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray

_BATCH: Final = 64  # texts that are read at once
CONTINUES: Final = "##"  # begins a token that goes on within a word
_SHORTEST: Final = 2  # letters of a word that may stand in for another


class TokenGradients:
    """An encoder whose weights are known; loads on first use.

    Parameters
    ----------
    model: directory or cached hub name of a sentence-transformers model with mean pooling; None
        means the installed MiniLM.
    """

    def __init__(self, model: str | Path | None = None) -> None:
        self._embedder = SentenceEmbedder(model)
        self._lock = Lock()

    @property
    def model_id(self) -> str:
        """The embedder's: it is the same network."""
        return self._embedder.model_id

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) float64 rows of unit length, in order. Raises ModelError."""
        import torch

        rows = [self._framed(tokens) for tokens in self.tokens(texts)]
        found = np.empty((len(rows), self.substitute_rows.shape[1]))
        for part in by_length([len(row) for row in rows], _BATCH):
            with self._failing(len(part)), torch.inference_mode():
                ids, mask = _padded([rows[place] for place in part])
                words = self._network.get_input_embeddings()(ids)
                found[part] = self._unit(words, mask).numpy()
        return found

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens that each text is read as, special ones left out, none cut off."""
        read = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [tuple(each.ids) for each in read]

    def text(self, tokens: Sequence[int]) -> str:
        """Tokens as words between spaces."""
        words = " ".join(self._tokenizer.id_to_token(token) for token in tokens)
        return words.replace(f" {CONTINUES}", "")

    @cached_property
    def substitutes(self) -> NDArray[np.intp]:
        """(s,) the tokens that are whole words of ASCII letters, in order."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        special = self._tokenizer.get_added_tokens_decoder()
        return np.array(
            sorted(
                token
                for word, token in vocabulary.items()
                if word.isascii() and word.isalpha() and len(word) >= _SHORTEST
                if token not in special
            ),
            np.intp,
        )

    @cached_property
    def substitute_rows(self) -> FloatArray:
        """(s, d) word embeddings of the substitutes."""
        weights = self._network.get_input_embeddings().weight
        return np.asarray(weights.detach().numpy()[self.substitutes], np.float64)

    def gradients(self, texts: Sequence[str], directions: FloatArray) -> list[FloatArray]:
        """Per text (tokens, d): the gradient of the inner product of its unit row with its row of
        `directions`, (m, d), with respect to the word embedding of each token.

        Tokens beyond those that the network reads are left out. Raises ModelError.
        """
        import torch

        rows = [self._framed(tokens) for tokens in self.tokens(texts)]
        if not rows:
            return []
        with self._failing(len(rows)):
            ids, mask = _padded(rows)
            words = self._network.get_input_embeddings()(ids).requires_grad_()
            wanted = torch.as_tensor(np.asarray(directions, np.float32))
            (found,) = torch.autograd.grad((self._unit(words, mask) * wanted).sum(), words)
        values = np.asarray(found.numpy(), np.float64)
        return [each[1 : len(row) - 1] for each, row in zip(values, rows, strict=True)]

    @contextmanager
    def _failing(self, count: int) -> Iterator[None]:
        """One call of the network at a time; what torch raises becomes a ModelError."""
        with self._lock:
            try:
                yield
            except RuntimeError as error:
                raise ModelError(f"reading {count} texts in torch failed: {error}") from error

    def _unit(self, words: Any, mask: Any) -> Any:
        """Mean token states of word embeddings, brought to unit length."""
        import torch

        states = self._network(inputs_embeds=words, attention_mask=mask.long()).last_hidden_state
        means = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return torch.nn.functional.normalize(means, dim=1)

    def _framed(self, tokens: Sequence[int]) -> list[int]:
        """What the network reads: tokens between the two that frame a text."""
        first, last = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        return [first, *tokens[: self._longest - 2], last]

    @cached_property
    def _longest(self) -> int:
        file = self._embedder.directory / "sentence_bert_config.json"
        return int(json.loads(file.read_bytes())["max_seq_length"])

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer, models

        tokenizer = Tokenizer.from_file(str(self._embedder.directory / "tokenizer.json"))
        if not isinstance(tokenizer.model, models.WordPiece):
            raise ConfigurationError(
                f"white-box attacks read WordPiece vocabularies; {self.model_id} has another"
            )
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _network(self) -> Any:
        forbid_hub_access()
        try:
            from transformers import AutoModel
            from transformers.utils import logging
        except ImportError as error:
            raise ConfigurationError(
                f"{error.name} is missing: pip install 'radarstream[gpu]'"
            ) from error
        # No report that the pooling layer, which is not used, is missing.
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        try:
            network = AutoModel.from_pretrained(
                str(self._embedder.directory), local_files_only=True, add_pooling_layer=False
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"cannot load {self.model_id} in torch: {error}") from error
        return network.eval().requires_grad_(requires_grad=False)


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """(m, n) tokens, padded to the longest row, and which of them are some."""
    import torch

    lengths = torch.tensor([len(row) for row in rows])
    mask = torch.arange(int(lengths.max()))[None] < lengths[:, None]
    ids = torch.zeros(mask.shape, dtype=torch.long)
    ids[mask] = torch.tensor([token for row in rows for token in row])
    return ids, mask
