"""A causal language model of a few thousand random weights, with tokenizer, built on disk."""

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed

CHAT_TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def build(directory: Path, *, chat: bool = False, positions: int = 4096) -> Path:
    """Write model and byte-level tokenizer into `directory` and return it."""
    vocabulary = {symbol: i for i, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary["<end>"] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")
    if chat:
        fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(directory)
    set_seed(7)
    config = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=positions,
        n_embd=32,
        n_layer=2,
        n_head=2,
        initializer_range=0.6,
        bos_token_id=vocabulary["<end>"],
        eos_token_id=vocabulary["<end>"],
    )
    GPT2LMHeadModel(config).save_pretrained(directory)
    return directory
