"""What white-box attacks are told of the retriever: its embeddings and their gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from radarstream.pipelines.signals.ports import Model, TokenScorer
from radarstream.schemas.evidence import FloatArray


class OpenEncoder(Model, Protocol):
    """The retriever's encoder, with weights that the attacker has. A text is a row of tokens of the
    encoder's vocabulary. Texts between spaces are read token by token as each of them is alone.
    """

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit length."""

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of each text, special ones left out."""

    def text(self, tokens: Sequence[int]) -> str:
        """Tokens as text."""

    @property
    def substitutes(self) -> NDArray[np.intp]:
        """(s,) the tokens that an attack may write: whole words of ASCII letters."""

    @property
    def substitute_rows(self) -> FloatArray:
        """(s, d) their word embeddings."""

    def gradients(self, texts: Sequence[str], directions: FloatArray) -> list[FloatArray]:
        """Per text (tokens, d): the gradient of the inner product of its unit row with its row of
        `directions` with respect to the word embedding of each token.
        """


@dataclass(frozen=True, slots=True)
class Tools:
    """The models that an attacker owns.

    Without `tokens`, a language model, attacks on the retriever and the generator attack the
    retriever alone. `gradients` is what a defence asks of the encoder; only the attacker who
    evades that defence needs it.
    """

    encoder: OpenEncoder
    tokens: TokenScorer | None = None
    gradients: Model | None = None

    @property
    def ids(self) -> dict[str, str]:
        """The `model_id` of each."""
        return {
            name: model.model_id
            for name in ("encoder", "tokens", "gradients")
            if (model := getattr(self, name)) is not None
        }


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The tokens that may be written, (s,), their word embeddings, (s, d), and places of tokens
    that are left out after all.
    """

    tokens: NDArray[np.intp]
    rows: FloatArray
    left_out: NDArray[np.intp]

    @classmethod
    def of(cls, encoder: OpenEncoder, without: Sequence[str] = ()) -> "Vocabulary":
        """The encoder's, without the words of some texts: an attacker never writes the truth."""
        banned = {token for read in encoder.tokens(without) for token in read}
        places = np.flatnonzero(np.isin(encoder.substitutes, list(banned)))
        return cls(encoder.substitutes, encoder.substitute_rows, places)

    def promising(self, pulls: FloatArray, most: int) -> list[list[int]]:
        """Per gradient, (n, d), the tokens with the largest inner product, the largest first."""
        gains = pulls @ self.rows.T
        gains[:, self.left_out] = -np.inf
        most = min(most, gains.shape[1] - len(self.left_out))
        if most < 1:
            return [[] for _ in pulls]
        top = np.argpartition(-gains, most - 1, axis=1)[:, :most]
        order = np.argsort(-np.take_along_axis(gains, top, axis=1), axis=1, kind="stable")
        places = np.take_along_axis(top, order, axis=1)
        return [[int(token) for token in row] for row in self.tokens[places]]

    def drawn(self, count: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Tokens by lot."""
        allowed = np.delete(self.tokens, self.left_out)
        return tuple(int(token) for token in rng.choice(allowed, size=count))
