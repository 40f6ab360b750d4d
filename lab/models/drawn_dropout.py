"""Dropout whose masks are drawn example by example, from a generator of each example's own.

Torch draws the masks of a batch from one stream, so that what an example gets depends on the batch
it is in. Here every module `torch.nn.Dropout` of a network is exchanged for one that asks the
examples' own generators, and does nothing while none are set. Torch's generators are not used.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

ATTENTION: Final = "radarstream_drawn"  # the name under which transformers finds `attention`
_LEVELS: Final = 2**16  # of a draw: probabilities are exact to 1/65536


@dataclass(eq=False)
class Draws:
    """The generators of the examples of a batch and how many tokens each has; empty = no dropout.
    What lies beyond an example's own tokens is padding: nothing is drawn for it.
    """

    generators: Sequence[np.random.Generator] = ()
    lengths: Sequence[int] = ()

    @contextmanager
    def of(
        self, generators: Sequence[np.random.Generator], lengths: Sequence[int]
    ) -> Iterator[None]:
        """Draw for these examples as long as the context lasts."""
        self.generators, self.lengths = generators, lengths
        try:
            yield
        finally:
            self.generators, self.lengths = (), ()


class DrawnDropout(nn.Module):
    """In place of `torch.nn.Dropout(p)`: (b, n, d) states or (b, h, n, n) attention."""

    def __init__(self, p: float, draws: Draws) -> None:
        super().__init__()
        self.p = p
        self._draws = draws

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """The states with some set to 0 and the others scaled up; as they are outside a draw."""
        if not self._draws.generators or not self.p:
            return states
        scale = np.float32(1.0 / (1.0 - self.p))
        factors = np.full(states.shape, scale, np.float32)
        draws = zip(self._draws.generators, self._draws.lengths, strict=True)
        for row, (generator, length) in zip(factors, draws, strict=True):
            own = row[:length] if row.ndim == 2 else row[:, :length, :length]
            own[...] = scale * ~drawn(generator, self.p, own.shape)
        return states * torch.from_numpy(factors).to(states.device, states.dtype)


def drawn(generator: np.random.Generator, p: float, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """True with probability `p`, from 16 bits of the stream for each."""
    count = int(np.prod(shape))
    raw = generator.bit_generator.random_raw(-(-count // 4)).view(np.uint16)[:count]
    return np.asarray(raw.reshape(shape) < round(p * _LEVELS))


def generator_of(*texts: str) -> np.random.Generator:
    """A fast generator whose seed is a hash of the texts."""
    told = b"\0".join(text.encode("utf-8", "surrogatepass") for text in texts)
    seed = int.from_bytes(blake2b(told, digest_size=16).digest())
    return np.random.Generator(np.random.SFC64(seed))


def exchange_dropout(network: nn.Module) -> Draws:
    """Put `DrawnDropout` in place of every dropout of a network; its attention is `ATTENTION`."""
    draws = Draws()
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Dropout):
                setattr(parent, name, DrawnDropout(child.p, draws))
    return draws


def attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention as transformers computes it, with the dropout module that `module` holds."""
    scores = (query * (scaling or query.shape[-1] ** -0.5)) @ key.transpose(2, 3)
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = module.dropout(scores.softmax(dim=-1))
    return (weights @ value).transpose(1, 2).contiguous(), weights


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, attention)
ALL_MASK_ATTENTION_FUNCTIONS.register(ATTENTION, ALL_MASK_ATTENTION_FUNCTIONS["eager"])
