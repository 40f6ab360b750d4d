"""A sentence encoder in torch whose parts can be differentiated: all-MiniLM-L6-v2 by default.

Nothing is trained: the weights are frozen, so that the graph of a computation begins where a part
is watched, and layers below it keep nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from radarstream.lab.models.drawn_dropout import ATTENTION, Draws, exchange_dropout
from radarstream.schemas.errors import ConfigurationError

# Where architectures keep the LayerNorm behind the attention of a layer: BERT and RoBERTa, MPNet,
# DistilBERT; below what holds their layers.
_LAYERS: Final = ("encoder.layer", "transformer.layer")
_NORMS: Final = ("attention.output.LayerNorm", "attention.LayerNorm", "sa_layer_norm")
_LONGEST: Final = 256  # tokens of a text that MiniLM reads

Features = dict[str, torch.Tensor]


@dataclass(frozen=True, eq=False)
class Network:
    """`embed` gives (b, d) embeddings of (b, n) tokens; `norms` are one LayerNorm per layer."""

    tokenizer: Any
    longest: int
    embed: Callable[[Features], torch.Tensor]
    words: nn.Module
    norms: Sequence[nn.LayerNorm]
    draws: Draws
    device: torch.device

    def padded(self, read: Sequence[Mapping[str, Sequence[int]]]) -> Features:
        """(b, n) features of texts of different lengths."""
        rows = self.tokenizer.pad([dict(row) for row in read], padding=True, return_tensors="pt")
        return {name: values.to(self.device) for name, values in rows.items()}


def bundled_network(directory: Path, device: str | None) -> Network:
    """MiniLM, whose embedding is the mean of its tokens' states; transformers alone runs it."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(
        str(directory), local_files_only=True, attn_implementation=ATTENTION
    )
    tokenizer = AutoTokenizer.from_pretrained(str(directory), local_files_only=True)

    def mean(features: Features) -> torch.Tensor:
        states = model(**features).last_hidden_state
        mask = features["attention_mask"][..., None].to(states.dtype)
        means: torch.Tensor = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return means

    return _frozen(model, model, tokenizer, _LONGEST, mean, device)


def sentence_network(directory: Path, device: str | None) -> Network:
    """Any model of sentence-transformers, its embeddings before they are brought to length 1."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize

    whole = SentenceTransformer(
        str(directory),
        device="cpu",
        local_files_only=True,
        model_kwargs={"attn_implementation": ATTENTION},
    )
    model = whole[0].auto_model
    layers = nn.ModuleList(layer for layer in whole if not isinstance(layer, Normalize))

    def embed(features: Features) -> torch.Tensor:
        found: dict[str, Any] = dict(features)
        for layer in layers:
            found = layer(found)
        embedding: torch.Tensor = found["sentence_embedding"]
        return embedding

    longest = int(whole.max_seq_length or whole.tokenizer.model_max_length)
    return _frozen(layers, model, whole.tokenizer, longest, embed, device)


def _frozen(  # noqa: PLR0913 the parts of a network
    whole: nn.Module,
    model: Any,
    tokenizer: Any,
    longest: int,
    embed: Callable[[Features], torch.Tensor],
    device: str | None,
) -> Network:
    """Ready to be watched: frozen, in evaluation mode, with dropout of its own."""
    norms = attention_norms(model)
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    whole.requires_grad_(False).eval().to(place)
    draws = exchange_dropout(whole)
    return Network(tokenizer, longest, embed, model.get_input_embeddings(), norms, draws, place)


def attention_norms(model: nn.Module) -> list[nn.LayerNorm]:
    """The LayerNorm behind the attention of each layer, by the names of known architectures. Raises
    ConfigurationError for an architecture without them.
    """
    named = dict(model.named_modules())
    for layers, norm in ((layers, norm) for layers in _LAYERS for norm in _NORMS):
        if f"{layers}.0.{norm}" in named:
            count = len(list(named[layers].children()))
            found = [named[f"{layers}.{number}.{norm}"] for number in range(count)]
            if all(isinstance(each, nn.LayerNorm) for each in found):
                return found
    raise ConfigurationError(
        f"{type(model).__name__} has no LayerNorm where BERT, RoBERTa, MPNet or DistilBERT have "
        "one behind the attention of a layer: gradients need an encoder of these architectures"
    )


@contextmanager
def watched(module: nn.Module) -> Iterator[list[tuple[torch.Tensor, torch.Tensor]]]:
    """What a module is given and returns in each of its calls, while the context lasts. What it
    returns begins the graph: a gradient can be asked for it, and nothing before it is kept.
    """
    calls: list[tuple[torch.Tensor, torch.Tensor]] = []

    def note(_: nn.Module, given: tuple[torch.Tensor, ...], returned: torch.Tensor) -> torch.Tensor:
        start = returned.detach().requires_grad_()
        calls.append((given[0].detach(), start))
        return start

    handle = module.register_forward_hook(note)
    try:
        yield calls
    finally:
        handle.remove()


def norm_gradients(norm: nn.LayerNorm, given: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """(b, 2d) gradients with respect to weight and bias, each example's own. `given` is the (b, n,
    d) input and `change` the gradient with respect to the output: the weight multiplies the
    normalised input, and the bias is added, at every token.
    """
    normal = nn.functional.layer_norm(given, norm.normalized_shape, eps=norm.eps)
    parts = ((change * normal).sum(dim=1), change.sum(dim=1))
    return torch.cat(parts, dim=-1)
