"""Gradients of sentence embeddings with respect to the words of a text: what an attacker who owns
the retriever's weights can compute.

Attacks read tens of thousands of texts, so the embeddings come from torch, too: for many texts of
one length it needs two thirds of the time of the numpy network. Both agree to 1e-6 a component.
Only encoders with a vocabulary of words and their pieces, such as the BERT family, are read.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.batching import by_length
from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.lab.models.gradient_encoder import GradientEncoder
from radarstream.schemas.errors import ConfigurationError
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
        self._encoder = GradientEncoder(model)

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
            with self._encoder.failing("reading texts in torch"), torch.inference_mode():
                found[part] = self._unit([rows[place] for place in part]).double().cpu()
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
        weights = self._network.words.weight
        return np.asarray(weights.detach().cpu().numpy()[self.substitutes], np.float64)

    def gradients(self, texts: Sequence[str], directions: FloatArray) -> list[FloatArray]:
        """Per text (tokens, d): the gradient of the inner product of its unit row with its row of
        `directions`, (m, d), with respect to the word embedding of each token. Tokens beyond those
        that the network reads are left out. Raises ModelError.
        """
        import torch

        from radarstream.lab.models.gradient_network import watched

        rows = [self._framed(tokens) for tokens in self.tokens(texts)]
        if not rows:
            return []
        network = self._network
        wanted = torch.as_tensor(np.asarray(directions, np.float32), device=network.device)
        failing = self._encoder.failing("reading texts in torch")
        with failing, torch.enable_grad(), watched(network.words) as calls:
            value = (self._unit(rows) * wanted).sum()
            (found,) = torch.autograd.grad(value, [words for _, words in calls])
        values = np.asarray(found.double().cpu())
        return [each[1 : len(row) - 1] for each, row in zip(values, rows, strict=True)]

    def _unit(self, rows: Sequence[Sequence[int]]) -> Any:
        """(m, d) embeddings of framed tokens, brought to unit length."""
        import torch

        read = [{"input_ids": row, "attention_mask": [1] * len(row)} for row in rows]
        network = self._network
        return torch.nn.functional.normalize(network.embed(network.padded(read)), dim=1)

    def _framed(self, tokens: Sequence[int]) -> list[int]:
        """What the network reads: tokens between the two that frame a text."""
        network = self._network
        known = network.tokenizer
        return [known.cls_token_id, *tokens[: network.longest - 2], known.sep_token_id]

    @cached_property
    def _tokenizer(self) -> Any:
        """A copy of the network's tokenizer that cuts nothing off."""
        from tokenizers import Tokenizer, models

        whole = self._network.tokenizer.backend_tokenizer
        if not isinstance(whole.model, (models.WordPiece, models.WordLevel)):
            raise ConfigurationError(
                f"white-box attacks need a vocabulary of words and pieces of words, as BERT has "
                f"it; {self.model_id} has another"
            )
        tokenizer = Tokenizer.from_str(whole.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _network(self) -> Any:
        return self._encoder.network()
