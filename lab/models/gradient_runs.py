"""Gradients of similarities in torch: of LayerNorms in many disturbed runs, of words in one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import torch

from radarstream.connectors.models.batching import places, split
from radarstream.lab.insights import Disturbance, ProbeQuery, SalienceQuery, TokenSalience
from radarstream.lab.models.drawn_dropout import drawn, generator_of
from radarstream.lab.models.gradient_network import Network, norm_gradients, watched
from radarstream.schemas.evidence import FloatArray

MOST_TOKENS: Final = 2048  # of the passages of a batch, padding included
Tokens = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the query at `index`, with the generators that its disturbances come from."""

    index: int
    number: int
    question: Tokens
    passage: Tokens
    generators: tuple[np.random.Generator, np.random.Generator]


def gradients_of_runs(network: Network, queries: Sequence[ProbeQuery]) -> FloatArray:
    """(m, r, 2d) gradients of every run of every query, weight before bias."""
    width = 2 * network.norms[0].weight.numel()
    found = np.empty((len(queries), queries[0].runs, width))
    for (layer, disturbance), indices in places((q.layer, q.disturbance) for q in queries).items():
        dropout = disturbance is not Disturbance.TOKENS
        runs = list(disturbed(network, queries, indices))
        for batch in batches([len(run.passage["input_ids"]) for run in runs]):
            part = [runs[place] for place in batch]
            rows = gradients_of_batch(network, layer, part, dropout=dropout)
            found[[run.index for run in part], [run.number for run in part]] = rows
    return found


def disturbed(
    network: Network, queries: Sequence[ProbeQuery], indices: Sequence[int]
) -> Iterator[Run]:
    """The runs of the queries at `indices`, with tokens masked out where a query says so."""
    read = cache(lambda text: tokens_of(network, text))
    for index in indices:
        query = queries[index]
        for number in range(query.runs):
            told = (str(query.seed), query.question, query.passage, str(number))
            of_question, of_passage = (generator_of(*told, side) for side in ("q", "p"))
            passage: Tokens = read(query.passage)
            if query.disturbance is not Disturbance.DROPOUT:
                passage = masked_out(passage, query.token_dropout, of_passage)
            yield Run(index, number, read(query.question), passage, (of_question, of_passage))


def tokens_of(network: Network, text: str) -> dict[str, list[int]]:
    """The tokens of a text by the names of a network's inputs."""
    return dict(network.tokenizer(text, truncation=True, max_length=network.longest))


def masked_out(tokens: Tokens, share: float, generator: np.random.Generator) -> Tokens:
    """The tokens with some left out of the attention: never the first, never all others."""
    kept = ~drawn(generator, share, (len(tokens["input_ids"]),))
    kept[0] = True
    if len(kept) > 1 and not kept[1:].any():
        kept[generator.integers(1, len(kept))] = True
    return {**tokens, "attention_mask": kept.astype(int).tolist()}


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of neighbouring lengths that fill a batch, shortest first."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return split(order, lambda part, place: (len(part) + 1) * lengths[place] > MOST_TOKENS)


def gradients_of_batch(
    network: Network, layer: int, runs: Sequence[Run], *, dropout: bool
) -> FloatArray:
    """(b, 2d) gradients of the cosine of question and passage, one row a run. The question goes
    through the same LayerNorm, so its part is added.
    """
    norm = network.norms[layer]
    embedded: list[torch.Tensor] = []
    sides = [[run.question for run in runs], [run.passage for run in runs]]
    with torch.enable_grad(), watched(norm) as calls:
        for number, texts in enumerate(sides):
            generators = [run.generators[number] for run in runs] if dropout else []
            lengths = [len(tokens["input_ids"]) for tokens in texts] if dropout else []
            with network.draws.of(generators, lengths):
                embedded.append(network.embed(network.padded(texts)))
        cosines = torch.nn.functional.cosine_similarity(embedded[0], embedded[1])
        changes = torch.autograd.grad(cosines.sum(), [start for _, start in calls])
    rows = sum(
        norm_gradients(norm, given, change)
        for (given, _), change in zip(calls, changes, strict=True)
    )
    return np.asarray(rows.double().cpu())  # type: ignore[union-attr]


def saliences_of(
    network: Network, queries: Sequence[SalienceQuery]
) -> list[tuple[TokenSalience, ...]]:
    """Per query the tokens of its passage, without special ones; no disturbance."""
    questions = list(dict.fromkeys(query.question for query in queries))
    with torch.no_grad():
        read = [tokens_of(network, question) for question in questions]
        rows = {
            q: network.embed(network.padded([r]))[0] for q, r in zip(questions, read, strict=True)
        }
    passages = [tokens_of(network, query.passage) for query in queries]
    found: list[tuple[TokenSalience, ...]] = [()] * len(queries)
    for batch in batches([len(tokens["input_ids"]) for tokens in passages]):
        asked = torch.stack([rows[queries[place].question] for place in batch])
        with torch.enable_grad(), watched(network.words) as calls:
            embedded = network.embed(network.padded([passages[place] for place in batch]))
            (_, words) = calls[0]
            (changes,) = torch.autograd.grad((embedded * asked).sum(), [words])
        lengths = changes.double().norm(dim=-1).cpu().numpy()
        for place, row in zip(batch, lengths, strict=True):
            found[place] = tuple(named(network, queries[place].passage, row))
    return found


def named(network: Network, passage: str, lengths: FloatArray) -> Iterator[TokenSalience]:
    """The tokens with their characters in the passage."""
    told: Any = network.tokenizer(
        passage,
        truncation=True,
        max_length=network.longest,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    whole = zip(told["offset_mapping"], told["special_tokens_mask"], lengths, strict=False)
    for (start, stop), special, length in whole:
        if not special:
            yield TokenSalience(start, stop, float(length))
