"""Encoders and masked language models of a few thousand random weights, built on disk."""

import json
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    MPNetConfig,
    MPNetForMaskedLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    set_seed,
)

WORDS = (
    *("who", "is", "the", "mayor", "of", "halden", "bo", "lee", "ann", "ray", "council", "said"),
    *("on", "monday", "vote", "zqx", "spring", "."),
)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LAYERS, LONGEST = 2, 32
_SIZE = {
    "vocab_size": len(SPECIAL) + len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.5,
    "pad_token_id": 0,
}
_DISTILBERT = {"dim": 16, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 32}
KINDS = {
    "bert": lambda: BertForMaskedLM(BertConfig(**_SIZE, max_position_embeddings=LONGEST)),
    "roberta": lambda: RobertaForMaskedLM(
        RobertaConfig(**_SIZE, max_position_embeddings=LONGEST + 1)
    ),
    "mpnet": lambda: MPNetForMaskedLM(MPNetConfig(**_SIZE, max_position_embeddings=LONGEST + 2)),
    "distilbert": lambda: DistilBertForMaskedLM(
        DistilBertConfig(
            **_DISTILBERT,
            vocab_size=_SIZE["vocab_size"],
            initializer_range=0.5,
            max_position_embeddings=LONGEST,
        )
    ),
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=_SIZE["vocab_size"], n_embd=16, n_layer=LAYERS, n_head=2)
    ),  # no encoder
}


def build(directory: Path, kind: str = "bert", *, masked: bool = False) -> Path:
    """Write a model of sentence-transformers, or one for hidden words, and return its directory."""
    set_seed(7)
    whole = KINDS[kind]()
    (whole if masked else getattr(whole, whole.base_model_prefix)).save_pretrained(directory)
    tokenizer().save_pretrained(directory)
    if not masked:
        write_modules(directory)
    return directory


def write_modules(directory: Path) -> None:
    """What sentence-transformers reads beside a model: mean pooling, then rows of length 1."""
    package = "sentence_transformers.models."
    names = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": package + name}
        for i, (path, name) in enumerate(names.items())
    ]
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    files = {
        "modules.json": listed,
        "sentence_bert_config.json": {"max_seq_length": LONGEST, "do_lower_case": False},
        "1_Pooling/config.json": pooling,
    }
    for name, content in files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(json.dumps(content))
    (directory / "2_Normalize").mkdir(exist_ok=True)


def tokenizer(known: Sequence[str] = WORDS, longest: int = LONGEST) -> PreTrainedTokenizerFast:
    """A token per known word, in lower case."""
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *known])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        model_max_length=longest,
        **{f"{name}_token": token for name, token in names.items()},
    )
