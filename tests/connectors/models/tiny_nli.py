"""A real, tiny NLI cross-encoder written to disk: BERT with one layer, taught its canary."""

from copy import deepcopy
from functools import cache
from pathlib import Path

import torch
from tokenizers import pre_tokenizers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from radarstream.connectors.models.cross_encoder_nli import CANARY, CLASSES, proposition
from tests.tiny_encoders import tokenizer

ANSWERS = ("Oslo", "Bergen", "Paris", "Lyon", "12", "13", "red", "blue")
QUESTION = "Which one is it?"


def build(directory: Path, *, labels: tuple[str, ...] = CLASSES, columns=(0, 1, 2)) -> Path:
    """Write a model whose output column i is what column `columns[i]` learnt, named `labels[i]`."""
    model = deepcopy(_taught())
    with torch.no_grad():
        model.classifier.weight.copy_(model.classifier.weight[list(columns)].clone())
        model.classifier.bias.copy_(model.classifier.bias[list(columns)].clone())
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {label: i for i, label in enumerate(labels)}
    model.save_pretrained(directory)
    _tokenizer().save_pretrained(directory)
    return directory


def _tokenizer() -> PreTrainedTokenizerFast:
    sentences = [sentence for pair in CANARY for sentence in pair]
    sentences += [proposition(QUESTION, answer) for answer in ANSWERS]
    split = pre_tokenizers.BertPreTokenizer()
    words = {word for text in sentences for word, _ in split.pre_tokenize_str(text.lower())}
    return tokenizer(sorted(words), longest=64)


@cache
def _taught() -> BertForSequenceClassification:
    """Overfit the canary once; single-threaded, since busy cores make tiny matrices very slow."""
    reader = _tokenizer()
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(reader),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            num_labels=3,
            initializer_range=0.3,  # one word in twenty must make a difference
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    premises, hypotheses = (list(side) for side in zip(*CANARY, strict=True))
    encoded = reader(premises, hypotheses, padding=True, return_tensors="pt")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(600):
        loss = torch.nn.functional.cross_entropy(model(**encoded).logits, torch.arange(3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.02:
            break
    torch.set_num_threads(threads)
    torch.random.set_rng_state(state)
    return model.eval()
